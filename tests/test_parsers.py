from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from textwrap import dedent
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import rule_parser
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_parser import sentence_of

import lisdata.parsers
from lisdata.errors import TreeError
from lisdata.parsers import ParsedSentence, ParserError, load_parser, parse, pin_parser, tag_text

GOOD = sentence_of([(0, 1), (2, 3)], [0, 1])
CROSSING = sentence_of([(0, 1), (2, 3), (4, 5), (6, 7)], [3, 4, 0, 3])


# -- the protocol ----------------------------------------------------------------------------------------------------


def giving(*results: object) -> Callable[[Sequence[str]], Any]:
    def parser(texts: Sequence[str]) -> list[object]:
        return list(results)

    return parser


@settings(deadline=None)
@given(texts=st.lists(st.text("aé🙂\n ", max_size=12), max_size=5), random=st.randoms())
def test_whatever_holds_to_the_protocol_is_given_on_as_it_is(texts: list[str], random: Any) -> None:
    results = [rule_parser.random_parse(random, text) for text in texts]

    assert list(parse(texts, giving(*results))) == results


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([], "expected 1 results, one a text, found 0"),
        ([[], []], "expected 1 results, one a text, found more"),
        ([None], "expected a list of ParsedSentence, found NoneType"),
        ([[GOOD, (0, 1)]], "sentence 2: expected a ParsedSentence, found tuple"),
        ([[GOOD, GOOD]], "sentence 2: expected to lie in characters 3 to 7, found characters 0 to 3"),
        ([[replace(GOOD, end=8)]], "sentence 1: expected to lie in characters 0 to 7, found characters 0 to 8"),
        ([[replace(GOOD, begin=-1)]], "expected to lie in characters 0 to 7, found characters -1 to 3"),
        ([[replace(GOOD, end=2)]], "word 2: expected characters within 1 to 2, found 2 to 3"),
        ([[replace(GOOD, begin=1)]], "word 1: expected characters within 1 to 3, found 0 to 1"),
        ([[sentence_of([(0, 2), (1, 3)], [0, 1])]], "word 2: expected characters within 2 to 3, found 1 to 3"),
        ([[sentence_of([(2, 3), (0, 1)], [0, 1])]], "to lie in characters 0 to 7, found characters 2 to 1"),
        (
            [[sentence_of([(0, 1), (1, 1), (2, 3)], [0, 1, 1])]],
            "word 2: expected characters within 1 to 3, found 1 ",
        ),
        ([[replace(GOOD, heads=[0])]], "expected one begin, end, head, deprel (and form) a word, found 2, 2, 1, 2"),
        (
            [[replace(GOOD, forms=["a"])]],
            "one begin, end, head, deprel (and form) a word, found 2, 2, 2, 2, 1",
        ),
        ([[ParsedSentence(begin=0, end=1, word_begins=[], word_ends=[], heads=[], deprels=[])]], "found 0, 0, 0, 0"),
        ([[replace(GOOD, heads=[None, 1])]], "sentence 1: heads: expected whole numbers, found None"),
        ([[replace(GOOD, heads=[0, 1.0])]], "sentence 1: heads: expected whole numbers, found 1.0"),
        ([[replace(GOOD, deprels=["root", None])]], "sentence 1: deprels: expected texts, found None"),
    ],
)
def test_what_does_not_is_an_error_that_names_the_parser_and_the_text(results: list[object], message: str) -> None:
    with pytest.raises(ParserError) as caught:
        list(parse(["a b c d"], giving(*results)))

    assert str(caught.value).startswith(f"parser {giving().__qualname__}: ")
    assert message in str(caught.value)
    assert "one a text" in message or "texts[0] ('a b c d'): " in str(caught.value)


def test_words_of_a_multiword_token_share_its_span() -> None:
    sentence = sentence_of([(0, 1), (2, 5), (2, 5), (6, 7)], [0, 1, 1, 1])

    assert list(parse(["a b c d"], giving([sentence]))) == [[sentence]]


def test_numbers_of_numpy_are_numbers() -> None:
    import numpy as np

    sentence = replace(GOOD, word_begins=np.array([0, 2]), word_ends=np.array([1, 3]), heads=np.array([0, 1]))

    (found,) = tag_text("a b c d", giving([sentence]))

    assert (found.words, found.heads, found.terminal, found.nonterminal) == (("a", "b"), (0, 1), (0, 1), (1, 0))


@pytest.mark.parametrize("name", ["", "stanza", "spacy:", "spacyx", "python", "python:", "python:os", "python::f"])
def test_a_name_of_no_parser_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="expected a parser spacy, spacy:MODEL, tagger, tagger:FOLDER or python:"):
        load_parser(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("python:no_such_module:parse", "No module named 'no_such_module' .*set PYTHONPATH=."),
        ("python:rule_parser:absent", "expected a function absent in module rule_parser, found none"),
        ("python:rule_parser:SCRIPT", "expected a function SCRIPT in module rule_parser, found none"),
    ],
)
@pytest.mark.parametrize("act", [load_parser, pin_parser])
def test_a_parser_that_is_not_there_is_named(act: Callable[[str], object], name: str, message: str) -> None:
    with pytest.raises(ParserError, match=message):
        act(name)


def test_a_function_is_found_by_its_name() -> None:
    assert load_parser("python:rule_parser:parse") is rule_parser.parse
    assert pin_parser("python:rule_parser:parse") == "python:rule_parser:parse"


# -- tag_text --------------------------------------------------------------------------------------------------------


def test_the_sentence_of_the_paper_is_tagged_as_in_the_paper() -> None:
    spans = [(0, 3), (4, 11), (12, 17), (18, 24)]

    (found,) = tag_text("she watches funny videos", giving([sentence_of(spans, [2, 0, 4, 2])]))

    assert found.words == ("she", "watches", "funny", "videos")
    assert found.terminal == (0, 1, 0, 1)
    assert found.nonterminal == (2, 1, 4, 0)
    assert (found.begin, found.end, found.num_lifted) == (0, 24, 0)


def test_crossing_arcs_are_lifted_dropped_or_refused() -> None:
    parser = giving([CROSSING])

    (lifted,) = tag_text("a b c d", parser)

    assert (lifted.heads, lifted.num_lifted) == ((3, 4, 0, 3), 1)
    assert tag_text("a b c d", parser, non_projective="drop") == []
    with pytest.raises(TreeError, match=r"^sentence 1 \('a b c d'\): the arc from 4 to 2 crosses word 3$"):
        tag_text("a b c d", parser, non_projective="raise")


def test_what_is_no_tree_is_refused_by_tag_text() -> None:
    with pytest.raises(TreeError, match=r"^sentence 2 \('c d'\): words 1 and 2 are both roots$"):
        tag_text("a b c d", giving([GOOD, sentence_of([(4, 5), (6, 7)], [0, 0])]))


# -- the examples of the docstring -----------------------------------------------------------------------------------


def example(which: int) -> dict[str, Any]:
    """Run an example of the package's docstring and return what it defines."""
    lines = (lisdata.parsers.__doc__ or "").splitlines()
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.startswith("    ") or (not line and blocks[-1]):
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    names: dict[str, Any] = {}
    exec(dedent("\n".join(blocks[which])), names)
    return names


def test_the_example_for_stanza_parses_what_stanza_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    def token(begin: int, end: int, *words: tuple[str, int]) -> SimpleNamespace:
        found = [SimpleNamespace(text=text, head=head, deprel="dep") for text, head in words]
        return SimpleNamespace(start_char=begin, end_char=end, words=found)

    class Pipeline:
        def __init__(self, language: str, **options: str) -> None:
            self.options = options

        def bulk_process(self, texts: list[str]) -> list[SimpleNamespace]:
            tokens = [token(0, 2, ("vu", 0)), token(3, 5, ("de", 4), ("le", 4)), token(6, 10, ("pont", 1))]
            return [SimpleNamespace(sentences=[SimpleNamespace(tokens=tokens)]) for _ in texts]

    monkeypatch.setitem(sys.modules, "stanza", module("stanza", Pipeline=Pipeline))

    ((sentence,), _) = parse(["vu du pont", "vu du pont"], example(0)["parse"])

    assert sentence.word_begins == [0, 3, 3, 6]
    assert sentence.word_ends == [2, 5, 5, 10]
    assert sentence.forms == ["vu", "de", "le", "pont"]
    assert sentence.heads == [0, 4, 4, 1]


class UdpipeToken(SimpleNamespace):
    def getTokenRangeStart(self) -> int:  # noqa: N802
        return int(self.span[0])

    def getTokenRangeEnd(self) -> int:  # noqa: N802
        return int(self.span[1])


def test_the_example_for_udpipe_parses_what_udpipe_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tokenizer:
        def setText(self, text: str) -> None:  # noqa: N802
            self.left = [text]

        def nextSentence(self, sentence: SimpleNamespace, error: object) -> bool:  # noqa: N802
            return bool(self.left and self.left.pop())

    class Model:
        DEFAULT = ""

        @classmethod
        def load(cls, path: str) -> Model:
            return cls()

        def newTokenizer(self, options: str) -> Tokenizer:  # noqa: N802
            assert options == "ranges"
            return Tokenizer()

        def tag(self, sentence: SimpleNamespace, options: str) -> None:
            words = [("vu", 0, (0, 2)), ("de", 4, None), ("le", 4, None), ("pont", 1, (6, 10))]
            found = [
                UdpipeToken(id=n, form=form, head=head, deprel="dep", span=span)
                for n, (form, head, span) in enumerate(words, 1)
            ]
            sentence.words = [UdpipeToken(id=0, form="<root>"), *found]
            sentence.multiwordTokens = [UdpipeToken(idFirst=2, idLast=3, span=(3, 5))]

        def parse(self, sentence: SimpleNamespace, options: str) -> None:
            assert sentence.words

    udpipe = module("ufal.udpipe", Model=Model, ProcessingError=object, Sentence=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "ufal", module("ufal", udpipe=udpipe))
    monkeypatch.setitem(sys.modules, "ufal.udpipe", udpipe)

    ((sentence,),) = parse(["vu du pont"], example(1)["parse"])

    assert sentence.word_begins == [0, 3, 3, 6]
    assert sentence.word_ends == [2, 5, 5, 10]
    assert sentence.forms == ["vu", "de", "le", "pont"]


def module(name: str, **contents: object) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(contents)
    return made


def test_what_a_parser_raises_names_the_parser_the_text_and_the_line_of_code() -> None:
    def fails_at_the_second(texts: Sequence[str]) -> Iterator[list[ParsedSentence]]:
        yield []
        raise ZeroDivisionError("no luck")

    with pytest.raises(
        ParserError, match=r"fails_at_the_second: texts\[1\] \('b'\): ZeroDivisionError: no luck \(.*\.py:\d+\)"
    ):
        list(parse(["a", "b"], fails_at_the_second))
