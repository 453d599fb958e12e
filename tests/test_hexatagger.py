from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from lisdata.errors import TreeError
from lisdata.parsers import ParserError, tag_text
from lisdata.parsers.spacy_pipeline import pin_pipeline

TEXT = "She reads interesting books.\n\nPlease move this 🙂 file\nto another folder. \t "


@pytest.fixture(scope="module")
def spacy() -> ModuleType:
    pytest.importorskip("spacy", reason="spaCy is not installed")
    import spacy

    import lisdata.hexatagger  # noqa: F401  makes the component known

    return spacy


@pytest.fixture(scope="module")
def nlp(spacy: ModuleType) -> Any:
    try:
        name = pin_pipeline().removeprefix("spacy:").split()[0]
    except ParserError as error:
        pytest.skip(str(error))
    nlp = spacy.load(name, exclude=["tagger", "attribute_ruler", "lemmatizer", "ner"])
    nlp.add_pipe("hexatagger")
    return nlp


def parsed(spacy: ModuleType, words: list[str], heads: list[int]) -> Any:
    from spacy.tokens import Doc

    return Doc(spacy.blank("en").vocab, words=words, heads=heads, deps=["dep"] * len(words))


def test_words_get_the_tags_that_tag_text_gives_and_white_space_none(nlp: Any) -> None:
    doc = nlp(TEXT)

    tagged = tag_text(TEXT)
    words = [token for token in doc if not token.is_space]
    assert [token._.terminal for token in words] == [tag for s in tagged for tag in s.terminal]
    assert [token._.nonterminal for token in words] == [tag for s in tagged for tag in s.nonterminal]
    spaces = [token for token in doc if token.is_space]
    assert spaces
    assert {(token._.terminal, token._.nonterminal) for token in spaces} == {(-100, -100)}


def test_the_document_and_its_sentences_have_them_as_arrays(nlp: Any) -> None:
    doc = nlp(TEXT)

    assert doc._.hexatags.dtype == np.int8
    assert doc._.hexatags.tolist() == [[token._.terminal, token._.nonterminal] for token in doc]
    assert np.concatenate([sentence._.hexatags for sentence in doc.sents]).tolist() == doc._.hexatags.tolist()


def test_tags_outlive_being_written(nlp: Any) -> None:
    from spacy.tokens import Doc

    doc = nlp(TEXT)

    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())

    assert again._.hexatags.tolist() == doc._.hexatags.tolist()
    assert again[1]._.terminal == doc[1]._.terminal


def test_a_pipeline_on_disk_keeps_the_component_and_its_policy(spacy: ModuleType, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("hexatagger", config={"non_projective": "drop"})
    nlp.to_disk(tmp_path)

    assert spacy.load(tmp_path).get_pipe("hexatagger").non_projective == "drop"


def test_a_document_that_was_not_tagged_says_so(spacy: ModuleType) -> None:
    spacy.blank("en").add_pipe("hexatagger")
    doc = parsed(spacy, ["a", "b"], [1, 1])

    assert doc._.hexatags is None
    assert doc[:1]._.hexatags.tolist() == [[-100, -100]]
    assert (doc[0]._.terminal, doc[0]._.nonterminal) == (-100, -100)


def test_an_empty_document_has_no_tags(nlp: Any) -> None:
    assert nlp("")._.hexatags.shape == (0, 2)
    assert nlp(" \n")._.hexatags.tolist() == [[-100, -100]] * len(nlp(" \n"))


# -- arcs that cross -------------------------------------------------------------------------------------------------

WORDS, CROSSING = ["a", "b", "c", "d"], [2, 3, 2, 2]  # the arc from d to b passes over the root


def test_crossing_arcs_are_lifted_and_counted(spacy: ModuleType) -> None:
    hexatagger = spacy.blank("en").add_pipe("hexatagger")

    doc = hexatagger(parsed(spacy, WORDS, CROSSING))
    projective = hexatagger(parsed(spacy, WORDS, [2, 2, 2, 2]))

    assert doc._.lifted_arcs == 1
    assert doc._.hexatags.tolist() == projective._.hexatags.tolist()
    assert projective._.lifted_arcs == 0


def test_dropped_sentences_are_untagged_and_no_others(spacy: ModuleType) -> None:
    hexatagger = spacy.blank("en").add_pipe("hexatagger", config={"non_projective": "drop"})

    doc = hexatagger(parsed(spacy, [*WORDS, "x", "y"], [*CROSSING, 5, 5]))

    assert doc._.hexatags.tolist() == [[-100, -100]] * 4 + [[0, 2], [1, 0]]


def test_raise_names_the_sentence(spacy: ModuleType) -> None:
    hexatagger = spacy.blank("en").add_pipe("hexatagger", config={"non_projective": "raise"})

    with pytest.raises(TreeError, match=r"^the sentence at character 4 \('a b c d '\): the arc from 4 to 2 crosses"):
        hexatagger(parsed(spacy, ["x", "y", *WORDS], [1, 1, *(head + 2 for head in CROSSING)]))


def test_a_policy_that_there_is_not_is_refused(spacy: ModuleType) -> None:
    with pytest.raises(ValueError, match="non_projective"):
        spacy.blank("en").add_pipe("hexatagger", config={"non_projective": "bend"})


def test_without_a_parser_it_says_what_is_missing(spacy: ModuleType) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("hexatagger")

    with pytest.raises(ParserError, match=r"^expected a document with dependencies, found none: a parser has to run"):
        nlp("Two words")
