"""How a conversion is to go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lisdata.decompression import MAX_EXPANSION
from lisdata.inputs import MEBIBYTE
from lisdata.paths import StrPath

OnError = Literal["stop", "skip", "quarantine"]
Compression = Literal["zstd", "none"]
Paths = StrPath | Sequence[StrPath]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertConfig:
    """How to convert: the source's and the converter's options by name, and what to do with bad records.

    `max_expansion` is how many bytes one of a compressed file or an archive may expand to, above 256 MiB.
    """

    source: str
    options: dict[str, Any] = field(default_factory=dict)
    on_error: OnError = "stop"
    unit_mib: int = 64
    compression: Compression = "zstd"
    max_expansion: int = MAX_EXPANSION

    def __post_init__(self) -> None:
        if self.unit_mib < 1:
            raise ValueError(f"expected units of at least 1 MiB, got {self.unit_mib=}")
        if self.max_expansion < 1:
            raise ValueError(f"expected an expansion of at least 1, got {self.max_expansion=}")


def unit_bytes(unit_mib: int) -> int:
    """Return how many bytes of source a unit is to have."""
    return unit_mib * MEBIBYTE
