from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.records import TextRecords
from lisdata.registry import load_source
from lisdata.sources.text import TEXT, TextOptions

UNITS = ("line", "paragraph", "document")
PIECES = st.sampled_from([b"\n", b"\n\n", b"\r\n", b" \t\n", b"a", b"word ", b"\0", "\ufeff\u2028\x85é🙂".encode()])
DATA = st.lists(PIECES, max_size=20).map(b"".join)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("text") / "a.txt"


def whole(path: Path, data: bytes) -> InputSlice:
    path.write_bytes(data)
    return InputSlice(file=find_inputs([str(path)], suffixes=TEXT.suffixes)[0])


def stop(error: BadRecordError) -> None:
    raise error


def read(piece: InputSlice, options: TextOptions | None = None) -> list[tuple[int, bytes]]:
    """The begin and the bytes of each unit."""
    batches: list[TextRecords] = list(TEXT.read(piece, options or TextOptions(), stop))
    units = [pair for r in batches for pair in zip(r.begin.tolist(), r.documents.to_pylist(), strict=True)]
    assert all(
        e - b == len(d) for r in batches for b, e, d in zip(r.begin, r.end, r.documents.to_pylist(), strict=True)
    )
    return units


def units_of(data: bytes, path: Path, unit: str) -> list[bytes]:
    return [document for _, document in read(whole(path, data), TextOptions(unit=unit))]  # type: ignore[arg-type]


def test_it_is_registered() -> None:
    assert load_source("text") is TEXT


@settings(deadline=None)
@given(data=DATA, unit=st.sampled_from(UNITS))
def test_the_units_are_the_file_s_bytes_without_a_gap(path: Path, data: bytes, unit: str) -> None:
    units = read(whole(path, data), TextOptions(unit=unit))  # type: ignore[arg-type]

    assert b"".join(document for _, document in units) == data
    assert [begin for begin, _ in units] == [sum(len(d) for _, d in units[:i]) for i in range(len(units))]


@settings(deadline=None)
@given(data=DATA, unit=st.sampled_from(UNITS), wanted=st.integers(0, 60))
def test_cut_at_any_offset_the_units_stay_the_same(path: Path, data: bytes, unit: str, wanted: int) -> None:
    options = TextOptions(unit=unit)  # type: ignore[arg-type]
    piece = whole(path, data)
    wanted = min(wanted, len(data))

    cut = TEXT.find_cut(piece, wanted, options)

    assert wanted <= cut <= len(data)
    halves = [] if cut == 0 else read(replace(piece, end=cut), options)
    if 0 < cut < len(data):
        halves += read(replace(piece, begin=cut), options)
    assert halves == ([] if cut == 0 else read(piece, options))


def test_only_a_newline_ends_a_line(path: Path) -> None:
    data = "a\r\nb\rc\u2028d\x0c\n\n e".encode()

    assert units_of(data, path, "line") == [b"a\r\n", "b\rc\u2028d\x0c\n".encode(), b"\n", b" e"]


def test_a_paragraph_ends_after_its_blank_lines(path: Path) -> None:
    data = b"\n \na\nb\n\n\t\r\nc\n\nd"

    assert units_of(data, path, "paragraph") == [b"\n \n", b"a\nb\n\n\t\r\n", b"c\n\n", b"d"]


def test_a_paragraph_longer_than_a_block_is_whole(path: Path) -> None:
    first, second = b"word word\n" * 900_000 + b"\n", b"end\n\n" + b"x\n" * 10

    assert units_of(first + second, path, "paragraph") == [first, b"end\n\n", b"x\n" * 10]


def test_an_empty_file_is_one_empty_document_and_no_line(path: Path) -> None:
    assert [units_of(b"", path, unit) for unit in UNITS] == [[], [], [b""]]


@settings(deadline=None)
@given(lines=st.lists(st.sampled_from([b"good\n", b"b\xffad\n", b"\xe2\x82\n", b"\xed\xa0\x80\n", b"\n"]), max_size=12))
def test_a_line_that_is_not_utf8_is_rejected_and_no_other(path: Path, lines: list[bytes]) -> None:
    piece = whole(path, b"".join(lines))
    errors: list[BadRecordError] = []

    batches = list(TEXT.read(piece, TextOptions(), errors.append))

    kept = [document for batch in batches for document in batch.documents.to_pylist()]
    assert kept == [line for line in lines if line in (b"good\n", b"\n")]
    assert [error.data for error in errors] == [line for line in lines if line not in (b"good\n", b"\n")]
    assert [error.place.line for error in errors] == [i + 1 for i, x in enumerate(lines) if x not in (b"good\n", b"\n")]


@pytest.mark.parametrize("unit", UNITS)
def test_the_message_names_the_first_bad_byte(path: Path, unit: str) -> None:
    with pytest.raises(BadRecordError, match=r"^a\.txt:2:3: expected UTF-8, found byte 0xff"):
        units_of(b"ok\nab\xffcd\n", path, unit)


def test_a_later_slice_counts_lines_from_the_file_s_begin(path: Path) -> None:
    piece = whole(path, b"one\ntwo\nthr\xe9\n")

    with pytest.raises(BadRecordError, match=r"^a\.txt:3:4: "):
        read(replace(piece, begin=4))


def test_a_bad_byte_in_a_later_block_has_its_line(path: Path) -> None:
    lines = b"0123456789abcdef\n" * 300_000

    with pytest.raises(BadRecordError, match=r"^a\.txt:300001:5: "):
        read(whole(path, lines + b"four\x80\n"))


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_document_above_the_limit_is_refused_with_its_size(path: Path, compress: object) -> None:
    data = b"a line\n" * 10
    errors: list[BadRecordError] = []
    piece = whole(path, compress(data))  # type: ignore[operator]

    assert list(TEXT.read(piece, TextOptions(unit="document", max_document_bytes=69), errors.append)) == []

    assert str(errors[0]) == "a.txt:1:1: expected a document of at most 69 bytes (max_document_bytes), found 70 bytes"
    assert (errors[0].begin, errors[0].end) == (0, 70)


def test_a_line_above_the_limit_is_refused_alone(path: Path) -> None:
    errors: list[BadRecordError] = []
    options = TextOptions(max_document_bytes=6)

    batches = list(TEXT.read(whole(path, b"short\ntoo long\nshort\n"), options, errors.append))

    assert batches[0].documents.to_pylist() == [b"short\n", b"short\n"]
    assert [(e.place.line, e.begin, e.end) for e in errors] == [(2, 6, 15)]


def test_a_limit_below_one_is_a_wrong_argument() -> None:
    with pytest.raises(ValueError, match="at least 1 byte"):
        TextOptions(max_document_bytes=0)
