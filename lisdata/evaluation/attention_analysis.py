"""How much a verb attends to its object, in two models, on pairs that one judges right and the other wrong.

SiPE's appendix C reads attention from the verb to the object, the mean over attention heads and a band of layers. An
encoder's is read in the verb's row. A decoder's verb cannot see an object to come: there it is read in the object's
row, how much that attends to the verb. Of a word of several tokens its rows are averaged, its columns added up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from torch import nn

from lisdata.encoding import Tokenizer, load_tokenizer
from lisdata.errors import LisDataError
from lisdata.evaluation.benchmarks import BenchmarkRequest, is_masked, load_benchmarked, make_scorer
from lisdata.evaluation.blimp import Paradigm, evaluate_blimp, read_blimp
from lisdata.evaluation.causal_scorer import TAGLESS
from lisdata.evaluation.item_results import Verdict
from lisdata.evaluation.mode import evaluating
from lisdata.evaluation.own_tokenizer import check_own_tokenizer
from lisdata.evaluation.sentence_rows import SentenceRow, SentenceRows, iter_batches, pad_rows
from lisdata.evaluation.sentence_scores import Float64, tags_of
from lisdata.evaluation.tag_cache import TagCache
from lisdata.evaluation.verb_objects import Span, VerbObject, find_verb_objects
from lisdata.models.attention_weights import record_attention
from lisdata.training.loss import model_columns, move_batch
from lisdata.training.tag_regimes import apply_tag_regime

CAUSATIVE = "causative"
Judged = Literal["first", "second", "both", "neither"]
"""Which of the two models has a pair right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionRequest:
    """Two models to compare: the two `checkpoints` of `benchmark`, of which the first is the one given hexatags.

    Pairs are those of the `paradigm`, the first `max_pairs` of them or all. `layers`, from the first to the last and
    counted from 1, are averaged; None is all of a decoder and the middle third of an encoder.
    """

    benchmark: BenchmarkRequest
    paradigm: str = CAUSATIVE
    max_pairs: int | None = None
    layers: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAttention:
    """The attention between verb and object of one pair's good sentence, in the first model and in the second."""

    item: VerbObject
    judged: Judged
    first: float
    second: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionComparison:
    """The pairs with a verb and an object, of `num_pairs` in all; `row` is whose row was read, of the band `layers`."""

    pairs: Sequence[PairAttention]
    num_pairs: int
    row: Literal["verb", "object"]
    layers: tuple[tuple[int, int], tuple[int, int]]
    models: tuple[str, str]
    parser: str


def compare_attention(request: AttentionRequest) -> AttentionComparison:
    """Score both models on the pairs and read their attention; LisDataError for two of other kind, or no pairs."""
    benchmark = request.benchmark
    if len(benchmark.checkpoints) != 2 or benchmark.parser is None:
        raise ValueError("expected two models and a parser")
    paradigm = _read_paradigm(request)
    items = find_verb_objects(paradigm.pairs, benchmark.parser)
    if not items:
        raise LisDataError(f"{request.paradigm}: {benchmark.parser} found no verb with an object in any pair")
    tokenizer = load_tokenizer(benchmark.tokenizer)
    for path in benchmark.checkpoints:
        check_own_tokenizer(path, tokenizer, benchmark.tokenizer)
    models = [load_benchmarked(path)[0] for path in benchmark.checkpoints]
    kinds = {is_masked(model) for model in models}
    if len(kinds) > 1:
        raise LisDataError("expected two encoders or two decoders, got one of each: their attention is read apart")
    tag = benchmark.load_tags()
    verdicts, weights, bands = [], [], []
    for model in models:
        scorer = make_scorer(benchmark, model, tokenizer, tag)
        verdicts.append(evaluate_blimp([paradigm], scorer, model="", tag=tag).verdicts[paradigm.name])
        bands.append(choose_layers(model, request.layers))
        reader = AttentionReader(model, tokenizer, benchmark, tag, layers=bands[-1])
        weights.append(reader.read(items))
    pairs = [
        PairAttention(item=item, judged=_judged(item.pair.number, *verdicts), first=float(one), second=float(other))
        for item, one, other in zip(items, *weights, strict=True)
    ]
    return AttentionComparison(
        pairs=pairs,
        num_pairs=len(paradigm.pairs),
        row="verb" if kinds == {True} else "object",
        layers=(bands[0], bands[1]),
        models=(str(benchmark.checkpoints[0]), str(benchmark.checkpoints[1])),
        parser=benchmark.parser,
    )


class AttentionReader:
    """Reads the attention between verb and object of good sentences in one model."""

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        request: BenchmarkRequest,
        tag: TagCache | None,
        *,
        layers: tuple[int, int],
    ) -> None:
        self._model, self._scoring, self._layers = model, request.scoring, layers
        self._tag = None if request.scoring.regime in TAGLESS else tag
        self._is_masked = is_masked(model)
        end = (request.scoring.end or None) if self._is_masked else ""
        self._rows = SentenceRows(tokenizer, start=request.scoring.start, end=end)

    def read(self, items: Sequence[VerbObject]) -> Float64:
        """Return the attention of each item: verb to object in an encoder, object to verb in a decoder."""
        texts = [item.pair.good for item in items]
        rows = self._rows.make(texts, tags_of(texts, self._tag))
        found = np.zeros(len(rows))
        for places in iter_batches([row.values.shape[1] for row in rows], self._scoring.batch_tokens):
            weights = self._weights([rows[place] for place in places])
            for place, weight in zip(places, weights, strict=True):
                words = items[place].verb, items[place].object
                query, key = words if self._is_masked else reversed(words)
                row = rows[place]
                found[place] = weight[np.ix_(self._tokens(row, query), self._tokens(row, key))].sum(1).mean()
        return found

    def _weights(self, rows: Sequence[SentenceRow]) -> Float64:
        """Return the mean weights over attention heads and the band of layers, (B, T, T)."""
        batch = apply_tag_regime(pad_rows([row.values for row in rows]), self._scoring.regime, seed=self._scoring.seed)
        with evaluating(self._model) as device, record_attention(self._model) as layers:
            self._model(**move_batch(model_columns(self._model, batch), device))
        first, last = self._layers
        band = [layer.double().mean(1) for layer in layers[first - 1 : last]]
        mean: Float64 = (sum(band[1:], band[0]) / len(band)).cpu().numpy()
        return mean

    def _tokens(self, row: SentenceRow, word: Span) -> list[int]:
        """Return the places in the row of the tokens that spell any of a word; LisDataError where there are none."""
        own = np.flatnonzero((row.spans[:, 0] < word[1]) & (row.spans[:, 1] > word[0]))
        if not len(own):
            raise LisDataError(f"{row.text!r}: expected tokens of {row.text[slice(*word)]!r}, found none")
        return (own + len(self._rows.start)).tolist()


def choose_layers(model: nn.Module, layers: tuple[int, int] | None) -> tuple[int, int]:
    """Return the band of layers, from 1, that is averaged; ValueError for one that the model does not have."""
    depth: int = model.config.num_layers  # type: ignore[union-attr, assignment]
    if layers is None:
        return (min(depth // 3 + 1, depth), max(2 * depth // 3, 1)) if is_masked(model) else (1, depth)
    if not 1 <= layers[0] <= layers[1] <= depth:
        raise ValueError(f"expected layers within 1-{depth}, got {layers[0]}-{layers[1]}")
    return layers


def _read_paradigm(request: AttentionRequest) -> Paradigm:
    paradigms = {found.name: found for found in read_blimp(request.benchmark.data, max_pairs=request.max_pairs)}
    if request.paradigm not in paradigms:
        raise LisDataError(f"{request.benchmark.data}: expected the paradigm {request.paradigm}, found none")
    return paradigms[request.paradigm]


def _judged(number: int, first: Mapping[int, Verdict], second: Mapping[int, Verdict]) -> Judged:
    """Return which model has the pair right; a tie is wrong."""
    judged: dict[tuple[bool, bool], Judged] = {
        (True, False): "first",
        (False, True): "second",
        (True, True): "both",
        (False, False): "neither",
    }
    return judged[first[number] is True, second[number] is True]
