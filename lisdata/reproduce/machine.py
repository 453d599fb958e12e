"""The machine that a figure was measured on, in words that name no host."""

from __future__ import annotations

import os
import platform
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")


def describe_machine() -> dict[str, str | int]:
    """Return the system, the processor and the number of its logical cores."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor_name(),
        "num_cpus": os.cpu_count() or 1,
    }


def _processor_name() -> str:
    """Return the model name that Linux gives, else what Python knows."""
    if _CPU_INFO.is_file():
        for line in _CPU_INFO.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()
