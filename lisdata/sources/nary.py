"""Facts as benchmarks write them, a line a fact: triples, and n-ary as in WD50K, JF17K, HypE, WikiPeople (NaLP)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lisdata.errors import BadRecordError
from lisdata.inputs import MAX_LINE_BYTES, InputSlice
from lisdata.records import FactRecords
from lisdata.registry import Reject
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.lines import LineBlocks, LineLimit, find_line
from lisdata.sources.nary_layout import NaryOptions
from lisdata.sources.nary_sniffing import SniffedLayout, sniff_layout

_BLOCK_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class NarySource:
    """Reads one fact a line, in a layout that is the same for the whole file.

    A fact is labelled with its relation r. In layouts wd50k, jf17k, triples and wikipeople its participants are in
    roles r#subject and r#value (of triples: the head and the tail), and QUALIFIER#qualifier for each pair of qualifiers
    (repeats by position), as in source wikidata; in layout hype in roles r#1, r#2, ... A JSON object without NAME_h and
    NAME_t is a "fact" of qualifiers alone. Names are entities, by their IRI where `id_prefix` says so; times of
    WikiPeople are literals. How the file is written stands in a fact "layout", a blank line in a fact "line", and what
    differs on a line in line#ending, line#text and the like. A byte-order mark is part of how the file is written, not
    of the first name. A file without a good line tells no layout.
    """

    name: str = "nary"
    summary: str = "N-ary facts a line: WD50K, JF17K, HypE, WikiPeople; plain triples"
    suffixes: tuple[str, ...] = (".txt", ".json", ".jsonl")
    converter: str = "facts"
    exporter: str = "nary"
    splits: bool = True
    options_type: type[NaryOptions] = NaryOptions

    def find_cut(self, piece: InputSlice, wanted: int, options: NaryOptions) -> int:
        """Return where the next line begins."""
        return find_line(piece, wanted)

    def read(self, piece: InputSlice, options: NaryOptions, reject: Reject) -> Iterator[FactRecords]:
        """Yield the facts of `piece`, about 4 MiB at a time.

        A line with a wrong number of names, an empty one, bytes that are not UTF-8, or an object that is none of a
        fact is a bad record; so is a line that is too long to be held, and a whole file whose columns do not tell its
        layout. Where they do, a count says which it is and why.
        """
        from lisdata.sources.nary_json import read_objects
        from lisdata.sources.nary_lines import read_lines

        try:
            sniffed = sniff_layout(piece, options)
        except BadRecordError as error:
            if piece.begin == 0:  # of a file in pieces it is one bad record
                reject(error)
            return
        layout, prefixes = sniffed.layout, IdPrefixes.parse(options.id_prefix)
        limit = LineLimit(unit="line", max_bytes=MAX_LINE_BYTES, reject=reject, option=None)
        blocks = LineBlocks(piece, _BLOCK_BYTES, limit=limit)
        told = layout if piece.begin == 0 else None
        untold: FactRecords | None = None
        for offset, data in blocks:
            if not offset and layout.mark:
                offset, data = len(layout.mark.encode()), data.removeprefix(layout.mark.encode())
            if layout.layout == "wikipeople":
                records, faults = read_objects(data, offset, layout, told, prefixes, piece.file)
            else:
                records, faults = read_lines(data, offset, layout, told, prefixes, piece.file, options.leading_id)
            for fault in faults:
                reject(
                    BadRecordError(
                        blocks.place(offset + fault.at),
                        expected=fault.expected,
                        found=fault.found,
                        begin=offset + fault.begin,
                        end=offset + fault.end,
                        data=data[fault.begin : fault.end],
                    )
                )
            if told is not None and not records.num_records:
                untold = records
                continue
            yield records if told is None else _noted(records, sniffed)
            told = untold = None
        if untold is not None and piece.end is not None:  # what follows of the file may hold good lines
            yield _noted(untold, sniffed)


def _noted(records: FactRecords, sniffed: SniffedLayout) -> FactRecords:
    """Return the records with a note on why the file was read in the layout that they tell."""
    if not sniffed.reason:
        return records
    return replace(records, counts={f"files read as --layout {sniffed.layout.layout}, for {sniffed.reason}": 1})


NARY = NarySource()
