"""KGTK edge and node files (TSV): an edge is an instance, its id a handle, an edge about an edge shows that handle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lisdata.inputs import InputSlice
from lisdata.records import FactRecords
from lisdata.registry import Reject
from lisdata.sources.kgtk_layout import KgtkOptions


@dataclass(frozen=True, slots=True)
class KgtkSource:
    """Reads KGTK files, a line an edge, whatever the order of columns.

    An edge is a fact labelled with its label, with node1 in role LABEL#subject, node2 in LABEL#object and the cells of
    further columns in edge#column:NAME; an empty cell is no participant, a list ("a|b") several at positions 0, 1, ...
    Its id is its handle, and node1 or node2 that is equal to an id of the file shows that handle, so that qualifiers
    are edges about edges: where there are ids the file is read twice. A line of a node file is a fact "node" (node#id
    and node#column:NAME); of one with no ids and two of node1, label, node2, a fact "row". The names of columns stand
    in a fact "header", a comment (#) or blank line in a fact "line"; what no cell says (a line ending unlike the
    header's, a value written in an unusual way) in further roles.
    """

    name: str = "kgtk"
    summary: str = "KGTK edge and node files (TSV), qualifiers as edges about edges"
    suffixes: tuple[str, ...] = (".tsv", ".kgtk")
    converter: str = "facts"
    exporter: str = "kgtk"
    splits: bool = False
    options_type: type[KgtkOptions] = KgtkOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: KgtkOptions) -> int:
        """Raise ValueError: which nodes are edges is known from the whole file."""
        raise ValueError(f"a KGTK file is read whole, no cut near byte {wanted} is possible")

    def read(self, piece: InputSlice, options: KgtkOptions, reject: Reject) -> Iterator[FactRecords]:
        """Yield the facts of `piece`, about 8 MiB at a time.

        A line with too few or many cells, an empty node1 or label, a carriage return that ends no line or bytes
        that are not UTF-8 is a bad record, and so is one too long to be held; so is a whole file whose header is
        missing, has no or one name twice, or names none of KGTK's columns.
        """
        from lisdata.sources.kgtk_rows import read_facts

        yield from read_facts(piece, options, reject)


KGTK = KgtkSource()
