"""How a KGTK file stands in facts and roles: its columns, and the grammar that source and exporter share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lisdata.contents import Role

HEADER, EDGE, NODE, ROW, LINE = "header", "edge", "node", "row", "line"
SUBJECT, OBJECT, ID = "subject", "object", "id"  # sides of an edge's own label, and of a node
COLUMN, ENDING, TEXT, LABEL, WRITTEN = "column:", "ending", "text", "label", ".written"
NAMES, DECLARED, MARK = "columns", "declared", "mark"

HEADER_NAMES = Role(HEADER, NAMES)
HEADER_DECLARED = Role(HEADER, DECLARED)
HEADER_MARK = Role(HEADER, MARK)
HEADER_ENDING = Role(HEADER, ENDING)
LINE_TEXT = Role(LINE, TEXT)
ROW_ENDING = Role(EDGE, ENDING)
EDGE_LABEL = Role(EDGE, LABEL)

_NAMES = {
    "node1": ("node1", "from", "subject"),
    "label": ("label", "predicate", "relation", "relationship"),
    "node2": ("node2", "to", "object"),
    "id": ("id", "ID"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KgtkOptions:
    """Options of source kgtk."""

    header: bool = field(default=True, metadata={"help": "The first line names the columns."})
    columns: tuple[str, ...] = field(
        default=("node1", "label", "node2"), metadata={"help": "Names of the columns of a file without a header."}
    )
    group: Literal["node1", "edge"] = field(
        default="node1",
        metadata={"help": "What one structure holds: adjacent edges of one node1 and edges about them, or one edge."},
    )
    edges_about: Literal["auto", "edges", "nodes"] = field(
        default="auto",
        metadata={
            "help": "What node1 and node2 name: an edge where an id of the file is equal, always an edge (of a file of "
            "qualifiers; node1 alone), or never one."
        },
    )
    scope: Literal["file", "global"] = field(
        default="file", metadata={"help": "Whether an edge's id names it in this file alone, or in all files."}
    )
    id_prefix: tuple[str, ...] = field(
        default=(),
        metadata={"help": "PREFIX=IRI: a node of PREFIX and digits is IRI with the id behind it (repeatable)."},
    )

    def __post_init__(self) -> None:
        if not self.header and (len(set(self.columns)) != len(self.columns) or not all(self.columns)):
            raise ValueError(f"expected names of columns, each once, got {self.columns}")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file in their order; `kind` is EDGE, NODE (an id and no edge) or ROW (neither)."""

    names: tuple[str, ...]

    @property
    def kind(self) -> str:
        """What a line is."""
        if None not in (self._find("node1"), self._find("label"), self._find("node2")):
            return EDGE
        return ROW if self.id is None else NODE

    @property
    def is_of_kgtk(self) -> bool:
        """Whether these are names of columns at all, and no first line of data: an id, or most of an edge.

        One name alone tells nothing: label is a usual relation.
        """
        found = [self._find(name) for name in ("node1", "label", "node2")]
        return self.id is not None or len(found) - found.count(None) > 1

    @property
    def node1(self) -> int:
        """The number of the column of subjects; only of an EDGE file."""
        return self._number("node1")

    @property
    def label(self) -> int:
        """The number of the column of labels; only of an EDGE file."""
        return self._number("label")

    @property
    def node2(self) -> int:
        """The number of the column of objects; only of an EDGE file."""
        return self._number("node2")

    @property
    def id(self) -> int | None:
        """The number of the column of ids, if there is one."""
        return self._find("id")

    @property
    def others(self) -> tuple[int, ...]:
        """The numbers of the further columns."""
        own = {self.id}
        if self.kind == EDGE:
            own |= {self.node1, self.label, self.node2}
        return tuple(number for number in range(len(self.names)) if number not in own)

    def role(self, number: int) -> Role:
        """Return the role of the cells of a further column, or of a node's id."""
        if number == self.id:
            return Role(self.kind, ID)
        name = self.names[number].replace("%", "%25").replace("#", "%23")
        return Role(self.kind, f"{COLUMN}{name}")

    def _find(self, name: str) -> int | None:
        return next((self.names.index(n) for n in _NAMES[name] if n in self.names), None)

    def _number(self, name: str) -> int:
        found = self._find(name)
        if found is None:
            raise ValueError(f"no column is a {name}: {', '.join(self.names)}")
        return found


def written(role: Role) -> Role:
    """Return the role of how a participant in `role` is written, where that is not how it would come back."""
    return Role(role.relation, role.side + WRITTEN)
