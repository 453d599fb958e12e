"""A block of N-Triples or N-Quads to triple records: distinct terms become contents, with their keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.contents import ContentBuilder, LabelBuilder
from lisdata.errors import KeyCollisionError
from lisdata.inputs import InputFile
from lisdata.kernels.arrays import binary_buffers, fixed_binary
from lisdata.kernels.key_table import KeyTable
from lisdata.kernels.keys import content_keys
from lisdata.kernels.ntriples_scan import ScannedBlock, scan
from lisdata.records import TripleRecords
from lisdata.schema import CONTENTS, KEY_TYPE, NO_ROW, ContentKind, LabelKind
from lisdata.sources.ntriples_parser import LineError, LineParser, ParsedNames
from lisdata.sources.ntriples_terms import XSD_STRING
from lisdata.sources.rdf_grouping import Grouping

UInt32 = npt.NDArray[np.uint32]

BadLine = Callable[[int, int, LineError], None]
"""Takes begin and end (in the block) of a line that is not valid, and what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockReader:
    """Turns blocks of `file` into records; lines that the scanner does not understand go to `parser`."""

    file: InputFile
    parser: LineParser
    grouping: Grouping

    def read(self, block: bytes, offset: int, on_bad_line: BadLine) -> TripleRecords:
        """Return the statements of a block of whole lines that PADDING ends and that begins at `offset` of the file.

        A content may be there that no triple uses.
        """
        scanned = scan(block, has_graphs=self.parser.has_graphs)
        labels = LabelBuilder()
        rest = ContentBuilder(labels)
        quads = np.stack([scanned.rows[name] for name in ("subject", "predicate", "object", "graph")])
        is_quad = self._parse_rest(block, scanned, quads, rest, on_bad_line)
        rows = scanned.rows
        if not is_quad.all():
            rows, quads = rows[is_quad], quads[:, is_quad]
        contents, has_variants = _contents_of_terms(scanned, self.file.scope, labels, self.parser.names)
        terms = self._triple_terms(len(scanned.terms), rest)
        if len(rest):
            contents = _concatenated(contents, rest.to_arrow())
        has_graph = quads[3] != NO_ROW
        if len(rest) or has_variants:
            contents, numbers = distinct_contents(contents)
            quads[:3], quads[3, has_graph], terms = numbers[quads[:3]], numbers[quads[3, has_graph]], numbers[terms]
        graph = quads[3] if has_graph.any() else None
        return TripleRecords(
            file=self.file,
            contents=contents,
            labels=labels.to_arrow(),
            subject_content=quads[0],
            predicate_content=quads[1],
            object_content=quads[2],
            graph_content=graph,
            structure_offsets=self.grouping.offsets(quads[0], graph),
            triple_terms=terms if terms.size else None,
            begin=(rows["begin"] + offset).astype(np.uint64),
            end=(rows["end"] + offset).astype(np.uint64),
        )

    def _parse_rest(
        self, block: bytes, scanned: ScannedBlock, quads: UInt32, rest: ContentBuilder, on_bad_line: BadLine
    ) -> npt.NDArray[np.bool_]:
        """Fill in the rows not understood, numbering their terms after those scanned; tell which are statements."""
        is_quad = np.ones(len(scanned.rows), np.bool_)
        for row in np.flatnonzero(quads[0] == NO_ROW).tolist():
            begin, end = int(scanned.rows["begin"][row]), int(scanned.rows["end"][row])
            try:
                parsed = self.parser.parse(block[begin:end].rstrip(b"\r\n"))
            except LineError as error:
                on_bad_line(begin, end, error)
                parsed = None
            if parsed is None:
                is_quad[row] = False
            else:
                quads[:, row] = [NO_ROW if c is None else len(scanned.terms) + rest.add_content(c) for c in parsed]
        return is_quad

    def _triple_terms(self, first: int, rest: ContentBuilder) -> UInt32:
        """Return the content of each triple term of the block and those of its parts (4, T), numbered from `first`."""
        noted = self.parser.triple_terms
        rows = [[first + rest.add_content(content) for content in (term, *parts)] for term, parts in noted.items()]
        noted.clear()
        return np.array(rows, np.uint32).reshape(-1, 4).T


def _contents_of_terms(
    scanned: ScannedBlock, scope: str, labels: LabelBuilder, names: ParsedNames | None
) -> tuple[pa.RecordBatch, bool]:
    """Return the contents of the scanned terms, and whether two terms may be one content spelled in two ways."""
    terms = scanned.terms
    datatypes, languages, has_strings = _symbol_codes(scanned.symbols, labels, names)
    symbol = np.minimum(terms["symbol"], len(scanned.symbols))
    kinds = np.ascontiguousarray(terms["kind"])
    scopes = np.where(kinds == ContentKind.BNODE, labels.code(LabelKind.SCOPE, scope), NO_ROW).astype(np.uint32)
    columns = (datatypes[symbol], languages[symbol], scopes)
    lexical = scanned.lexical_forms()
    is_node = kinds == ContentKind.BNODE
    if names is not None and is_node.any():
        mask = pa.array(is_node)
        renamed = names.blank_nodes(lexical.filter(mask).to_pylist())
        lexical = pc.replace_with_mask(lexical, mask, pa.array(renamed, pa.large_binary()))
    label_buffers = binary_buffers(labels.to_arrow()["label"])
    keys = content_keys(kinds, *binary_buffers(lexical), np.stack(columns, axis=1), *label_buffers)
    arrays = [fixed_binary(keys, KEY_TYPE), pa.array(kinds), lexical, *map(_nullable, columns)]
    has_variants = has_strings or bool(terms["is_escaped"].any())
    return pa.RecordBatch.from_arrays(arrays, schema=CONTENTS), has_variants


def _symbol_codes(
    symbols: tuple[bytes, ...], labels: LabelBuilder, names: ParsedNames | None
) -> tuple[UInt32, UInt32, bool]:
    """Return datatype and language code of each symbol and, last, of none; and whether xsd:string is among them."""
    datatypes, languages = (np.full(len(symbols) + 1, NO_ROW, np.uint32) for _ in range(2))
    has_strings = False
    for number, symbol in enumerate(symbols):
        if symbol.startswith(b"@"):
            tag = symbol[1:].decode()
            languages[number] = labels.code(LabelKind.LANGUAGE, tag if names is None else names.language(tag))
        elif (datatype := symbol[1:-1].decode()) == XSD_STRING:
            has_strings = True
        else:
            datatypes[number] = labels.code(LabelKind.DATATYPE, datatype)
    return datatypes, languages, has_strings


def _nullable(codes: UInt32) -> pa.Array:
    return pa.array(codes, mask=codes == NO_ROW)


def _concatenated(first: pa.RecordBatch, second: pa.RecordBatch) -> pa.RecordBatch:
    return pa.Table.from_batches([first, second]).combine_chunks().to_batches()[0]


def distinct_contents(contents: pa.RecordBatch) -> tuple[pa.RecordBatch, UInt32]:
    """Return the distinct contents, and the number of each row of `contents` among them.

    KeyCollisionError is raised where two rows have one key but are not equal.
    """
    numbers, is_new = KeyTable().find_or_add(contents["key"])
    if is_new.all():
        return contents, numbers
    distinct = contents.filter(pa.array(is_new))
    again = contents.filter(pa.array(~is_new))
    if not again.equals(distinct.take(pa.array(numbers[~is_new]))):
        raise KeyCollisionError(f"two different contents among {again['lexical'].to_pylist()} meet under one key")
    return distinct, numbers
