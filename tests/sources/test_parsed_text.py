from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import rule_parser
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_parser import random_parse, sentence_of

from lisdata.conversion import convert
from lisdata.datasets import export, verify
from lisdata.errors import BadRecordError
from lisdata.hexatag import decode_batch, projectivize
from lisdata.inputs import InputSlice, find_inputs
from lisdata.parsers import ParsedSentence, ParserError
from lisdata.records import SentenceRecords
from lisdata.registry import load_source
from lisdata.schema import NO_ROW
from lisdata.sources import parsed_text
from lisdata.sources.parsed_text import PARSED, ParsedTextOptions
from lisdata.sources.text import TEXT, TextOptions

UNITS = ("line", "paragraph", "document")
RULE, SCRIPT = "python:rule_parser:parse", "python:rule_parser:recite"
PIECES = st.sampled_from(["\n", "\n\n", "\r\n", " ", "a", "word", ".", "\0", "\u2028", "é", "e\u0301", "🙂", "\ufeff"])
DATA = st.lists(PIECES, max_size=20).map(lambda pieces: "".join(pieces).encode())
CROSSING = [3, 4, 0, 3]  # the arc from 4 to 2 passes over the root


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parsed") / "a.txt"


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    rule_parser.SCRIPT.clear()
    rule_parser.CALLS.clear()


def whole(path: Path, data: bytes) -> InputSlice:
    path.write_bytes(data)
    return InputSlice(file=find_inputs([str(path)], suffixes=PARSED.suffixes)[0])


def stop(error: BadRecordError) -> None:
    raise error


def read(piece: InputSlice, reject: object = stop, **options: object) -> list[SentenceRecords]:
    return list(PARSED.read(piece, ParsedTextOptions(**{"parser": RULE, **options}), reject))  # type: ignore[arg-type]


def script(piece: InputSlice, unit: str, random: Random) -> list[list[ParsedSentence]]:
    """Give each unit any parse; return them unit by unit."""
    rule_parser.SCRIPT.clear()
    for records in TEXT.read(piece, TextOptions(unit=unit), stop):  # type: ignore[arg-type]
        for document in records.documents.to_pylist():
            for text in (document.decode(), document.decode().replace("\ufeff", " ", 1)):
                rule_parser.SCRIPT.setdefault(text, random_parse(random, text))
    return list(rule_parser.SCRIPT.values())


def rows(records: SentenceRecords) -> list[tuple[int, int, bytes, list[tuple[int, int, str, int]]]]:
    """Each sentence as begin, end, document, and its words as begin, end, form, head."""
    forms = [form.decode() for form in records.contents.column("lexical").to_pylist()]
    found = []
    for number, document in enumerate(records.documents.to_pylist()):
        words = slice(records.word_offsets[number], records.word_offsets[number + 1])
        columns = (records.word_begin, records.word_end, records.word_content, records.head)
        begins, ends, contents, heads = (column[words].tolist() for column in columns)
        spelled = [forms[content] for content in contents]
        place = int(records.begin[number]), int(records.end[number])
        found.append((*place, document, list(zip(begins, ends, spelled, heads, strict=True))))
    return found


def test_it_is_registered() -> None:
    assert load_source("parsed") is PARSED


# -- tiling, spans, trees --------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(data=DATA, unit=st.sampled_from(UNITS), random=st.randoms(use_true_random=False))
def test_whatever_the_parser_says_the_sentences_are_the_file_s_bytes(
    path: Path, data: bytes, unit: str, random: Random
) -> None:
    piece = whole(path, data)
    script(piece, unit, random)

    found = [row for records in read(piece, parser=SCRIPT, unit=unit) for row in rows(records)]

    assert b"".join(document for _, _, document, _ in found) == data
    assert all(end - begin == len(document) for begin, end, document, _ in found)
    assert [begin for begin, *_ in found] == [0, *(end for _, end, *_ in found)][: len(found)]
    for first, _, document, words in found:
        spelled = [document[begin:end].decode() for begin, end, *_ in words]
        if words and first + words[0][0] == 0 and spelled[0].startswith("\ufeff"):
            spelled[0] = " " + spelled[0][1:]  # the file's mark
        assert [form for _, _, form, _ in words] == spelled


@settings(deadline=None)
@given(texts=st.lists(st.text("aé🙂 \u0301", min_size=1, max_size=12), max_size=5), random=st.randoms())
def test_sentences_words_and_heads_are_those_that_the_parser_gave(path: Path, texts: list[str], random: Random) -> None:
    piece = whole(path, "".join(f"{text}\n" for text in texts).encode())
    script(piece, "line", random)

    found = [row for records in read(piece, parser=SCRIPT, unit="line") for row in rows(records)]

    expected = []
    for text in texts:
        parse = rule_parser.SCRIPT[f"{text}\n"]
        expected += [(s.forms_in(f"{text}\n"), list(s.heads)) for s in parse] or [([], [])]
    assert [([form for *_, form, _ in words], [head for *_, head in words]) for *_, words in found] == expected


@settings(deadline=None)
@given(size=st.integers(1, 8), random=st.randoms())
def test_tags_are_those_of_the_lifted_tree_and_heads_those_of_the_parser(path: Path, size: int, random: Random) -> None:
    piece = whole(path, b"ab" * size)
    heads = rule_parser.random_tree(random, size)
    rule_parser.SCRIPT["ab" * size] = [sentence_of([(2 * n, 2 * n + 2) for n in range(size)], heads)]

    (records,) = read(piece, parser=SCRIPT)

    lifted = projectivize(heads, ["dep"] * size)
    decoded = decode_batch(records.terminal, records.nonterminal, records.word_offsets)
    assert decoded.tolist() == list(lifted.heads)
    assert records.head.tolist() == heads
    assert records.counts.get("lifted arcs", 0) == sum(h != p for h, p in zip(heads, lifted.heads, strict=True))
    assert records.counts.get("non-projective sentences", 0) == bool(lifted.lifted)


@settings(deadline=None)
@given(data=DATA, unit=st.sampled_from(UNITS), wanted=st.integers(0, 60))
def test_cut_at_any_offset_the_sentences_stay_the_same(path: Path, data: bytes, unit: str, wanted: int) -> None:
    piece = whole(path, data)
    wanted = min(wanted, len(data))

    cut = PARSED.find_cut(piece, wanted, ParsedTextOptions(unit=unit))  # type: ignore[arg-type]

    assert wanted <= cut <= len(data)
    halves = [replace(piece, end=cut), *([replace(piece, begin=cut)] if cut < len(data) else [])] if cut else []
    found = [row for half in halves for records in read(half, unit=unit) for row in rows(records)]
    assert not cut or found == [row for records in read(piece, unit=unit) for row in rows(records)]


def test_a_sentence_holds_what_follows_it_and_the_first_what_precedes_it(path: Path) -> None:
    data = "  One 🙂.  Two é.\n\n \n\nThree\n".encode()

    (records,) = read(whole(path, data), unit="document")

    assert records.documents.to_pylist() == ["  One 🙂.  ".encode(), "Two é.\n\n \n\n".encode(), b"Three\n"]
    assert records.begin.tolist() == [0, 13, 25]
    assert records.word_begin.tolist() == [2, 6, 10, 0, 4, 6, 0]
    assert records.word_end.tolist() == [5, 10, 11, 3, 6, 7, 5]
    assert records.head.tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert records.counts == {"words": 7}


def test_a_unit_without_a_sentence_is_a_sentence_without_words(path: Path) -> None:
    (records,) = read(whole(path, b" \nOne.\n\n"), unit="line")

    assert records.documents.to_pylist() == [b" \n", b"One.\n", b"\n"]
    assert records.word_offsets.tolist() == [0, 0, 2, 2]
    assert records.counts == {"words": 2, "sentences without words": 2}


@pytest.mark.parametrize("unit", UNITS)
def test_an_empty_file_has_no_sentence(path: Path, unit: str) -> None:
    assert read(whole(path, b""), unit=unit) == []


def test_a_byte_order_mark_is_no_part_of_the_first_word(path: Path) -> None:
    (records,) = read(whole(path, b"\xef\xbb\xbfOne.\n"))

    assert rows(records) == [(0, 8, b"\xef\xbb\xbfOne.\n", [(3, 6, "One", 0), (6, 7, ".", 1)])]


def test_words_of_a_multiword_token_have_their_own_forms_and_one_span(path: Path) -> None:
    rule_parser.SCRIPT["vu du pont"] = [
        replace(sentence_of([(0, 2), (3, 5), (3, 5), (6, 10)], [0, 4, 4, 1]), forms=["vu", "de", "le", "pont"])
    ]

    (records,) = read(whole(path, b"vu du pont"), parser=SCRIPT)

    assert rows(records)[0][3] == [(0, 2, "vu", 0), (3, 5, "de", 4), (3, 5, "le", 4), (6, 10, "pont", 1)]


def test_a_relation_without_a_name_is_no_label(path: Path) -> None:
    rule_parser.SCRIPT["a b"] = [replace(sentence_of([(0, 1), (2, 3)], [0, 1]), deprels=["root", ""])]

    (records,) = read(whole(path, b"a b"), parser=SCRIPT)

    assert records.labels.column("label").to_pylist() == ["root"]
    assert records.deprel_label.tolist() == [0, NO_ROW]


# -- what is left out ------------------------------------------------------------------------------------------------


def crossing(path: Path) -> InputSlice:
    """Three lines, of which the second has arcs that cross."""
    for text, heads in (("a a a a\n", [0, 1, 1, 1]), ("b b b c\n", CROSSING), ("d d d d\n", [2, 0, 2, 3])):
        rule_parser.SCRIPT[text] = [sentence_of([(0, 1), (2, 3), (4, 5), (6, 7)], heads)]
    return whole(path, "".join(rule_parser.SCRIPT).encode())


def test_raise_rejects_a_sentence_whose_arcs_cross_and_no_other(path: Path) -> None:
    errors: list[BadRecordError] = []

    (records,) = read(crossing(path), errors.append, parser=SCRIPT, unit="line", non_projective="raise")

    assert records.documents.to_pylist() == [b"a a a a\n", b"d d d d\n"]
    assert records.contents.column("lexical").to_pylist() == [b"a", b"d"]
    assert (records.terminal != -100).all()
    message = f"a.txt:2:1: expected a projective tree from parser {SCRIPT}, found the arc from 4 to 2 crosses word 3"
    assert [str(error) for error in errors] == [message]
    assert [(error.begin, error.end, error.data) for error in errors] == [(8, 16, b"b b b c\n")]


def test_drop_leaves_it_out_and_counts_it(path: Path) -> None:
    (records,) = read(crossing(path), parser=SCRIPT, unit="line", non_projective="drop")

    assert records.documents.to_pylist() == [b"a a a a\n", b"d d d d\n"]
    assert records.counts == {"words": 8, "dropped sentences": 1}


def test_what_was_dropped_is_counted_where_nothing_is_left(path: Path) -> None:
    rule_parser.SCRIPT["b b b c"] = [sentence_of([(0, 1), (2, 3), (4, 5), (6, 7)], CROSSING)]

    (records,) = read(whole(path, b"b b b c"), parser=SCRIPT, non_projective="drop")

    assert (records.num_records, records.counts) == (0, {"dropped sentences": 1})


@pytest.mark.parametrize(
    ("heads", "found"),
    [
        ([0, 9, 1], "word 2 has head 9 in a sentence of 3 words"),
        ([0, -1, 1], "word 2 has head -1 in a sentence of 3 words"),
        ([0, 2, 1], "word 2 is its own head"),
        ([0, 0, 1], "words 1 and 2 are both roots"),
        ([2, 3, 1], "no word is the root"),
        ([0, 3, 2], "words 2 and 3 go round in a cycle"),
    ],
)
@pytest.mark.parametrize("policy", ["raise", "drop", "projectivize"])
def test_heads_that_are_no_tree_are_rejected_by_every_policy(
    path: Path, heads: list[int], found: str, policy: str
) -> None:
    rule_parser.SCRIPT["\n\n"] = []
    rule_parser.SCRIPT["a b c"] = [sentence_of([(0, 1), (2, 3), (4, 5)], heads)]

    with pytest.raises(BadRecordError) as caught:
        read(whole(path, b"\n\na b c"), parser=SCRIPT, non_projective=policy)

    assert str(caught.value).startswith(f"a.txt:3:1: expected a tree with one root from parser {SCRIPT}, found {found}")


def test_a_unit_that_is_not_utf8_is_rejected_and_no_other(path: Path) -> None:
    errors: list[BadRecordError] = []

    (records,) = read(whole(path, b"\xe9 one.\nTwo.\nb\xff\nSix.\n"), errors.append, unit="line")

    assert [error.data for error in errors] == [b"\xe9 one.\n", b"b\xff\n"]
    assert rows(records) == [
        (7, 12, b"Two.\n", [(0, 3, "Two", 0), (3, 4, ".", 1)]),
        (15, 20, b"Six.\n", [(0, 3, "Six", 0), (3, 4, ".", 1)]),
    ]


# -- the parser ------------------------------------------------------------------------------------------------------


def test_a_parser_that_breaks_its_promise_is_named_with_the_place_of_the_text(path: Path) -> None:
    rule_parser.SCRIPT["one\n"] = []
    rule_parser.SCRIPT["two"] = [sentence_of([(0, 9)], [0])]

    with pytest.raises(ParserError, match=rf"^parser {SCRIPT}: a.txt:2:1 \('two'\): sentence 1: expected to lie in"):
        read(whole(path, b"one\ntwo"), parser=SCRIPT, unit="line")


def test_the_parser_is_given_so_many_units_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule_parser.SCRIPT.update({"a\n": [], "bbbb\n": []})
    piece = whole(path, b"a\n" * 7 + b"bbbb\n" * 3)

    read(piece, parser=SCRIPT, unit="line", batch_size=3)
    monkeypatch.setattr(parsed_text, "MAX_CALL_CHARACTERS", 4)
    read(piece, parser=SCRIPT, unit="line")

    assert rule_parser.CALLS == [3, 3, 3, 1, 2, 2, 2, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parser": "stanza"}, "tagger, tagger:FOLDER or python:MODULE:FUNCTION, got 'stanza'"),
        ({"batch_size": 0}, "expected at least 1 unit at once"),
        ({"max_document_bytes": 0}, "expected a limit of at least 1 byte"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ParsedTextOptions(**options)  # type: ignore[arg-type]


# -- the whole road --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", UNITS)
def test_the_text_comes_back_byte_for_byte(tmp_path: Path, unit: str) -> None:
    data = "\ufeff\r\n One 🙂 two.  Three e\u0301.\n\n\n \t\nFour. five\n\nlast".encode() * 3
    (tmp_path / "a.txt").write_bytes(data)

    manifest = convert("parsed", tmp_path / "a.txt", tmp_path / "a.lis", options={"parser": RULE, "unit": unit})
    (report,) = export(tmp_path / "a.lis", tmp_path / "back.txt")

    assert (tmp_path / "back.txt").read_bytes() == data
    assert report.losses == {}
    assert manifest["report"]["words"] == 33
    assert verify(tmp_path / "a.lis").problems == ()


def test_what_was_dropped_or_rejected_is_a_loss_of_the_export(tmp_path: Path) -> None:
    piece = crossing(tmp_path / "a.txt")
    rule_parser.SCRIPT["d d d d\n"] = [sentence_of([(0, 1), (2, 3)], [0, 0])]
    options = {"parser": SCRIPT, "unit": "line", "non_projective": "drop"}

    convert("parsed", piece.file.path, tmp_path / "a.lis", options=options, on_error="skip")
    (report,) = export(tmp_path / "a.lis", tmp_path / "back.txt")

    assert (tmp_path / "back.txt").read_bytes() == b"a a a a\n"
    assert report.losses == {"dropped sentences": 1, "rejected records": 1}
