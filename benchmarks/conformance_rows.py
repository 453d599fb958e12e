"""A row of the table of `conformance.py`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRow:
    """How many cases of one kind there are in a suite, and how many ours and the peer get right (None: no peer)."""

    suite: str
    kind: str
    cases: int
    ours: int
    peer: int | None = None
    peer_name: str = ""
    notes: str = ""

    @property
    def ok(self) -> bool:
        """Whether ours is as good as the peer, or without fault where there is none."""
        return self.ours >= (self.cases if self.peer is None else self.peer)

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the row."""
        peer = "none" if self.peer is None else f"{self.peer:,} ({self.peer_name})"
        return self.suite, self.kind, f"{self.cases:,}", f"{self.ours:,}", peer, self.notes
