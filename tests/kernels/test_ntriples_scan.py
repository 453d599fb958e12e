"""The scanner of N-Triples blocks: distinct terms, and the lines it leaves to a parser."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.kernels.ntriples_scan import PADDING, ScannedBlock, scan
from lisdata.schema import NO_ROW, ContentKind


def scan_lines(*lines: bytes) -> ScannedBlock:
    return scan(b"".join(line + b"\n" for line in lines) + PADDING)


def spelled(block: ScannedBlock) -> list[tuple[bytes, ...]]:
    """The terms of each row as the block spells them."""
    data = block.data.tobytes()
    terms = [data[term["begin"] : term["end"]] for term in block.terms]
    return [tuple(terms[row[name]] for name in ("subject", "predicate", "object")) for row in block.rows]


TERMS = st.integers(0, 60).map(lambda n: b"<http://example.org/%s>" % (b"x" * (n % 30) + b"%d" % (n // 30)))
LITERALS = st.builds(lambda n, tail: b'"%s"%s' % (b"y" * n, tail), st.integers(0, 20), st.sampled_from([b"", b"@en"]))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(TERMS, TERMS, TERMS | LITERALS), max_size=40))
def test_terms_are_numbered_by_first_appearance(triples: list[tuple[bytes, bytes, bytes]]) -> None:
    block = scan_lines(*(b" ".join(triple) + b" ." for triple in triples))

    assert spelled(block) == triples
    assert len(block.terms) == len(set().union(*triples))
    first = list(dict.fromkeys(term for triple in triples for term in triple))
    data = block.data.tobytes()
    assert [data[term["begin"] : term["end"]] for term in block.terms] == first


def test_any_number_of_terms_and_symbols_fits() -> None:
    lines = [b'<a:s%d> <a:p%d> "%d"^^<a:t%d> .' % (n, n, n, n) for n in range(5000)]

    block = scan_lines(*lines)

    assert len(block.terms) == 15000
    assert len(block.symbols) == 5000
    assert [b" ".join(terms) + b" ." for terms in spelled(block)] == lines


def test_lexical_forms_are_without_marks_and_escapes() -> None:
    block = scan_lines(rb'_:b <a:p> "\t\u00e9\U0001F600\\n\"x"@en-GB .')

    kinds = [ContentKind.BNODE, ContentKind.ENTITY, ContentKind.LITERAL]
    assert block.terms["kind"].tolist() == kinds
    assert block.lexical_forms().to_pylist() == [b"b", b"a:p", '\té😀\\n"x'.encode()]
    assert block.symbols == (b"@en-GB",)


@pytest.mark.parametrize(
    "line",
    [
        b"<a:a> <a:b> <a:c>",
        b"<a> <a:b> <a:c> .",
        b"<http://u@h/> <a:b> <a:c> .",
        b'<a:a> <a:b> "\xff" .',
        b'<a:a> <a:b> "\\ud800" .',
        b'<a:a> <a:b> "a"@x-private .',
        b"<a:a> _:b <a:c> .",
        b'"a" <a:b> <a:c> .',
        b"_:\xc3\xa9 <a:b> <a:c> .",
        b"<a:a> <a:b> <<( <a:a> <a:b> <a:c> )>> .",
        b'<a:a> <a:b> "a"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .',
    ],
)
def test_a_line_not_understood_in_full_is_left_to_a_parser(line: bytes) -> None:
    block = scan_lines(b"<a:x> <a:y> <a:z> .", line, b"<a:x> <a:y> <a:z> .")

    assert (block.rows["subject"] == NO_ROW).tolist() == [False, True, False]
    begin = len(b"<a:x> <a:y> <a:z> .\n")
    assert (block.rows["begin"][1], block.rows["end"][1]) == (begin, begin + len(line) + 1)


def test_a_block_needs_its_padding() -> None:
    with pytest.raises(ValueError, match="PADDING"):
        scan(b"<a:x> <a:y> <a:z> .\n")


def test_an_empty_block_has_no_rows() -> None:
    block = scan(PADDING)

    assert (len(block.rows), len(block.terms)) == (0, 0)
    assert len(block.lexical_forms()) == 0
    assert block.data.dtype == np.uint8
