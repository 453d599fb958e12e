"""How kernels are compiled: ahead of their first call, for one signature, cached beside the source."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys
from numba.extending import intrinsic

_LOG = logging.getLogger("lisdata.kernels")
F = TypeVar("F", bound=Callable[..., Any])

# Read-only types also take writable arrays, so that one signature serves both.
BYTES = types.Array(types.uint8, 1, "C", readonly=True)
INT64S = types.Array(types.int64, 1, "C", readonly=True)
UINT64S = types.Array(types.uint64, 1, "C", readonly=True)
UINT32S = types.Array(types.uint32, 1, "C", readonly=True)
OUT_BYTES = types.Array(types.uint8, 1, "C")
OUT_INT64S = types.Array(types.int64, 1, "C")
OUT_UINT64S = types.Array(types.uint64, 1, "C")
OUT_UINT32S = types.Array(types.uint32, 1, "C")


def kernel(signature: Any, *, makes_arrays: bool = False) -> Callable[[F], F]:
    """Compile a function that Python calls; it runs without the GIL and must not raise.

    Unless it `makes_arrays` (views by `carray` count), reference counting is off: with it each call of an inner
    function counts its arrays up and down, atomically, which made the scanner of N-Triples four times slower. The
    option is not among numba's documented ones.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": makes_arrays}

    def decorate(function: F) -> F:
        compiled: Any = numba.njit(**options)(function)
        compiled._cache = _KernelCache(function)
        compiled.compile(signature)
        compiled.disable_compile()
        return cast(F, compiled)

    return decorate


class _KernelCache(FunctionCache):
    """Machine code on disk that counts as stale when any kernel changed.

    Numba looks at a function's own file alone, so a constant or inner function taken from another file would stay as
    it was when that file changes, on an upgrade too: wrong results without a word.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file._source_stamp = _stamp_of_sources()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code on disk, or None, which a logger tells the first time: compiling takes seconds.

        Numba's own would first load all that it can compile, scipy with it, which takes a process longer than all
        other imports; machine code needs no more than the runtime.
        """
        found = None
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        if found is None:
            _tell_compilation()
            target_context.refresh()
        return found


@cache
def _tell_compilation() -> None:
    _LOG.info("compiling kernels for this machine, once: seconds, on a busy machine half a minute")


@cache
def _stamp_of_sources() -> bytes:
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for path in (*sorted(folder.glob("*.py")), folder.parent / "schema.py"):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.digest()


def inner(function: F) -> F:
    """Compile a function that only kernels call, together with each caller."""
    compiled: F = numba.njit(function, nogil=True, error_model="numpy")
    return compiled


def inlined(function: F) -> F:
    """Make a function a part of its caller, which is the only one: it is not compiled by itself too.

    What a compiled function calls is optimized once more with it, so that deep calls take long to compile.
    """
    compiled: F = numba.njit(function, nogil=True, error_model="numpy", inline="always")
    return compiled


def _load_u64(typing_context: Any, data: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(address, align=1)

    return types.uint64(data, types.uintp), generate


def _store_u64(typing_context: Any, data: Any, index: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(64).as_pointer())
        builder.store(arguments[2], address, align=1)
        return context.get_dummy_value()

    return types.none(data, types.uintp, types.uint64), generate


def _multiply_high(typing_context: Any, left: Any, right: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, wide(64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


def _count_trailing_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(0))

    return types.uint64(types.uint64), generate


# load_u64(data: uint8[], index) -> uint64: the 8 bytes at `index`, little-endian, at any alignment, unchecked.
load_u64: Any = intrinsic(_load_u64)
# store_u64(data: uint8[], index, word: uint64): writes the 8 bytes at `index`, as load_u64 reads them, unchecked.
store_u64: Any = intrinsic(_store_u64)
# multiply_high(left, right) -> uint64: the upper half of the 128-bit product.
multiply_high: Any = intrinsic(_multiply_high)
# count_trailing_zeros(word: uint64) -> uint64: how many low bits are 0; 64 for 0.
count_trailing_zeros: Any = intrinsic(_count_trailing_zeros)
