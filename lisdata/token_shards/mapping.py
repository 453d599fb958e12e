"""Mapped files: pages that were looked at go back to the system, which reads them again where they are needed."""

from __future__ import annotations

import ctypes
import mmap

import pyarrow as pa


def let_go(mapped: pa.Buffer) -> None:
    """Let the system unmap the pages of a buffer that is all of a mapped file, read only; its bytes stay as they are.

    A look at the ends of each column of a large dataset leaves hundreds of MB in this process: the system maps what is
    around a page too. This is only advice: where it is not taken, nothing else changes.
    """
    if hasattr(mmap, "MADV_DONTNEED") and mapped.size:
        advise = ctypes.CDLL(None).madvise
        advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        advise(mapped.address, mapped.size, mmap.MADV_DONTNEED)
