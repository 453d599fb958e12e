"""Where a model that generates gets hexatags from: nowhere, a parser that reads what there is, or its own tag heads.

Whatever the source, the tags of a step are a function of the tokens read so far, so that the product of what the model
says of each next token is a probability of the text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal, Protocol, TypeAlias, get_args

import numpy as np

from lisdata.evaluation.prefix_rows import PrefixForm
from lisdata.evaluation.sentence_scores import Int64, TagTexts
from lisdata.generation.growing_text import GrowingText
from lisdata.generation.prefix_tags import PrefixTagger, WordStarts

Retag: TypeAlias = Literal["word", "token"]
Newest: TypeAlias = Literal["withheld", "head"]

PredictTags = Callable[[int], tuple[int, int]]
"""Gives the likeliest terminal and nonterminal of a token, from those before it and their tags."""


class TagSource(Protocol):
    """Keeps the tags of a growing text up to date."""

    reads_heads: bool
    """Whether it asks for what the model predicts."""
    needs_each_token: bool
    """Whether it must see a text grow token by token, rather than several tokens at once."""

    def update(self, text: GrowingText, tags: Int64, predict: PredictTags) -> None:
        """Change the tags (2, T) of the tokens of `text` to those of now; new tokens come untagged."""


class NoTags:
    """Leaves every token untagged."""

    reads_heads = needs_each_token = False

    def update(self, text: GrowingText, tags: Int64, predict: PredictTags) -> None:
        """Change nothing."""


class SelfTags:
    """Gives each word the tags that the model predicted for it: no parser, and no tag is ever revised.

    Words are those of `WordStarts`. The first token has none: nothing stands before it.
    """

    reads_heads = needs_each_token = True

    def __init__(self) -> None:
        self._starts = WordStarts()

    def update(self, text: GrowingText, tags: Int64, predict: PredictTags) -> None:
        """Tag the newest token where it begins a word."""
        newest = len(text.ids) - 1
        if newest and self._starts.begins_word(text):
            tags[:, newest] = predict(newest)


@dataclass(slots=True, kw_only=True)
class RevisionCounts:
    """How often a parser changed its mind about words that had their tags already.

    `num_retags` parses were made; `num_revising` of them changed the tags of some word, and they changed `num_revised`
    words (`num_terminals`, `num_nonterminals`) of `num_words` that they could have changed. The newest word's
    nonterminal that was withheld and then comes is no revision. `num_tokens_back` adds up how many tokens before the
    newest one the first revised word stood.
    """

    num_retags: int = 0
    num_revising: int = 0
    num_words: int = 0
    num_revised: int = 0
    num_terminals: int = 0
    num_nonterminals: int = 0
    num_tokens_back: int = 0

    def note(self, before: Int64, after: Int64) -> None:
        """Count what one parse changed: tags (2, T) of some tokens up to the newest, before it those of the first n."""
        is_changed = (before != after[:, : before.shape[1]]) & (before >= 0)
        words = np.flatnonzero(is_changed.any(0))
        self.num_retags += 1
        self.num_words += int(np.count_nonzero((before >= 0).any(0)))
        self.num_revised += len(words)
        self.num_terminals += int(is_changed[0].sum())
        self.num_nonterminals += int(is_changed[1].sum())
        if len(words):
            self.num_revising += 1
            self.num_tokens_back += after.shape[1] - 1 - int(words[0])

    def to_json(self) -> dict[str, int]:
        """Return the counts by name."""
        return asdict(self)


class ParserTags:
    """Tags of a parse of the text so far, made anew at each new word, or at each token.

    `form` is one of `PREFIX_FORMS`. Under "prefix" the `newest` word's nonterminal is withheld, since it is EOS
    whatever follows, or the one that the model's head predicted for it. `num_sentences` is that of `PrefixTagger`.
    """

    def __init__(
        self,
        tag: TagTexts,
        *,
        form: PrefixForm = "prefix",
        retag: Retag = "word",
        newest: Newest = "withheld",
        num_sentences: int | None = 2,
    ) -> None:
        if retag not in get_args(Retag) or newest not in get_args(Newest):
            raise ValueError(f"expected retag of word or token, newest of withheld or head, got {retag!r}, {newest!r}")
        if newest == "head" and form != "prefix":
            raise ValueError(f"{newest=} is for the form prefix, where the parser knows none, got {form=}")
        self.counts = RevisionCounts()
        self.reads_heads, self.needs_each_token = newest == "head", form == "frozen"
        self._tagger = PrefixTagger(tag, form=form, num_sentences=num_sentences)
        self._retag, self._starts = retag, WordStarts()
        self._num_seen = 0

    def update(self, text: GrowingText, tags: Int64, predict: PredictTags) -> None:
        """Tag the text anew where its newest token begins a word, and revise what it says of earlier ones."""
        before, self._num_seen = self._num_seen, len(text.ids)
        if self._retag == "word" and self._num_seen == before + 1 and not self._starts.begins_word(text):
            return
        placed = self._tagger.place(text)
        first = self._num_seen - placed.tags.shape[1]
        own = tags[:, first:]
        known = own[:, : max(0, before - first)].copy()
        num_kept = known.shape[1] if self.needs_each_token else 0
        own[:, num_kept:] = placed.tags[:, num_kept:]
        self.counts.note(known, own)
        if self.reads_heads and placed.newest:
            tags[1, placed.newest] = predict(placed.newest)[1]
