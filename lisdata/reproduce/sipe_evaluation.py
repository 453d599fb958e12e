"""A trained SiPE decoder measured under several kinds of tags: perplexity, BLiMP, SyntaxGym, the joint bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, get_args

from torch import nn

from lisdata.encoding import Tokenizer
from lisdata.encoding.tokenizer_training import END
from lisdata.evaluation import blimp, syntaxgym
from lisdata.evaluation.causal_scorer import CausalScorer, CausalScoring, score_rows
from lisdata.evaluation.item_results import ItemResults, Verdict
from lisdata.evaluation.joint_nll import joint_nll
from lisdata.evaluation.prefix_rows import PrefixForm, freeze_tags, place_prefixes, tag_prefixes
from lisdata.evaluation.prefix_scorer import PrefixScorer
from lisdata.evaluation.sentence_rows import SentenceRows
from lisdata.evaluation.sentence_scores import Int64, TagTexts, score_sentences
from lisdata.reproduce.runner import JsonDict
from lisdata.reproduce.sipe_corpus import TestSets
from lisdata.reproduce.sipe_settings import SipeVariant

_SPELLING: dict[Verdict, str] = {True: "1", False: "0", None: "-"}
_VERDICT = {spelling: verdict for verdict, spelling in _SPELLING.items()}


def make_scorer(
    model: nn.Module, tokenizer: Tokenizer, tag: TagTexts, reading: str, *, end: str = ""
) -> tuple[CausalScorer | PrefixScorer, TagTexts | None]:
    """Return what scores texts under a reading (a regime, or one of `PREFIX_FORMS`), and what tags them first."""
    if reading in get_args(PrefixForm):
        form: Any = reading
        return PrefixScorer(model, tokenizer, tag, form, CausalScoring(end=end)), None
    return CausalScorer(model, tokenizer, CausalScoring(end=end, regime=reading)), tag


def validation_rows(rows: SentenceRows, sentences: Sequence[str], tag: TagTexts, *, is_frozen: bool) -> list[Int64]:
    """Return sentences as rows (3, T) of ids and tags: of whole parses, or frozen ones."""
    made = rows.make(sentences, tag(sentences))
    if is_frozen:
        first = len(rows.start)
        placed = place_prefixes(made, tag_prefixes(made, tag), "frozen")
        made = [freeze_tags(row, first, own) for row, own in zip(made, placed, strict=True)]
    return [row.values for row in made]


def validation_loss(rows: Sequence[Int64], regime: str) -> Callable[[nn.Module], dict[str, Any]]:
    """Return what measures the mean nats a token of rows under a regime, as `nll`."""
    num_tokens = sum(row.shape[1] - 1 for row in rows)
    scoring = CausalScoring(regime=regime)
    return lambda model: {"nll": sum(float(found.sum()) for found in score_rows(model, rows, scoring)) / num_tokens}


def measure(
    model: nn.Module, variant: SipeVariant, tokenizer: Tokenizer, tag: TagTexts, tests: TestSets
) -> tuple[JsonDict, JsonDict]:
    """Return the figures of each reading, and by item what they are made of."""
    figures: JsonDict = {}
    items: JsonDict = {}
    for reading in variant.readings:
        figures[reading], items[reading] = _measure_reading(model, tokenizer, tag, reading, tests)
    return figures, items


def _measure_reading(
    model: nn.Module, tokenizer: Tokenizer, tag: TagTexts, reading: str, tests: TestSets
) -> tuple[JsonDict, JsonDict]:
    scorer, tag_first = make_scorer(model, tokenizer, tag, reading, end=END)
    tags = tag(tests.sentences)
    scores = score_sentences(scorer, tests.sentences, tags if tag_first else None)
    nll = [found.total for found in scores]
    scorer, tag_first = make_scorer(model, tokenizer, tag, reading)
    pairs = blimp.evaluate_blimp(tests.paradigms, scorer, model=reading, tag=tag_first)
    suites = syntaxgym.evaluate_suites(tests.suites, scorer, model=reading, tag=tag_first)
    paradigms = pairs.group_scores()
    figures = {
        "nll": sum(nll),
        "num_tokens": sum(len(found.surprisal) for found in scores),
        "num_words": sum(len(own.spans) for own in tags),
        "blimp": blimp.macro_score(paradigms),
        "blimp_phenomena": blimp.phenomenon_scores(paradigms, tests.paradigms),
        "syntaxgym": syntaxgym.macro_score(suites.group_scores()),
        "syntaxgym_circuits": syntaxgym.circuit_scores(suites.group_scores()),
    }
    items = {"nll": [round(value, 4) for value in nll]}
    return figures, items | {"blimp": spell_items(pairs), "syntaxgym": spell_items(suites)}


def measure_joint(
    model: nn.Module, variant: SipeVariant, rows: SentenceRows, tag: TagTexts, sentences: Sequence[str]
) -> JsonDict:
    """Return the nats of tokens, terminals and nonterminals of the sentences together, under the tags of training."""
    made = validation_rows(rows, sentences, tag, is_frozen=variant.is_frozen)
    token, terminal, nonterminal = joint_nll(model, made, CausalScoring(regime=variant.regime)).sum(0).tolist()
    return {"token": token, "terminal": terminal, "nonterminal": nonterminal}


def spell_items(results: ItemResults) -> dict[str, str]:
    """Return the verdicts of each group in the order of its items: 1 is right, 0 wrong, - a tie."""
    return {
        group: "".join(_SPELLING[items[number]] for number in sorted(items))
        for group, items in results.verdicts.items()
    }


def read_items(spelled: dict[str, str], model: str) -> ItemResults:
    """Return the verdicts that `spell_items` spelled; items are numbered from 0."""
    verdicts = {group: {n: _VERDICT[mark] for n, mark in enumerate(marks)} for group, marks in spelled.items()}
    return ItemResults(model=model, verdicts=verdicts)
