from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lisdata.converters.documents import DOCUMENTS, DocumentStructureOptions
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.records import DocumentRecords
from lisdata.registry import load_source
from lisdata.sources.markdown import MARKDOWN, MarkdownOptions
from lisdata.structure import Structure

Read = Any


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def run(data: bytes, **options: Any) -> tuple[list[DocumentRecords], list[BadRecordError]]:
        (tmp_path / "a.md").write_bytes(data)
        piece = InputSlice(file=find_inputs([str(tmp_path / "a.md")], suffixes=MARKDOWN.suffixes)[0])
        errors: list[BadRecordError] = []
        return list(MARKDOWN.read(piece, MarkdownOptions(**options), errors.append)), errors

    return run


def outline(records: DocumentRecords) -> list[str]:
    """A line a unit: its depth as spaces, its label, and its words."""
    structure = Structure.from_arrow(DOCUMENTS.convert(records, DocumentStructureOptions()), 0)
    words: dict[int, list[str]] = {number: [] for number in range(len(structure.instances))}
    parents = {}
    numbers = {e.handle: number for number, e in enumerate(structure.instances) if e.handle is not None}
    for i in structure.incidences:
        content = structure.occurrences[i.occurrence].content
        if i.role.side == "token":
            words[i.instance].append(content.text)
        else:
            parents[numbers[content]] = i.instance
    lines = []
    for number, instance in enumerate(structure.instances):
        depth, parent = 0, number
        while parent in parents:
            depth, parent = depth + 1, parents[parent]
        lines.append(" ".join([" " * depth + instance.label, *words[number]]))
    return lines


def outline_of(read: Read, data: bytes) -> list[str]:
    (records,), errors = read(data)
    assert errors == []
    return outline(records)


def test_it_is_registered() -> None:
    assert load_source("markdown") is MARKDOWN


def test_sections_are_nested_by_the_level_of_their_headings(read: Read) -> None:
    data = b"before\n# A\na\n### B\nb\n## C ##\nc\n\nD\n=\n"

    assert outline_of(read, data) == [
        "document", " paragraph", "  sentence before",
        " section", "  heading A", "  paragraph", "   sentence a",
        "  section", "   heading B", "   paragraph", "    sentence b",
        "  section", "   heading C", "   paragraph", "    sentence c",
        " section", "  heading D",
    ]  # fmt: skip


BLOCKS = {
    b"a b.\nC d. E": ["paragraph", " sentence a b .", " sentence C d .", " sentence E"],
    b"- x\n- y\n\n  z\n": ["list", " item", "  paragraph", "   sentence x", " item", "  paragraph", "   sentence y",
                           "  paragraph", "   sentence z"],
    b"> one\n> two.\nthree\n": ["quote", " paragraph", "  sentence one two . three"],
    b"> # h\n\n": ["quote", " heading h"],
    b"    indented(1)\n": ["code indented ( 1 )"],
    b"~~~ py 3\na\n\n  b\n~~~\n": ["code a b", " info py 3"],
    b"- ```\n  c\n  ```\n": ["list", " item", "  code c"],
    b"<div>\nx</div>\n": ["html < div > x < / div >"],
    b"***\n": ["rule"],
    b"| a | b\\|c |\n|--|--|\n| d | |\n": ["table", " row", "  cell a", "  cell b \\ | c", " row", "  cell d",
                                               "  cell"],
    b"|a|\n|-|\n|b|c|d|\n": ["table", " row", "  cell a", " row", "  cell b", "  rest c | d"],
    b"[a]: /b\n[c]: /d\n": ["definition [ a ] : / b", "definition [ c ] : / d"],
    b"#\n": ["section", " heading"],
    b"# 1 # 1 #\n": ["section", " heading 1 # 1"],
    b"A\nB\n---\n": ["section", " heading A B"],
    b"1. 1\n": ["list", " item", "  paragraph", "   sentence 1"],
    b"\xef\xbb\xbf# A\n": ["section", " heading A"],
    b"a\rb\r\n\r\nc": ["paragraph", " sentence a b", "paragraph", " sentence c"],
    b"a\0b \0\n": ["paragraph", " sentence a \0 b \0"],
    b">\ta.\n>\tB\n": ["quote", " paragraph", "  sentence a .", "  sentence B"],
    b"": [],
    b"\n \n": [],
}  # fmt: skip


@pytest.mark.parametrize("data", BLOCKS)
def test_blocks_are_units(read: Read, data: bytes) -> None:
    assert outline_of(read, data) == ["document", *(f" {line}" for line in BLOCKS[data])]


def test_units_and_sentences_know_their_bytes(read: Read) -> None:
    data = "# Ä\n\n> Ö ist da. Ü\n> kommt.\n\n\n".encode()

    ((records,), _) = read(data)

    spelled = [
        (records.unit_labels[label], data[begin:end].decode())
        for label, begin, end in zip(records.unit_label, records.unit_begin, records.unit_end, strict=True)
    ]
    assert spelled[1:] == [
        ("section", "# Ä\n\n> Ö ist da. Ü\n> kommt."), ("heading", "# Ä"), ("quote", "> Ö ist da. Ü\n> kommt."),
        ("paragraph", "> Ö ist da. Ü\n> kommt."), ("sentence", "Ö ist da."), ("sentence", "Ü\n> kommt."),
    ]  # fmt: skip
    segments = [data[b:e].decode() for b, e in zip(records.segment_begin, records.segment_end, strict=True)]
    assert segments == ["Ä", "Ö ist da.", "Ü", "kommt."]


def test_what_lies_deeper_than_the_parser_goes_is_kept_as_rest(read: Read) -> None:
    found = outline_of(read, b">" * 3000 + b" deep\n\nflat\n")

    assert " rest deep" in found
    assert found[-1] == "  sentence flat"


PIECES = st.sampled_from(
    ["# ", "## ", "- ", "1. ", "> ", "    ", "\t", "```", "~~~", "|", "|-|", "---", "===", "<div>", "[a]: b", "`", "*",
     "\n", "\n\n", "\r\n", "\r", "\0", "\ufeff", "\u2028", "\u00a0", "word", "é", "𝒳", ". ", "! ", "\\", " "]
)  # fmt: skip
MARKDOWN_TEXTS = st.lists(PIECES, max_size=30).map("".join)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=MARKDOWN_TEXTS)
def test_any_text_has_units_inside_their_parents_and_segments_apart(read: Read, text: str) -> None:
    data = text.encode()

    ((records,), errors) = read(data)

    assert errors == []
    assert records.documents.to_pylist() == [data]
    assert records.unit_parent[0] == -1
    for number in range(1, len(records.unit_label)):
        parent = records.unit_parent[number]
        assert 0 <= parent < number
        assert 0 <= records.unit_begin[number] <= records.unit_end[number] <= len(data)
    spans = sorted(zip(records.segment_begin.tolist(), records.segment_end.tolist(), strict=True))
    assert all(begin < end for begin, end in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    covered = b"".join(data[begin:end] for begin, end in spans)
    assert covered.count(b"word") == data.count(b"word")
    outline(records)


def test_the_commonmark_specification_is_one_document_with_its_words(read: Read, shared: Path) -> None:
    data = (shared / "data/kg/text_docs/commonmark_spec.txt").read_bytes()

    found = outline_of(read, data)

    headings = [line.strip().removeprefix("heading ") for line in found if line.strip().startswith("heading ")]
    assert len(headings) == 45
    assert headings[:3] == ["Introduction", "What is Markdown ?", "Why is a spec needed ?"]
    assert len([line for line in found if line.strip().startswith("sentence")]) > 1000


def test_a_document_that_is_not_utf_8_is_rejected(read: Read) -> None:
    records, (error,) = read(b"# A\n\nb \xff\n")

    assert records == []
    assert str(error) == "a.md:3:3: expected UTF-8, found byte 0xff (invalid start byte)"
    assert (error.begin, error.end) == (0, 9)


def test_a_document_above_the_limit_is_rejected(read: Read) -> None:
    records, (error,) = read(b"# A\n", max_document_bytes=3)

    assert records == []
    assert str(error) == "a.md@3: expected a document of at most 3 bytes (max_document_bytes), found 4 bytes"


def test_a_limit_below_one_byte_is_a_wrong_argument() -> None:
    with pytest.raises(ValueError, match="max_document_bytes"):
        MarkdownOptions(max_document_bytes=0)


def test_a_document_is_never_cut(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"x\n")
    piece = InputSlice(file=find_inputs([str(tmp_path / "a.md")], suffixes=MARKDOWN.suffixes)[0])

    assert not MARKDOWN.splits
    with pytest.raises(ValueError, match="read whole"):
        MARKDOWN.find_cut(piece, 1, MarkdownOptions())


@pytest.mark.parametrize("piece", ["> ", "- ", "[", "|", "#", "`", "<", "\t", "* * ", "1. "])
def test_long_runs_of_marks_are_read(read: Read, piece: str) -> None:
    assert len(read((piece * 20_000 + "\n" + piece * 10 + "x\n").encode())[0]) == 1
