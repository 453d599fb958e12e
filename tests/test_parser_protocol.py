"""What a function may give as a parser, and that anything else becomes an error that names parser and text."""

from __future__ import annotations

import array
from collections import UserList, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from operator import lt
from typing import Any

import numpy as np
import pytest
import rule_parser
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_parser import sentence_of

from lisdata.errors import BadRecordError, LisDataError, TreeError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.parsers import ParsedSentence, ParserError, parse, tag_text
from lisdata.sources.parsed_text import PARSED, ParsedTextOptions

TEXT = "a b c d"
RECITE = "python:rule_parser:recite"
NUMBERS = ("begin", "end")
COLUMNS = ("word_begins", "word_ends", "heads", "deprels", "forms")


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    rule_parser.SCRIPT.clear()
    rule_parser.CALLS.clear()


class Lazy(Sequence[Any]):
    """A list that fails when it is read."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: Any) -> Any:
        raise self.error


class Failing:
    """A number that fails when it is one."""

    def __index__(self) -> int:
        raise ZeroDivisionError

    def __repr__(self) -> str:
        raise ZeroDivisionError


class Named(str):
    """A text that says it is another."""

    def __str__(self) -> str:
        return "other"


def giving(*results: object) -> Callable[[Sequence[str]], Any]:
    def parser(texts: Sequence[str]) -> list[object]:
        return list(results)

    return parser


# -- anything at all -------------------------------------------------------------------------------------------------

WHOLE = st.integers(-2, 9) | st.integers() | st.sampled_from([2**31, 2**63, 2**64, 2**70, -(2**70), 10**5000])
TEXTS = st.text(max_size=3) | st.sampled_from(["", "\ud800", "\udfff\ud800", "\0", "\n", "\u2028", Named("x")])
ODD = st.sampled_from(
    [
        None, True, 0.0, 1.5, float("nan"), float("inf"), 1j, b"", b"ab", bytearray(2), object(), Ellipsis, int, len,
        {},
        {0: 1}, set(), Decimal(1), Fraction(1), np.int64(1), np.float32(1), np.bool_(True), np.str_("x"), np.array(1),
        np.array([1]), np.array([[0, 1]]), np.array(["a", "b"]), np.array([1, None]), np.datetime64("2000"), Failing(),
        torch.tensor(1), torch.tensor([0, 1]), torch.tensor([0.5], requires_grad=True), range(2),
        array.array("q", [0, 1]),
        memoryview(b"\0\1"), UserList([0, 1]), deque([0, 1]), Lazy(IndexError()), Lazy(ZeroDivisionError("no luck")),
        Lazy(StopIteration()), Lazy(KeyError("key")), iter([0, 1]), ParsedSentence,
    ]
)  # fmt: skip
ANY = WHOLE | TEXTS | ODD
VALUES = ANY | st.lists(ANY, max_size=3) | st.lists(WHOLE, max_size=5) | st.lists(TEXTS, max_size=5)
NEAR = st.lists(st.integers(-1, 8), min_size=4, max_size=4)


@st.composite
def sentences(draw: st.DrawFn) -> ParsedSentence:
    """Draw a sentence of which some fields are anything."""
    sentence = replace(sentence_of([(0, 1), (2, 3), (4, 5), (6, 7)], draw(NEAR)), forms=["a", "b", "c", "d"])
    chosen = draw(st.lists(st.sampled_from([field.name for field in fields(sentence)]), unique=True, max_size=3))
    found = replace(sentence, **{name: draw(VALUES) for name in chosen})
    if draw(st.booleans()):  # a list of the right length, in which one value is anything
        name = draw(st.sampled_from(COLUMNS))
        column = list(getattr(sentence, name))
        column[draw(st.integers(0, 3))] = draw(ANY)
        found = replace(found, **{name: column})
    return found


RESULTS = st.one_of(
    VALUES,
    st.lists(VALUES, max_size=2),
    st.lists(st.lists(sentences() | VALUES, max_size=2), min_size=1, max_size=1),
    sentences().map(lambda sentence: [[sentence]]),
    sentences().map(lambda sentence: [[sentence]]),
)


def outcome_of(call: Callable[[], list[Any]]) -> tuple[list[Any], LisDataError | None]:
    """Return what a call gives, and the error that it may raise; any other is the test's."""
    try:
        return call(), None
    except (ParserError, TreeError) as error:
        return [], error


@settings(deadline=None, max_examples=1000)
@given(result=RESULTS)
def test_whatever_a_function_gives_is_tagged_trees_or_an_error_that_names_it(result: object) -> None:
    def parser(texts: Sequence[str]) -> Any:
        return result

    found, error = outcome_of(lambda: tag_text(TEXT, parser))

    if isinstance(error, ParserError):
        assert str(error).startswith(f"parser {parser.__qualname__}: ")
        assert f"texts[0] ({TEXT!r}): " in str(error) or "1 results, one a text" in str(error)
        assert "checking.py" not in str(error) or "StopIteration" in str(error)  # of which Python forgets the place
    elif error:
        assert str(error).startswith("sentence ")
    for sentence in found:
        assert sentence.words
        assert all(type(head) is int for head in sentence.heads)
        assert all(map(lt, sentence.word_begins, sentence.word_ends))


@pytest.fixture(scope="module")
def piece(tmp_path_factory: pytest.TempPathFactory) -> InputSlice:
    path = tmp_path_factory.mktemp("protocol") / "a.txt"
    path.write_text(f"\n\n{TEXT}")
    return InputSlice(file=find_inputs([str(path)], suffixes=PARSED.suffixes)[0])


@settings(deadline=None, max_examples=300)
@given(result=VALUES | st.lists(sentences() | VALUES, max_size=2))
def test_whatever_a_function_gives_becomes_records_bad_records_or_an_error(piece: InputSlice, result: Any) -> None:
    rule_parser.SCRIPT.update({"\n\n": [], TEXT: result})
    bad: list[BadRecordError] = []

    found, error = outcome_of(lambda: list(PARSED.read(piece, ParsedTextOptions(parser=RECITE), bad.append)))

    if error:
        assert str(error).startswith(f"parser {RECITE}: a.txt:3:1 ({TEXT!r}): ")
    else:
        num_sentences = sum(1 for _ in result)
        assert sum(records.num_records for records in found) + len(bad) == 1 + max(1, num_sentences)
        assert all(f"a tree with one root from parser {RECITE}" in str(error) for error in bad)


# -- one fault a time ------------------------------------------------------------------------------------------------

GOOD = replace(sentence_of([(0, 1), (2, 3)], [0, 1]), forms=["a", "b"])


def with_values(value: object, names: Sequence[str]) -> list[Any]:
    """Return a case for each column, with `value` for its second entry."""
    return [replace(GOOD, **{name: [getattr(GOOD, name)[0], value]}) for name in names]


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        *((replace(GOOD, **{name: "0"}), f"{name}: expected whole numbers, found '0'") for name in NUMBERS),
        *((replace(GOOD, **{name: None}), f"{name}: expected whole numbers, found None") for name in NUMBERS),
        *((replace(GOOD, **{name: 1.5}), f"{name}: expected whole numbers, found 1.5") for name in NUMBERS),
        *((replace(GOOD, **{name: True}), f"{name}: expected whole numbers, found True") for name in NUMBERS),
        *((replace(GOOD, **{name: "xy"}), f"{name}: expected a list, found str") for name in COLUMNS),
        *((replace(GOOD, **{name: {0: 1, 1: 2}}), f"{name}: expected a list, found dict") for name in COLUMNS),
        *((replace(GOOD, **{name: iter("xy")}), f"{name}: expected a list, found str_") for name in COLUMNS),
        *((s, ": expected whole numbers, found 1.5") for s in with_values(1.5, COLUMNS[:3])),
        *((s, ": expected whole numbers, found {}") for s in with_values({}, COLUMNS[:3])),
        *((s, ": expected texts, found {}") for s in with_values({}, COLUMNS[3:])),
        *((s, ": expected texts, found None") for s in with_values(None, COLUMNS[3:])),
        *(
            (s, r": expected characters, found the lone surrogate '\ud800'")
            for s in with_values("x\ud800", COLUMNS[3:])
        ),
        (replace(GOOD, forms=["a", ""]), "forms: expected a form a word, found none for word 2"),
        (replace(GOOD, end=0), "expected to lie in characters 0 to 7, found characters 0 to 0"),
        (replace(GOOD, end=2**70), f"expected to lie in characters 0 to 7, found characters 0 to {2**70}"),
        (replace(GOOD, begin=-(10**5000)), "found characters a number of 16610 bits to 3"),
        (sentence_of([(0, 0), (0, 1)], [0, 1]), "word 1: expected characters within 0 to 1, found 0 to 0"),
        (sentence_of([(0, 1), (1, 1), (1, 2)], [0, 1, 1]), "word 2: expected characters within 1 to 2, found 1 to 1"),
        (replace(GOOD, word_ends=[0, 3]), "word 1: expected characters within 0 to 3, found 0 to 0"),
        (replace(GOOD, word_begins=Lazy(KeyError("key"))), "KeyError: 'key' ("),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(sentence: ParsedSentence, message: str) -> None:
    with pytest.raises(ParserError) as caught:
        list(parse([TEXT], giving([sentence])))

    assert str(caught.value).startswith(f"parser {giving().__qualname__}: texts[0] ({TEXT!r}): ")
    assert message in str(caught.value)


@pytest.mark.parametrize("result", [None, 5, "", "ab", b"", {}, {"a": []}, object(), 1.5])
def test_a_result_that_is_no_list_is_named(result: object) -> None:
    with pytest.raises(ParserError, match=rf"expected a list of results, one a text, found {type(result).__name__}$"):
        tag_text(TEXT, lambda texts: result)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    "column", [np.array, tuple, torch.tensor, deque, UserList, lambda numbers: array.array("q", numbers)]
)
def test_numbers_may_stand_in_any_list_or_array_and_become_plain(column: Callable[[list[int]], Any]) -> None:
    names = ("word_begins", "word_ends", "heads")
    sentence = replace(GOOD, begin=np.int64(0), **{name: column(getattr(GOOD, name)) for name in names})

    ((found,),) = parse([TEXT], giving([sentence]))

    assert found == GOOD
    assert {type(value) for name in names for value in getattr(found, name)} == {int}


@pytest.mark.parametrize("column", [np.array, tuple, deque, lambda texts: [Named(text) for text in texts]])
def test_texts_may_stand_in_any_list_or_array_and_become_plain(column: Callable[[list[str]], Any]) -> None:
    sentence = replace(GOOD, deprels=column(["root", "dep"]), forms=column(["a", "b"]))

    ((found,),) = parse([TEXT], giving([sentence]))

    assert found == GOOD
    assert {type(text) for text in (*found.deprels, *(found.forms or ()))} == {str}


@pytest.mark.parametrize(
    ("head", "shown"), [(-5, "-5"), (2**40, str(2**40)), (-(2**40), str(-(2**40))), (2**70, str(2**70))]
)
def test_a_head_outside_the_sentence_is_shown_as_the_function_gave_it(piece: InputSlice, head: int, shown: str) -> None:
    sentence = sentence_of([(0, 1), (2, 3)], [0, head])
    message = f"word 2 has head {shown} in a sentence of 2 words"
    rule_parser.SCRIPT.update({"\n\n": [sentence_of([(0, 1)], [2**50])], TEXT: [sentence]})
    errors: list[BadRecordError] = []

    list(PARSED.read(piece, ParsedTextOptions(parser=RECITE, batch_size=1), errors.append))

    assert [error.found for error in errors] == [f"word 1 has head {2**50} in a sentence of 1 word", message]
    with pytest.raises(TreeError, match=rf"^sentence 1 \('a b'\): {message}$"):
        tag_text(TEXT, giving([sentence]))


@pytest.mark.parametrize(
    "change",
    [
        lambda texts: texts.pop(),
        lambda texts: texts.clear(),
        lambda texts: texts.reverse(),
        lambda texts: texts.insert(0, "x"),
        lambda texts: texts.__setitem__(1, texts[1].strip()),
        lambda texts: texts.__setitem__(1, None),
    ],
)
@pytest.mark.parametrize("is_lazy", [True, False])
def test_a_function_that_changes_its_texts_is_named_and_the_caller_s_stay(
    change: Callable[[list[Any]], object], is_lazy: bool
) -> None:
    def lazy(texts: Any) -> Iterator[list[ParsedSentence]]:
        change(texts)
        for _ in range(2):
            yield []

    texts = [" a b ", " c d "]

    with pytest.raises(ParserError, match=r"lazy.*: texts\[[01]\] .*: expected the list of texts to be left as it is"):
        list(parse(texts, lazy if is_lazy else type("lazy", (), {"__call__": lambda self, t: list(lazy(t))})()))

    assert texts == [" a b ", " c d "]


def test_a_function_may_keep_and_change_what_it_gave() -> None:
    given_lists: list[list[int]] = []

    def parser(texts: Sequence[str]) -> Iterator[list[ParsedSentence]]:
        for _ in texts:
            given_lists.append([0, 1])
            yield [replace(GOOD, heads=given_lists[-1])]
            given_lists[-1][:] = [7, 7]

    assert [list(s.heads) for (s,) in parse([TEXT, TEXT], parser)] == [[0, 1], [0, 1]]


def test_one_text_in_place_of_a_list_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a list of texts, got one text"):
        list(parse(TEXT, giving()))


def test_what_the_parser_says_itself_is_told_with_the_text() -> None:
    def parser(texts: Sequence[str]) -> Iterator[list[ParsedSentence]]:
        yield []
        raise ParserError("no model for this language")

    with pytest.raises(ParserError, match=r"parser: texts\[1\] \('b'\): no model for this language$"):
        list(parse(["a", "b"], parser))
