from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_sitter_corpus import FILE, corpus_cases, places, s_expression, structure_of, without_statements

from lisdata.contents import Content
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.registry import load_source
from lisdata.schema import ContentKind
from lisdata.sources.code import CODE, CodeOptions
from lisdata.sources.code_languages import SUFFIXES, Language, language_of, load_grammar
from lisdata.sources.code_records import parse_document
from lisdata.sources.code_trees import parse_code

LANGUAGES: list[Language] = sorted(set(SUFFIXES.values()))
each_language = pytest.mark.parametrize("language", LANGUAGES)


@pytest.mark.parametrize(("name", "num_cases"), [("errors", 2), ("expressions", 33), ("literals", 21)])
def test_trees_are_those_that_the_grammar_s_own_tests_expect(shared: Path, name: str, num_cases: int) -> None:
    cases = corpus_cases(shared / "data/kg/code/ts_corpus" / f"{name}.txt")

    assert len(cases) == num_cases
    for code, expected in cases:
        assert without_statements(s_expression(structure_of(code))) == without_statements(expected)


CODE_PIECES = st.sampled_from(
    ["def f(", "):", "\n", "  ", "\t", "x", "é", "𝒳", "'", '"', "\\", "{", "}", "[", "]", "(", ")", "#", "//", "/*",
     "*/", ";", "if", "else", "return", "\0", "\r\n", "1.5", "=", "+", ",", ":", "fn ", "class A ", "#if", "\ufeff",
     "\u2028"]
).map(str.encode) | st.binary(max_size=3)  # fmt: skip
BYTES = st.lists(CODE_PIECES, max_size=25).map(b"".join)


@settings(max_examples=60, deadline=None)
@given(BYTES, st.sampled_from(LANGUAGES))
def test_nodes_are_those_of_the_parser_one_by_one(data: bytes, language: Language) -> None:
    structure = structure_of(data, language)

    cursor, found = load_grammar(language).parser.parse(data).walk(), []
    while True:  # what the parser's own objects say, in document order
        node = cursor.node
        assert node is not None
        found.append((node, cursor.field_name))
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                break
        else:
            continue
        break
    assert [o.span for o in structure.occurrences] == [node.byte_range for node, _ in found]
    for (node, field), occurrence, (_, side) in zip(found, structure.occurrences, places(structure), strict=True):
        content = occurrence.content
        is_token = not node.child_count and node.start_byte < node.end_byte
        assert (content.kind == ContentKind.WORD) == is_token
        assert content.lexical == (data[slice(*node.byte_range)] if is_token else node.type.encode())
        assert (field or "") == (side.partition("+")[0].removeprefix("field:") if side.startswith("field:") else "")
        if content.kind == ContentKind.WORD and node.is_named:
            assert side.endswith(f"token:{node.type}")
        elif content.kind == ContentKind.NAME:
            assert content.datatype is not None
            assert content.datatype.endswith("missing") == node.is_missing
            assert ("unnamed" in content.datatype) != node.is_named


def test_a_small_file_is_as_drawn() -> None:
    structure = structure_of(b"x = f(1)  # n\n")

    shown = [
        (o.content.text, parent, side)
        for o, (parent, side) in zip(structure.occurrences, places(structure), strict=True)
    ]
    assert shown == [
        ("module", -1, "node"),
        ("expression_statement", 0, "CHILD"),
        ("assignment", 1, "CHILD"),
        ("x", 2, "field:left+token:identifier"),
        ("=", 2, "CHILD"),
        ("call", 2, "field:right"),
        ("f", 5, "field:function+token:identifier"),
        ("argument_list", 5, "field:arguments"),
        ("(", 7, "CHILD"),
        ("1", 7, "token:integer"),
        (")", 7, "CHILD"),
        ("# n", 0, "token:comment"),
    ]
    assert structure.occurrences[0].content == Content(ContentKind.NAME, b"module", "python")
    assert structure.occurrences[3].content == Content(ContentKind.WORD, b"x")


def test_an_unnamed_node_that_is_not_spelled_as_it_is_called_keeps_its_name() -> None:
    structure = structure_of(b"#  define A\n", "c")

    assert ("#  define", "unnamed:%23define") in [
        (o.content.text, side) for o, (_, side) in zip(structure.occurrences, places(structure), strict=True)
    ]


def test_an_unnamed_node_with_children_is_a_name() -> None:
    structure = structure_of(b"a not in b")

    assert Content(ContentKind.NAME, b"not in", "python:unnamed") in [o.content for o in structure.occurrences]


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def run(data: bytes, name: str = "a.py", **options: Any) -> tuple[list[Any], list[BadRecordError]]:
        (tmp_path / name).write_bytes(data)
        piece = InputSlice(file=find_inputs([str(tmp_path / name)], suffixes=CODE.suffixes)[0])
        errors: list[BadRecordError] = []
        return list(CODE.read(piece, CodeOptions(**options), errors.append)), errors

    return run


def test_it_is_registered() -> None:
    assert load_source("code") is CODE


def test_errors_and_missing_nodes_are_kept_and_counted(read: Any) -> None:
    ((records,), _) = read(b"def f(:\n  pass\nint x = (1;\n")
    ((missing,), _) = read(b"int f() { return 1 }", "a.c")

    assert records.counts["syntax errors"] >= 1
    assert missing.counts == {"missing nodes": 1}
    assert read(b"x = 1\n")[0][0].counts == {}


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("a.py", "python"),
        ("A.PYI", "python"),
        ("b.mjs", "javascript"),
        ("x.h", "c"),
        ("m.rs.gz", "rust"),
        ("m.txt", None),
    ],
)
def test_the_suffix_tells_the_language(name: str, language: str | None) -> None:
    assert language_of(name) == language


def test_a_file_of_no_known_language_is_rejected_unless_one_is_given(read: Any) -> None:
    records, (error,) = read(b"x = 1\n", "SConstruct")

    assert records == []
    assert str(error).startswith("SConstruct@0: expected a language, or a name that ends in .py, .pyi, .c, .h, .java")
    assert (error.begin, error.end) == (0, 6)
    assert len(read(b"x = 1\n", "SConstruct", language="python")[0]) == 1


def test_a_file_above_the_limit_is_rejected(read: Any) -> None:
    records, (error,) = read(b"x = 1\n", max_document_bytes=5)

    assert records == []
    assert str(error) == "a.py@5: expected a document of at most 5 bytes (max_document_bytes), found 6 bytes"
    assert len(read(b"x = 1\n", max_document_bytes=6)[0]) == 1


@pytest.mark.parametrize("limit", [0, 1 << 32])
def test_a_limit_that_tree_sitter_can_not_count_is_a_wrong_argument(limit: int) -> None:
    with pytest.raises(ValueError, match="max_document_bytes"):
        CodeOptions(max_document_bytes=limit)


def test_a_file_is_never_cut(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x\n")
    piece = InputSlice(file=find_inputs([str(tmp_path / "a.py")], suffixes=CODE.suffixes)[0])

    assert not CODE.splits
    with pytest.raises(ValueError, match="read whole"):
        CODE.find_cut(piece, 1, CodeOptions())


@each_language
@pytest.mark.parametrize(
    "data",
    [b"", b"\0", b"\xff\xfe", b"\r\n", b"(" * 100_000, b"[" * 50_000 + b"]" * 50_000, b"{" * 20_000, b"'" * 20_001],
    ids=["empty", "NUL", "not UTF-8", "CRLF", "open", "nested", "braces", "quotes"],
)
def test_hostile_bytes_have_a_tree(language: Language, data: bytes) -> None:
    grammar = load_grammar(language)

    tree = parse_code(data, grammar)

    assert tree.parent[0] == -1
    assert np.all(tree.parent < np.arange(len(tree.parent)))
    assert np.all(tree.begin <= tree.end)
    assert len(data) >= tree.end.max()


def test_files_of_the_standard_library_have_no_errors() -> None:
    paths = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[::20]

    counts = [parse_document(path.read_bytes(), load_grammar("python"), FILE).counts for path in paths]

    assert len(paths) >= 5
    assert counts == [{}] * len(paths)
