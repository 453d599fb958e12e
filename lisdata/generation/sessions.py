"""A model that reads a text token by token, with the tags of a source, computing only what a change makes new."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from lisdata.encoding import Tokenizer
from lisdata.evaluation.sentence_scores import Int64
from lisdata.generation.growing_text import GrowingText
from lisdata.generation.kinds import SessionRequest
from lisdata.generation.tag_sources import NoTags, SelfTags, TagSource
from lisdata.models.transformer_xl import TransformerXl
from lisdata.models.transformer_xl_cache import TransformerXlCache
from lisdata.training.tag_regimes import UNTAGGED


class TransformerXlSession:
    """Reads a text of up to `capacity` tokens with SiPE's Transformer-XL, which must stay as it is meanwhile.

    After each `read` the keys and values of all positions are those of a computation of the whole text under `tags`:
    what stood before the first tag that changed is kept, the rest is computed again. `num_computed` counts positions.
    """

    def __init__(
        self, model: TransformerXl, tokenizer: Tokenizer, *, capacity: int, source: TagSource | None = None
    ) -> None:
        self.source = NoTags() if source is None else source
        if self.source.reads_heads and model.terminal_output is None:
            raise ValueError("a model built without predicts_tags cannot give its own tags")
        if model.training:
            raise ValueError("expected a model in evaluation mode, got one in training mode")
        self.text = GrowingText(tokenizer)
        self.num_computed = 0
        self._model = model
        self._cache = TransformerXlCache(model, capacity=capacity)
        self._tags, self._given, self._predicted = (np.full((2, capacity), UNTAGGED, np.int64) for _ in range(3))
        self._last: Tensor | None = None

    @property
    def tags(self) -> Int64:
        """Terminal and nonterminal of each token read, (2, T)."""
        return self._tags[:, : len(self.text.ids)]

    @torch.no_grad()
    def read(self, token_ids: Sequence[int]) -> Tensor:
        """Read further tokens, at least one, and return the logits (V,) of the next.

        Raises ValueError for none, or more than the capacity.
        """
        if not token_ids:
            raise ValueError("expected tokens to read, got none")
        if len(self.text.ids) + len(token_ids) > self._cache.capacity:
            raise ValueError(f"expected a text of at most {self._cache.capacity} tokens, got more")
        size = 1 if self.source.needs_each_token else len(token_ids)
        for begin in range(0, len(token_ids), size):
            for token_id in token_ids[begin : begin + size]:
                self.text.append(token_id)
            self.source.update(self.text, self.tags, self._predict)
            self._compute(len(self.text.ids))
        assert self._last is not None
        return self._model.token_logits(self._last)

    def _predict(self, position: int) -> tuple[int, int]:
        """Return the likeliest tags of the token at `position`, at least 1."""
        self._compute(position)
        terminal, nonterminal = self._predicted[:, position - 1].tolist()
        return terminal, nonterminal

    def _compute(self, end: int) -> None:
        """Bring the cache to the tags of now, at least as far as `end`."""
        num_kept = min(self._cache.length, end)
        changed = np.flatnonzero((self._tags != self._given)[:, :num_kept].any(0))
        begin = int(changed[0]) if len(changed) else num_kept
        if begin == end:
            return
        self._cache.truncate(begin)
        device = self._model.embedding.weight.device
        ids = torch.tensor([self.text.ids[begin:end]], device=device)
        terminal, nonterminal = torch.from_numpy(self._tags[:, None, begin:end].copy()).to(device)
        hidden = self._model.hidden_states(ids, terminal, nonterminal, None, self._cache)[0]
        self._given[:, begin:end] = self._tags[:, begin:end]
        self._last = hidden[-1]
        self.num_computed += end - begin
        if self.source.reads_heads:
            for row, output in enumerate((self._model.terminal_output, self._model.nonterminal_output)):
                assert output is not None
                self._predicted[row, begin:end] = output(hidden).argmax(-1).cpu().numpy()


def make_session(model: nn.Module, request: SessionRequest) -> TransformerXlSession:
    """Return a session of SiPE's Transformer-XL; without a choice of tags a model of tags gives its own, if it can."""
    if not isinstance(model, TransformerXl):
        raise ValueError(f"expected SiPE's Transformer-XL, got {type(model).__name__}")
    takes_own = model.config.injection != "none" and model.config.predicts_tags
    source = request.tags or (SelfTags() if takes_own else NoTags())
    return TransformerXlSession(model, request.tokenizer, capacity=request.capacity, source=source)
