"""What an audit found: how two sides differ, level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelReport:
    """How the facts of one level (see `lisdata.alignment.facts`) differ: counts of both sides, what is on one alone.

    `duplicates` are facts that repeat an earlier one of their side. Examples say where a fact is in its source.
    """

    level: str
    totals: tuple[int, int]
    duplicates: tuple[int, int]
    lost: int
    added: int
    lost_examples: tuple[str, ...]
    added_examples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What was compared, level by level.

    How many structures, or rows of tokens, there are, and `records` (seen, converted, rejected; of structures alone)
    are for information.
    """

    names: tuple[str, str]
    counts: tuple[int, int]
    levels: tuple[LevelReport, ...]
    records: tuple[dict[str, int], dict[str, int]] = ({}, {})
    counted: Literal["structures", "rows"] = "structures"

    @property
    def ok(self) -> bool:
        """Whether nothing is lost and nothing added."""
        return not any(level.lost or level.added for level in self.levels)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            "equal": self.ok,
            "datasets": [
                {"name": name, self.counted: count} | ({"records": records} if records else {})
                for name, count, records in zip(self.names, self.counts, self.records, strict=True)
            ],
            "levels": {
                level.level: {
                    "facts": list(level.totals),
                    "duplicates": list(level.duplicates),
                    "lost": level.lost,
                    "added": level.added,
                    "lost_examples": list(level.lost_examples),
                    "added_examples": list(level.added_examples),
                }
                for level in self.levels
            },
        }
