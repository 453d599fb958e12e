"""N-Triples lines that do not fit the parser's buffer."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ntriples_reading import LINES, as_parsed, parsed, read, rejected, triples_of, whole

from lisdata.sources import ntriples_long_lines, ntriples_parser
from lisdata.sources.ntriples import NTriplesOptions

SIZE = 200_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ntriples") / "a.nt"


@pytest.fixture
def small_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntriples_parser, "BUFFER_BYTES", 100_000)


@settings(max_examples=300, deadline=None)
@given(line=LINES, lenient=st.booleans())
@example(line='<a:s> <a:p> <<( <a:s> <a:p> "x\\n"@EN--ltr )>> . # "c"', lenient=False)
@example(line='<a:s> <a:p> "x\\q"@toolongatag .', lenient=False)
def test_a_line_without_its_strings_is_judged_and_read_as_whole(path: Path, line: str, lenient: bool) -> None:
    data = line.encode(errors="surrogatepass")
    expected = parsed(data, lenient=lenient)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ntriples_long_lines, "MIN_CUT_BYTES", 2)
        patch.setattr(ntriples_parser, "BUFFER_BYTES", len(data) - 1)
        batches, bad = read(whole(path, data), NTriplesOptions(lenient=lenient))

    if bad and "can be judged" in bad[0].found:
        return  # it has no string
    assert bool(bad) == (expected is None)
    if expected is not None:
        assert as_parsed(triples_of(batches)) == expected


@pytest.mark.parametrize(
    "line",
    [
        b'<a:s> <a:p> "%b"@toolongatag .',
        b'<a:s> <a:p> "%b" "\xc3\xa9" .',
        b'"\xc3\xa9%b" <a:p> <a:o> .',
        b'<a:s> <a:p> "%b\\q" .',
        b'<a:s> <a:p> "%b\xff" .',
        b'<a:s> <a:p> "%b .',
        b"<a:s> <a:p> x # %b",
    ],
)
@pytest.mark.usefixtures("small_buffer")
def test_a_bad_line_of_any_length_is_rejected_alone(path: Path, line: bytes) -> None:
    good = b"<a:s> <a:p> <a:o> .\n"
    long = line % (b"x" * SIZE) + b"\n"

    batches, (error,) = read(whole(path, good + long + good))

    assert sum(batch.num_records for batch in batches) == 2
    assert error.place.line == 2
    assert (error.begin, error.data) == (len(good), long)
    assert len(str(error)) < 300


@pytest.mark.parametrize(
    "line", [b'<a:s> <a:p> "%b"@toolongatag .', b'<a:s> <a:p> "\xc3\xa9%b" "y" .', b'<a:s> <a:p> x "%b" # z']
)
@pytest.mark.usefixtures("small_buffer")
def test_the_column_is_that_of_the_whole_line(path: Path, line: bytes) -> None:
    (expected,) = rejected(path, line % b"xy")
    moved = SIZE - 2 if line.index(b"%") < expected.place.column - 1 else 0  # type: ignore[operator]

    (error,) = rejected(path, line % (b"x" * SIZE))

    assert error.place.column == expected.place.column + moved  # type: ignore[operator]


@pytest.mark.parametrize("content", [b"\\q", b"\xff"])
@pytest.mark.usefixtures("small_buffer")
def test_a_wrong_long_string_is_named_by_its_begin(path: Path, content: bytes) -> None:
    (error,) = rejected(path, "<a:s> <é:p> ".encode() + b'"%b%b" .' % (b"x" * SIZE, content))

    assert error.place.column == 13
    assert "invalid UTF-8 or escape in a string" in error.found


def test_the_parser_s_own_limit_is_that_of_no_line(path: Path) -> None:
    text = "é" * ntriples_parser.BUFFER_BYTES
    term = f'<<( <a:s> <a:p> <<( _:b <a:q> "{text}\\n"@EN )>> )>>'

    batches, (error,) = read(whole(path, f"<a:s> <a:p> {term} .\n<a:s> <a:p> <a:o> {term} .\n".encode()))

    ((_, _, found),) = triples_of(batches)
    assert found.lexical == term.encode()
    assert found.scope is not None
    assert error.place.line == 2


def test_a_line_that_the_parser_cannot_hold_is_rejected_with_the_limit(path: Path) -> None:
    line = b"<a:s> <a:p> <<( <a:s> <a:p> <a:" + b"x" * ntriples_parser.BUFFER_BYTES + b"> )>> .\n"

    (error,) = rejected(path, line)

    assert f"{len(line) - 1} bytes without its long strings, more than the 16777216 that can be judged" in error.found
