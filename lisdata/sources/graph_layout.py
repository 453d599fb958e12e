"""How a graph stands in a file: the forms, and what a list of edges or neighbours does not say by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from lisdata.decompression import without_compression

GraphForm = Literal["gml", "graphml", "node-link", "edgelist", "adjlist"]
SUFFIXES: dict[str, GraphForm] = {
    ".gml": "gml",
    ".graphml": "graphml",
    ".edgelist": "edgelist",
    ".edges": "edgelist",
    ".adjlist": "adjlist",
    ".json": "node-link",
}
COLUMN_TYPES = {"str": str, "int": int, "float": float}
COMMENTS = "#"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions:
    """Options of source graph."""

    form: Literal["auto", "gml", "graphml", "node-link", "edgelist", "adjlist"] = field(
        default="auto", metadata={"help": "Format of the files; auto: what their names end in."}
    )
    directed: bool = field(default=False, metadata={"help": "Edge and adjacency lists: edges have a direction."})
    multigraph: bool = field(
        default=False, metadata={"help": "Edge and adjacency lists: an edge may be listed several times."}
    )
    column: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "NAME=TYPE (str, int, float): an attribute behind the two nodes of an edge list's line, in order "
            "(repeatable); without one, nothing or {'name': value, ...}."
        },
    )
    delimiter: str | None = field(
        default=None, metadata={"help": "What stands between the names of a list; white space when not given."}
    )
    max_document_bytes: int = field(
        default=16 << 20, metadata={"help": "Refuse a longer file: a graph in memory takes some 150 times its bytes."}
    )

    def __post_init__(self) -> None:
        if self.max_document_bytes < 1:
            raise ValueError(f"expected a limit of at least 1 byte, got {self.max_document_bytes=}")
        if self.delimiter == "":
            raise ValueError("expected a delimiter of at least one character, got an empty one")
        names = [name for name, _ in self.columns]
        if len(set(names)) < len(names):
            raise ValueError(f"expected columns of different names, got {self.column=}")

    @property
    def columns(self) -> list[tuple[str, type]]:
        """The names and types of the columns of an edge list; ValueError where `column` is not NAME=TYPE."""
        found = []
        for text in self.column:
            name, equals, kind = text.rpartition("=")
            if not name or not equals or kind not in COLUMN_TYPES:
                raise ValueError(f"expected a column NAME=TYPE, TYPE one of {', '.join(COLUMN_TYPES)}, got {text!r}")
            found.append((name, COLUMN_TYPES[kind]))
        return found

    @property
    def graph_type(self) -> str:
        """The networkx class of a list's graph."""
        return f"{'Multi' if self.multigraph else ''}{'Di' if self.directed else ''}Graph"


def form_of(name: str, options: GraphOptions) -> GraphForm | None:
    """Return the form of a file by the options or, a compression suffix taken off, its name; None for another name."""
    if options.form != "auto":
        return options.form
    return SUFFIXES.get(PurePosixPath(without_compression(name.lower())).suffix)
