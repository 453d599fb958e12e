from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_taggers import drawn_network

from lisdata.conversion import convert
from lisdata.parsers import ParserError, load_parser, parse, pin_parser, tag_text
from lisdata.parsers.checking import check_parses
from lisdata.parsers.tagger import TaggerParser
from lisdata.tagger.weights import save_tagger

TEXT = "She reads interesting books.  A 🙂 hearing is\nscheduled, isn't it?\n\n\n The end"


@pytest.fixture(scope="module")
def name(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("tagger")
    save_tagger(drawn_network(), folder, about={})
    return f"tagger:{folder}"


@settings(deadline=None)
@given(texts=st.lists(st.text("aA.! \n'é🙂", max_size=30), max_size=4))
def test_it_holds_to_the_protocol_of_parsers(texts: list[str]) -> None:
    parser = TaggerParser(drawn_network())

    checked = list(check_parses(texts, parser, "tagger", str))

    assert checked == list(parser(texts))
    assert [len(sentences) > 0 for sentences in checked] == [text.strip() != "" for text in texts]


def test_it_goes_on_when_its_tokenizer_begins_anew(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(parse([TEXT], name))
    monkeypatch.setattr("lisdata.tagger.words._MAX_CHUNKS", 3)

    assert [list(parse([TEXT], name)) for _ in range(3)] == [expected] * 3


def test_words_and_sentences_are_those_of_the_text(name: str) -> None:
    sentences = tag_text(TEXT, name)

    assert [sentence.words for sentence in sentences] == [
        ("She", "reads", "interesting", "books", "."),
        ("A", "🙂", "hearing", "is", "scheduled", ",", "is", "n't", "it", "?"),
        ("The", "end"),
    ]
    assert {sentence.num_lifted for sentence in sentences} == {0}


def test_the_source_parsed_takes_it_and_workers_change_nothing(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(f"{TEXT}\n\n" * 200)
    datasets = [tmp_path / f"{workers}.lis" for workers in (1, 2)]
    for workers, target in enumerate(datasets, 1):
        manifest = convert("parsed", path, target, options={"parser": name}, workers=workers)
        assert manifest["report"]["words"] == 17 * 200

    first, second = (sorted((target / "structures").iterdir()) for target in datasets)
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]


def test_a_pin_names_the_weights_and_the_arithmetic(name: str) -> None:
    assert pin_parser(name).startswith(f"{name} ")
    assert pin_parser(name).endswith(("bf16", "fp32"))


@pytest.mark.parametrize("act", [load_parser, pin_parser])
def test_a_folder_without_a_tagger_is_refused(act: object, tmp_path: Path) -> None:
    with pytest.raises(ParserError, match=r"the parser tagger:.* cannot be loaded: .*config\.json: expected a file"):
        act(f"tagger:{tmp_path}")  # type: ignore[operator]


def test_the_english_one_needs_no_name_and_finds_plain_trees() -> None:
    (sentence,) = tag_text("She reads interesting books.", "tagger")

    assert sentence.heads == (2, 0, 4, 2, 2)
    assert sentence.deprels[0] == "nsubj"
