"""Tags of a growing text are those that the exact evaluation gives its prefixes; words begin where their tags stand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from grown_texts import grown
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_language_models import CHARACTERS

from lisdata.encoding import align_tags
from lisdata.evaluation.prefix_rows import PREFIX_FORMS, PrefixForm, place_prefixes, tag_prefixes
from lisdata.evaluation.sentence_rows import SentenceRows
from lisdata.evaluation.sentence_scores import TextTags
from lisdata.evaluation.tag_cache import tag_texts
from lisdata.generation.growing_text import GrowingText
from lisdata.generation.prefix_tags import PrefixTagger, WordStarts
from lisdata.tagger.words import Tokenizer

SENTENCES = st.lists(st.sampled_from(["a cat sat.", "it ran away.", "who?.", "ab cd ef gh."]), max_size=4).map(" ".join)
TAG = partial(tag_texts, parser="python:rule_parser:parse")


def grow(text: str) -> GrowingText:
    return grown(CHARACTERS, CHARACTERS.encode_batch([text]).ids.tolist())


@pytest.mark.parametrize("form", PREFIX_FORMS)
@settings(max_examples=20, deadline=None)
@given(text=SENTENCES.filter(bool), cut=st.integers(1, 40))
def test_tags_are_those_of_the_exact_evaluation(form: PrefixForm, text: str, cut: int) -> None:
    text = text[:cut]
    rows = SentenceRows(CHARACTERS, start="", end="").make([text], None)
    expected = place_prefixes(rows, tag_prefixes(rows, TAG), form)[0][-1]

    placed = PrefixTagger(TAG, form=form, num_sentences=None).place(grow(text))

    if form == "frozen":
        assert placed.tags[:, -1].tolist() == expected[:, -1].tolist()
        assert (placed.tags[:, :-1] == -100).all()
    else:
        assert placed.tags.tolist() == expected.tolist()
    assert placed.newest == (np.flatnonzero(expected[0] >= 0)[-1] if text.strip() else None)


@settings(max_examples=20, deadline=None)
@given(text=SENTENCES, num_sentences=st.integers(1, 3))
def test_only_the_last_sentences_are_parsed_again(text: str, num_sentences: int) -> None:
    asked: list[str] = []

    def tag(texts: Sequence[str]) -> Sequence[TextTags]:
        asked.extend(texts)
        return TAG(texts)

    tagger, growing, tags = PrefixTagger(tag, num_sentences=num_sentences), GrowingText(CHARACTERS), np.zeros((2, 0))
    for token_id in CHARACTERS.encode_batch([text]).ids.tolist():
        growing.append(token_id)
        placed = tagger.place(growing)
        tags = np.concatenate([tags[:, : len(growing.ids) - placed.tags.shape[1]], placed.tags], axis=1)

    assert all(part.rstrip().rstrip(".").count(". ") <= num_sentences for part in asked)
    if text:
        assert tags.tolist() == PrefixTagger(TAG, num_sentences=None).place(growing).tags.tolist()


@given(text=st.text(st.sampled_from("abAn't .,3'-\n"), max_size=25), cuts=st.sets(st.integers(1, 24)))
def test_a_word_begins_at_the_token_that_has_its_tags(text: str, cuts: set[int]) -> None:
    ends = sorted({cut for cut in cuts if cut < len(text)} | {len(text)}) if text else []
    spans = list(zip([0, *ends], ends, strict=False))
    growing, starts = GrowingText(CHARACTERS), WordStarts()

    for begin, end in spans:
        growing.ids.append(0)
        growing.begins.append(begin)
        growing.ends.append(end)
        growing.text = text[:end]
        words = Tokenizer().cut([growing.text])
        untagged = np.zeros(len(words.begin), np.int8)
        aligned = align_tags(
            growing.text, np.stack([words.begin, words.end], 1), spans[: len(growing.ids)], untagged, untagged
        )
        assert starts.begins_word(growing) == (aligned.terminal[-1] >= 0)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="none of prefix, prefix-moved, frozen"):
        PrefixTagger(TAG, form="full")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="num_sentences=0"):
        PrefixTagger(TAG, num_sentences=0)
