"""A session gives what a computation of the whole text gives, whatever its tags did on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from toy_language_models import CHARACTERS

from lisdata.evaluation.prefix_rows import PREFIX_FORMS, PrefixForm
from lisdata.evaluation.prefix_scorer import PrefixScorer
from lisdata.evaluation.sentence_scores import TextTags
from lisdata.evaluation.tag_cache import tag_texts
from lisdata.generation.kinds import SessionRequest, load_generator
from lisdata.generation.sessions import TransformerXlSession, make_session
from lisdata.generation.tag_sources import NoTags, ParserTags, SelfTags, TagSource
from lisdata.models import build_model
from lisdata.models.sipe_config import INJECTIONS
from lisdata.models.transformer_xl import TransformerXl
from lisdata.tagger.words import Tokenizer

TEXT = "a cat sat. it ran\naway, who's ab?"
IDS = CHARACTERS.encode_batch([TEXT]).ids.tolist()


def fickle(texts: Sequence[str]) -> list[TextTags]:
    """Tag words by their length and that of the text, so that a longer text has other tags."""
    found = []
    for text in texts:
        words = Tokenizer().cut([text])
        size, length = words.end - words.begin, len(text) // 4
        terminal, nonterminal = (size + length) % 2, (size * length + np.arange(len(size))) % 5
        spans = np.stack([words.begin, words.end], 1)
        found.append(TextTags(spans=spans, terminal=terminal.astype(np.int8), nonterminal=nonterminal.astype(np.int8)))
    return found


MAKERS: dict[str, Callable[[], TagSource]] = {
    "none": NoTags,
    "self": SelfTags,
    "withheld": partial(ParserTags, fickle),
    "head": partial(ParserTags, fickle, newest="head", retag="token"),
    "all sentences": partial(ParserTags, fickle, num_sentences=None),
    "moved": partial(ParserTags, fickle, form="prefix-moved"),
    "frozen": partial(ParserTags, fickle, form="frozen"),
}


def build(injection: str, **config: object) -> TransformerXl:
    sizes = {"vocabulary_size": CHARACTERS.vocab_size, "width": 8, "num_layers": 2, "num_attention_heads": 2}
    model = build_model(
        "sipe-transformer-xl", seed=0, injection=injection, **({"predicts_tags": True} | sizes | config)
    )
    assert isinstance(model, TransformerXl)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.double().parameters():
            parameter.normal_(std=0.5, generator=generator)
    return model.eval()


def of_whole(model: TransformerXl, session: TransformerXlSession) -> Tensor:
    tags = torch.from_numpy(session.tags[:, None].copy())
    with torch.no_grad():
        found: Tensor = model(torch.tensor([session.text.ids]), *tags)[0, -1]
    return found


@pytest.mark.parametrize("source", MAKERS)
@pytest.mark.parametrize("injection", INJECTIONS)
def test_each_step_is_the_computation_of_the_whole_text(injection: str, source: str) -> None:
    model = build(injection)
    session = TransformerXlSession(model, CHARACTERS, capacity=len(IDS), source=MAKERS[source]())

    for token_id in IDS:
        logits = session.read([token_id])
        torch.testing.assert_close(logits, of_whole(model, session), rtol=0, atol=1e-11)

    assert session.text.text == TEXT


@pytest.mark.parametrize("source", MAKERS)
@settings(max_examples=10, deadline=None)
@given(cuts=st.sets(st.integers(1, len(IDS) - 1), max_size=4))
def test_a_prompt_may_be_read_in_any_pieces(source: str, cuts: set[int]) -> None:
    model = build("position")
    session = TransformerXlSession(model, CHARACTERS, capacity=len(IDS), source=MAKERS[source]())

    for begin, end in pairwise(sorted({0, len(IDS), *cuts})):
        logits = session.read(IDS[begin:end])

    torch.testing.assert_close(logits, of_whole(model, session), rtol=0, atol=1e-11)
    assert (session.tags >= 0).any() == (source != "none")


@pytest.mark.parametrize("form", PREFIX_FORMS)
def test_a_text_has_the_surprisals_of_the_exact_evaluation(form: PrefixForm) -> None:
    model, tag = build("position"), partial(tag_texts, parser="python:rule_parser:parse")
    (exact,) = PrefixScorer(model, CHARACTERS, tag, form).score([TEXT])
    source = ParserTags(tag, form=form, retag="token", num_sentences=None)
    session = TransformerXlSession(model, CHARACTERS, capacity=len(IDS), source=source)

    found = [-session.read([now]).log_softmax(-1)[after].item() for now, after in pairwise(IDS)]

    np.testing.assert_allclose(found, exact.surprisal[1:], rtol=0, atol=1e-9)


def test_tags_of_its_own_are_those_that_the_model_predicts() -> None:
    model = build("position")
    session = TransformerXlSession(model, CHARACTERS, capacity=len(IDS), source=SelfTags())
    session.read(IDS)

    with torch.no_grad():
        predictions = model.predict(torch.tensor([IDS]), *torch.from_numpy(session.tags[:, None].copy()))
    is_tagged = session.tags[0, 1:] >= 0
    predicted = [logits[0, :-1].argmax(-1).numpy() for logits in (predictions.terminal, predictions.nonterminal)]

    assert [TEXT[1 + place] for place in np.flatnonzero(is_tagged)] == list("cs.ira,w'a?")
    assert (session.tags[:, 1:][:, is_tagged] == np.array(predicted)[:, is_tagged]).all()


def test_what_no_tag_changes_is_computed_once() -> None:
    counts = {}
    for name in ("none", "self", "frozen", "withheld"):
        session = TransformerXlSession(build("position"), CHARACTERS, capacity=len(IDS), source=MAKERS[name]())
        for token_id in IDS:
            session.read([token_id])
        counts[name] = session.num_computed

    assert counts["none"] == counts["self"] == counts["frozen"] == len(IDS) < counts["withheld"]


@pytest.mark.parametrize("num_sentences", [1, None])
def test_revisions_are_counted(num_sentences: int | None) -> None:
    text = "ab. cd. ef. a cat sat again"
    first, second = (CHARACTERS.encode_batch([part]).ids.tolist() for part in (text[:-6], text[-6:]))
    source = ParserTags(fickle_sentences, num_sentences=num_sentences)
    session = TransformerXlSession(build("none"), CHARACTERS, capacity=len(text), source=source)
    session.read(first)
    before, counted = session.tags.copy(), source.counts.to_json()
    session.read(second)
    after = session.tags[:, : len(first)]

    is_revised = (before != after) & (before >= 0)
    counts = {name: count - counted[name] for name, count in source.counts.to_json().items()}
    assert is_revised.any(0).sum() > 0
    assert counts == {
        "num_retags": 1,
        "num_revising": 1,
        "num_words": 3 if num_sentences else 9,
        "num_revised": is_revised.any(0).sum(),
        "num_terminals": is_revised[0].sum(),
        "num_nonterminals": is_revised[1].sum(),
        "num_tokens_back": len(text) - 1 - np.flatnonzero(is_revised.any(0))[0],
    }


def fickle_sentences(texts: Sequence[str]) -> list[TextTags]:
    """Do as `fickle`, with a last word of each sentence that says so, and no other."""
    found = []
    for text, tags in zip(texts, fickle(texts), strict=True):
        ends = np.array([text[end - 1] == "." or end == len(text) for end in tags.spans[:, 1]], bool)
        nonterminal = np.where(ends, 0, tags.nonterminal % 4 + 1).astype(np.int8)
        found.append(TextTags(spans=tags.spans, terminal=tags.terminal, nonterminal=nonterminal))
    return found


def test_what_a_session_cannot_do_is_refused() -> None:
    model, silent = build("position"), build("position", predicts_tags=False)

    with pytest.raises(ValueError, match="cannot give its own tags"):
        TransformerXlSession(silent, CHARACTERS, capacity=4, source=SelfTags())
    with pytest.raises(ValueError, match="evaluation mode"):
        TransformerXlSession(build("position").train(), CHARACTERS, capacity=4)
    session = TransformerXlSession(model, CHARACTERS, capacity=4)
    with pytest.raises(ValueError, match="got none"):
        session.read([])
    with pytest.raises(ValueError, match="at most 4 tokens"):
        session.read(IDS[:5])
    with pytest.raises(ValueError, match="word or token"):
        ParserTags(fickle, retag="never")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="for the form prefix"):
        ParserTags(fickle, newest="head", form="frozen")


@pytest.mark.parametrize(
    ("config", "source"),
    [({}, SelfTags), ({"predicts_tags": False}, NoTags), ({"injection": "none"}, NoTags)],
)
def test_a_model_that_is_given_tags_and_predicts_them_gives_its_own(config: dict[str, object], source: type) -> None:
    request = SessionRequest(tokenizer=CHARACTERS, capacity=9)

    made = make_session(build(**({"injection": "position"} | config)), request)  # type: ignore[arg-type]

    assert type(made.source) is source


def test_only_models_that_go_on_with_a_text_have_sessions() -> None:
    assert load_generator("sipe-transformer-xl") is make_session
    with pytest.raises(ValueError, match="sipe-roberta does not go on with a text"):
        load_generator("sipe-roberta")
    with pytest.raises(ValueError, match="expected SiPE's Transformer-XL, got Linear"):
        make_session(torch.nn.Linear(1, 1), SessionRequest(tokenizer=CHARACTERS, capacity=9))
