"""Freed memory kept for the next step.

A training step frees large arrays that the next step asks for again. Where malloc gives them back to the system in
between, a tenth of a step's time on a CPU goes into pages that come anew.
"""

import ctypes
import sys

_KEEP_FREED = {
    -1: 2**31 - 1,  # M_TRIM_THRESHOLD: what may lie free at the top of the heap, in bytes
    -2: 64 << 20,  # M_TOP_PAD: how much the heap grows at once, in bytes
    -4: 0,  # M_MMAP_MAX: arrays outside of the heap, which go back when they are freed
}


def keep_freed_memory() -> bool:
    """Have glibc's malloc keep what this process frees until it ends; return whether the process runs on glibc.

    It is for processes that train and then end, such as those of the commands: the setting holds for all of them.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and all(mallopt(name, value) == 1 for name, value in _KEEP_FREED.items())
