"""Decoders of lisdata as a model of lm-evaluation-harness, with hexatags by any parser (the extra `lm-eval`).

    import lm_eval
    from lisdata.lm_harness import DecoderLM

    model = DecoderLM("out/sipe/models/sipe-transformer-xl", "out/sipe/tokens/tokenizer.json", parser="tagger")
    lm_eval.simple_evaluate(model=model, tasks=["blimp"])

The harness hands over strings alone, so texts are tagged here. Tags of whole texts tell of words to come, those of a
continuation too: `tags="prefix"` parses what was read anew at each token. The harness counts a tie of two sentences for
the first of them, which is often the good one: `lisdata benchmark blimp` counts it as wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from torch import Tensor, nn

from lisdata.checkpoints import find_checkpoint, load_model
from lisdata.encoding import load_tokenizer, template_ids
from lisdata.errors import LisDataError
from lisdata.evaluation.causal_scorer import TAGLESS, CausalScorer, CausalScoring, score_rows
from lisdata.evaluation.prefix_rows import PREFIX_FORMS
from lisdata.evaluation.prefix_scorer import PrefixScorer
from lisdata.evaluation.sentence_rows import SentenceRows
from lisdata.evaluation.sentence_scores import Float64, Int64, TokenSurprisals, score_sentences, tags_of
from lisdata.evaluation.tag_cache import TagCache
from lisdata.generation.generating import Session
from lisdata.generation.kinds import SessionRequest, load_generator
from lisdata.generation.sampling import Sampler, Sampling
from lisdata.generation.tag_choice import make_tag_source
from lisdata.models import describe_model
from lisdata.paths import StrPath

_TEXTS_AT_ONCE = 512
_SHARPENING = 1e6  # by which logits are multiplied to see whether a token is the likeliest
_LIKELIEST = 0.5  # nats: less is left of a sharpened token that is, log 2 of one of two equal ones


class DecoderLM(LM):  # type: ignore[misc]
    """A causal model of lisdata, from a checkpoint or the newest one in a folder, in evaluation mode.

    `tags` is a regime of `lisdata benchmark` ("full", "none", ...), or one of `PREFIX_FORMS`, whose tags are a function
    of what was read. Without a `parser` the model sees none. A text begins with what the tokenizer's template puts
    first; without any its first token counts 0. `max_length` is the longest row in tokens of `loglikelihood_rolling`.
    Where text is generated, tags are those of what there is of it, or the model's own without a parser.
    """

    def __init__(
        self,
        checkpoint: StrPath,
        tokenizer: StrPath,
        *,
        parser: str | None = None,
        tags: str = "full",
        tag_cache: StrPath | None = None,
        max_length: int = 1024,
        batch_tokens: int = 2048,
    ) -> None:
        super().__init__()
        if max_length < 2:
            raise ValueError(f"{max_length=} leaves no token to predict")
        is_prefix = tags in PREFIX_FORMS
        if is_prefix and parser is None:
            raise ValueError(f"{tags=} needs a parser")
        self._model = load_model(find_checkpoint(Path(checkpoint)))
        self._tokenizer, self._parser, self._tags = load_tokenizer(str(tokenizer)), parser, tags
        self._max_length = max_length
        self._scoring = CausalScoring(regime="full" if is_prefix else tags, batch_tokens=batch_tokens)
        cached = None if parser is None else TagCache(parser, None if tag_cache is None else Path(tag_cache))
        self._tag = None if self._scoring.regime in TAGLESS else cached
        self._scorer: CausalScorer | PrefixScorer = CausalScorer(self._model, self._tokenizer, self._scoring)
        if is_prefix and cached is not None:
            form = next(known for known in PREFIX_FORMS if known == tags)
            self._scorer = PrefixScorer(self._model, self._tokenizer, cached, form, self._scoring)

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Return log p of each continuation after its context, and whether each of its tokens is the likeliest."""
        pairs = [request.args for request in requests]
        answers = [answer for some in _chunks(pairs) for answer in self._score(some)]
        for request, answer in zip(requests, answers, strict=True):
            self.cache_hook.add_partial("loglikelihood", request.args, answer)
        return answers

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        """Return log p of each text; one longer than `max_length` is read in windows, each token scored once."""
        answers = []
        for request in requests:
            (text,) = request.args
            answers.append(-self._rolling(text))
            self.cache_hook.add_partial("loglikelihood_rolling", request.args, answers[-1])
        return answers

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """Return what the model goes on with after each context, up to the first text of `until`."""
        answers = []
        for request in requests:
            context, settings = request.args
            answers.append(self._generate(context, settings))
            self.cache_hook.add_partial("generate_until", request.args, answers[-1])
        return answers

    # -- likelihood ------------------------------------------------------------------------------------------------

    def _score(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, bool]]:
        found = [_continuation(*pair) for pair in zip(pairs, self._surprisals(pairs), strict=True)]
        likeliest = [_is_likeliest(surprisal, self._tokenizer.vocab_size) for surprisal in found]
        open_ones = [number for number, answer in enumerate(likeliest) if answer is None]
        with _sharpened(self._model):
            chosen = [pairs[number] for number in open_ones]
            sharp = [_continuation(*pair) for pair in zip(chosen, self._surprisals(chosen), strict=True)]
        for number, surprisal in zip(open_ones, sharp, strict=True):
            likeliest[number] = bool((surprisal < _LIKELIEST).all())
        return [(-float(nats.sum()), bool(answer)) for nats, answer in zip(found, likeliest, strict=True)]

    def _surprisals(self, pairs: Sequence[tuple[str, str]]) -> list[TokenSurprisals]:
        texts = [context + continuation for context, continuation in pairs]
        if isinstance(self._scorer, PrefixScorer):
            return score_sentences(self._scorer, texts)
        return score_sentences(self._scorer, texts, tags_of(texts, self._tag))

    def _rolling(self, text: str) -> float:
        rows = SentenceRows(self._tokenizer, start=None, end="")
        num_start = len(rows.start)
        (row,) = rows.make([text], None if isinstance(self._scorer, PrefixScorer) else tags_of([text], self._tag))
        if row.values.shape[1] <= self._max_length:
            return self._surprisals([("", text)])[0].total
        if isinstance(self._scorer, PrefixScorer):
            raise LisDataError(f"expected a text of at most {self._max_length} tokens under {self._tags}, got more")
        windows = list(_windows(row.values, num_start, self._max_length))
        found = score_rows(self._model, [values for values, _ in windows], self._scoring)
        return float(sum(nats[-count:].sum() for nats, (_, count) in zip(found, windows, strict=True)))

    # -- generation ------------------------------------------------------------------------------------------------

    def _generate(self, context: str, settings: Mapping[str, Any]) -> str:
        start, end = (ids.tolist() for ids in template_ids(self._tokenizer))
        prompt = [*start, *self._tokenizer.encode_batch([context]).ids.tolist()]
        if not prompt:
            raise LisDataError("expected a prompt of at least one token, got none")
        max_tokens = int(settings.get("max_gen_toks", 256))
        until = settings.get("until") or []
        stops = [until] if isinstance(until, str) else list(until)
        ids: list[int] = []
        text = ""
        for token_id in islice(self._draw(prompt, max_tokens, settings), max_tokens):
            if token_id in end:
                break
            ids.append(token_id)
            text = self._tokenizer.decode(ids)
            if any(stop in text for stop in stops):
                break
        return text[: min((text.index(stop) for stop in stops if stop in text), default=len(text))]

    def _draw(self, prompt: Sequence[int], max_tokens: int, settings: Mapping[str, Any]) -> Iterator[int]:
        """Yield tokens; each is read when the next is asked for."""
        temperature = float(settings.get("temperature") or 0.0) if settings.get("do_sample") else 0.0
        sampler = Sampler(Sampling(temperature=temperature, top_k=settings.get("top_k")))
        session = self._session(len(prompt) + max_tokens)
        logits = session.read(prompt)
        while True:
            token_id = sampler.draw(logits)
            yield token_id
            logits = session.read([token_id])

    def _session(self, capacity: int) -> Session:
        source = None
        if self._parser is not None and self._tag is not None:
            form = self._tags if self._tags in PREFIX_FORMS else "prefix"
            source = make_tag_source(f"parser:{self._parser}", form=form)
        request = SessionRequest(tokenizer=self._tokenizer, capacity=capacity, tags=source)
        return load_generator(describe_model(self._model)["name"])(self._model, request)


def _chunks(pairs: Sequence[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    for begin in range(0, len(pairs), _TEXTS_AT_ONCE):
        yield pairs[begin : begin + _TEXTS_AT_ONCE]


def _continuation(pair: tuple[str, str], tokens: TokenSurprisals) -> Float64:
    """Return the surprisals of the tokens that spell any of the continuation."""
    own: Float64 = tokens.surprisal[tokens.end > len(pair[0])]
    return own


def _is_likeliest(surprisal: Float64, vocab_size: int) -> bool | None:
    """Tell whether each token is the likeliest one, as far as its probability says: above 1/2 it is, below 1/V not."""
    if (surprisal < math.log(2)).all():
        return True
    return False if (surprisal > math.log(vocab_size) + 1e-3).any() else None


@contextmanager
def _sharpened(model: nn.Module) -> Iterator[None]:
    """Let the model give the likeliest token all of the probability."""

    def sharpen(_module: nn.Module, _arguments: Any, logits: Tensor) -> Tensor:
        return logits * _SHARPENING

    handle = model.register_forward_hook(sharpen)
    try:
        yield
    finally:
        handle.remove()


def _windows(values: Int64, num_start: int, max_length: int) -> Iterator[tuple[Int64, int]]:
    """Yield windows of a row (3, T), and how many of the last tokens of each are scored there.

    Windows follow on each other, each with the token before it, and the last one reads as much before it as there is
    room for.
    """
    length, size = values.shape[1], max_length - 1
    scored = max(num_start, 1)  # the first token of all is only read
    begin = 0
    while scored < length:
        end = min(begin + 1 + size, length)
        yield values[:, max(0, end - max_length) : end], end - scored
        begin, scored = end - 1, end
