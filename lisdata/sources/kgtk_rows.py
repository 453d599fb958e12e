"""Reads the lines of a KGTK file block by block into good rows, kept lines and faults."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import MAX_LINE_BYTES, MEBIBYTE, InputSlice
from lisdata.kernels.csv_scan import NO_QUOTE, Cells, gather_column
from lisdata.records import FactRecords
from lisdata.registry import Reject
from lisdata.sources.delimited_faults import Fault, scan_rows
from lisdata.sources.delimited_layout import Layout, undecodable
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.kgtk_facts import FactMaker
from lisdata.sources.kgtk_layout import EDGE, Columns, KgtkOptions
from lisdata.sources.kgtk_runs import Block, EdgeIds, Header
from lisdata.sources.lines import LineBlocks, LineLimit, line_bounds

Int64 = npt.NDArray[np.int64]

_BLOCK_BYTES = 8 * MEBIBYTE
_MAX_RUN_BYTES = 64 * MEBIBYTE
_BOM = b"\xef\xbb\xbf"
_TABS = Layout(
    delimiter="\t", quote=None, encoding="utf-8", header=True, null_tokens=(), table="",
    fields=None, primary_key=(), foreign_keys=(),
)  # fmt: skip


def read_facts(piece: InputSlice, options: KgtkOptions, reject: Reject) -> Iterator[FactRecords]:
    """Yield the facts of a whole file; a run of edges of one node1 is not cut unless it is above 64 MiB."""
    limit = LineLimit(unit="line", max_bytes=MAX_LINE_BYTES, reject=reject, option=None)
    blocks = LineBlocks(piece, _BLOCK_BYTES, limit=limit)
    header = _read_header(piece, options, reject)
    if header is None:
        return
    ids = _read_ids(piece, header) if _needs_ids(header, options) else None
    maker = FactMaker(piece.file, header, options, IdPrefixes.parse(options.id_prefix), ids)
    held, end = b"", 0
    for offset, block in blocks:
        if held and offset > end:  # a line that is too long was passed over, and parts what comes before and after
            yield _read_rest(held, end, header, maker, blocks, reject)
            held = b""
        data, base, end = held + block, offset - len(held), offset + len(block)
        read, faults = read_block(data, base, header)
        starts, cut = maker.starts(read), len(data)
        if len(starts) and len(data) <= _MAX_RUN_BYTES:  # the last run may go on
            cut, starts = int(read.begins[starts[-1]]), starts[:-1]
        _report(blocks, reject, read, [fault for fault in faults if fault.begin < cut])
        if cut:
            yield maker.to_records(read.until(cut), starts)
        held = data[cut:]
    yield _read_rest(held, end, header, maker, blocks, reject)


def _read_rest(
    data: bytes, end: int, header: Header, maker: FactMaker, blocks: LineBlocks, reject: Reject
) -> FactRecords:
    """Return the facts of lines up to byte `end` of the file whose last run does not go on."""
    read, faults = read_block(data, end - len(data), header)
    _report(blocks, reject, read, faults)
    return maker.to_records(read, maker.starts(read))


def _needs_ids(header: Header, options: KgtkOptions) -> bool:
    return header.columns.kind == EDGE and header.columns.id is not None and options.edges_about == "auto"


def _read_header(piece: InputSlice, options: KgtkOptions, reject: Reject) -> Header | None:
    """Return the columns of a file; None where its header is bad, and then the whole file is one bad record."""
    is_long = False

    def pass_over(begin: int, end: int) -> None:
        nonlocal is_long
        is_long = True

    _, block = next(piece.blocks(_BLOCK_BYTES, longest_line=MAX_LINE_BYTES, on_long_line=pass_over), (0, b""))
    line = block[: block.find(b"\n") + 1] or block
    mark = _BOM if line.startswith(_BOM) else b""
    if not options.header:
        ending = b"\r\n" if line.endswith(b"\r\n") else b"\n"
        return Header(columns=Columns(options.columns), begin=len(mark), ending=ending, mark=mark, is_written=False)
    text = line[len(mark) :].rstrip(b"\n")
    ending = line[len(mark) + len(text) :]
    if text.endswith(b"\r") and ending:
        text, ending = text[:-1], b"\r" + ending
    at, expected, found = (0, f"a header of at most {MAX_LINE_BYTES} bytes", "more") if is_long else _check_header(text)
    if not expected:
        names = tuple(text.decode().split("\t"))
        return Header(columns=Columns(names), begin=len(line), ending=ending, mark=mark, is_written=True)
    size = sum(len(data) for _, data in piece.chunks())
    at += len(mark)
    place = Place(piece.file.name, offset=at, line=1, column=at + 1)
    reject(BadRecordError(place, expected=expected, found=found, begin=0, end=size))
    return None


def _check_header(text: bytes) -> tuple[int, str, str]:
    """Return (byte, expected, found) of what is wrong with a header; nothing is expected of a good one."""
    if not text:
        return 0, "a header with the names of the columns", "an empty line"
    bad = undecodable(text, "utf-8")
    if len(bad):
        return int(bad[0]), "UTF-8", f"byte 0x{text[bad[0]]:02x}"
    at = 0
    seen: set[bytes] = set()
    for name in text.split(b"\t"):
        if not name or b"\r" in name:
            return at, "the name of a column", repr(name.decode())
        if name in seen:
            return at, "each column's name once", f"{name.decode()!r} again"
        seen.add(name)
        at += len(name) + 1
    if not Columns(tuple(text.decode().split("\t"))).is_of_kgtk:
        expected = "a header with an id or node1, label and node2 (--no-header where there is none)"
        return 0, expected, repr(text[:80].decode(errors="replace"))
    return 0, "", ""


def _read_ids(piece: InputSlice, header: Header) -> EdgeIds:
    """Return all ids of edges in the file."""
    ids = EdgeIds()
    column = header.columns.id
    assert column is not None
    lines = piece.blocks(_BLOCK_BYTES, longest_line=MAX_LINE_BYTES, on_long_line=lambda begin, end: None)
    for offset, data in lines:
        read, _ = read_block(data, offset, header)
        cells = read.cells.take(read.cells.size[:, column] > 0)
        ids.add(gather_column(read.view, cells, column, NO_QUOTE))
    return ids


@dataclass(slots=True)
class _Lines:
    """Bad lines of a block by where they begin."""

    faults: dict[int, Fault]

    def add(self, begin: int, end: int, at: int, expected: str, found: str) -> None:
        self.faults.setdefault(begin, Fault(begin, end, at, expected, found))


def read_block(data: bytes, base: int, header: Header) -> tuple[Block, list[Fault]]:
    """Return the rows and kept lines of `data`, whole lines from byte `base` of the file on, and what is wrong."""
    start = max(0, header.begin - base)
    names = header.columns.names
    view = np.frombuffer(data, np.uint8)
    cells, faults, _ = scan_rows(data, start, len(names), _TABS, is_last=True)
    bad = _Lines({})
    kept: list[tuple[int, int]] = []
    for fault in faults:
        line = data[fault.begin : fault.end]
        if line.startswith(b"#") or not line.strip():
            kept.append((fault.begin, fault.end))
        else:
            bad.add(fault.begin, fault.end, fault.at, fault.expected, fault.found)
    is_kept = view[cells.row_begin] == ord("#")
    for number in header.required:
        for row in np.flatnonzero(cells.size[:, number] == 0).tolist():
            begin, end = int(cells.row_begin[row]), int(cells.row_end[row])
            if not data[begin:end].strip():
                is_kept[row] = True
            elif not is_kept[row]:
                bad.add(begin, end, int(cells.begin[row, number]), f"a {names[number]}", "an empty cell")
    kept += [(int(cells.row_begin[row]), int(cells.row_end[row])) for row in np.flatnonzero(is_kept)]
    _add_undecodable(data, start, bad)
    begins = set(bad.faults)
    kept = sorted(line for line in kept if line[0] not in begins)
    is_good = ~is_kept & ~np.isin(cells.row_begin, np.fromiter(begins, np.int64, len(begins)))
    block = Block(data=data, base=base, view=view, cells=_taken(cells, is_good), kept=kept)
    return block, [bad.faults[begin] for begin in sorted(begins)]


def _taken(cells: Cells, rows: npt.NDArray[np.bool_]) -> Cells:
    return cells if rows.all() else cells.take(rows)


def _add_undecodable(data: bytes, start: int, bad: _Lines) -> None:
    offsets = undecodable(data, "utf-8")
    offsets = offsets[offsets >= start]
    if not len(offsets):
        return
    bounds = line_bounds(data)
    for at, row in zip(offsets.tolist(), (np.searchsorted(bounds, offsets, side="right") - 1).tolist(), strict=True):
        begin = max(start, int(bounds[row]))
        bad.add(begin, int(bounds[row + 1]), at, "UTF-8", f"byte 0x{data[at]:02x}")


def _report(blocks: LineBlocks, reject: Reject, block: Block, faults: list[Fault]) -> None:
    """Reject the bad lines, which stand in the order of the file."""
    for fault in faults:
        reject(
            BadRecordError(
                blocks.place(block.base + fault.at),
                expected=fault.expected,
                found=fault.found,
                begin=block.base + fault.begin,
                end=block.base + fault.end,
                data=block.data[fault.begin : fault.end],
            )
        )
