"""The hexatags of a text that is still growing: by a parser, as far as the text goes, and where its words begin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lisdata.encoding import align_tags
from lisdata.evaluation.prefix_rows import PREFIX_FORMS, PrefixForm, move_nonterminals, withhold_last
from lisdata.evaluation.sentence_scores import Int64, TagTexts
from lisdata.generation.growing_text import GrowingText
from lisdata.tagger.words import Tokenizer as WordTokenizer
from lisdata.training.tag_regimes import EOS, UNTAGGED

_LONGEST_CHUNK = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlacedTags:
    """The tags (2, n) of the last n tokens of a text, terminals and nonterminals; `newest` is the newest word's token.

    It is a number among all tokens, or None where the text has no words.
    """

    tags: Int64
    newest: int | None


class PrefixTagger:
    """Tags a growing text as a parse of what there is of it says, in one of `PREFIX_FORMS`.

    Only the last `num_sentences` sentences are parsed again, those before are left as they are; None parses all.
    "frozen" places the newest word's tags alone, where the newest token begins it.
    """

    def __init__(self, tag: TagTexts, *, form: PrefixForm = "prefix", num_sentences: int | None = 2) -> None:
        if form not in PREFIX_FORMS:
            raise ValueError(f"{form=} is none of {', '.join(PREFIX_FORMS)}")
        if num_sentences is not None and num_sentences < 1:
            raise ValueError(f"{num_sentences=} is not a positive number")
        self.form = form
        self._tag, self._num_sentences = tag, num_sentences
        self._settled = 0

    def place(self, text: GrowingText) -> PlacedTags:
        """Return the tags of all tokens that are not settled, of a text that this tagger saw the beginning of."""
        settled, rest = self._settled, text.text[self._settled :]
        first = text.token_at(settled)
        tags = np.full((2, len(text.ids) - first), UNTAGGED, np.int64)
        if not rest.strip():
            return PlacedTags(tags=tags, newest=None)
        (parsed,) = self._tag([rest])
        nonterminal = (withhold_last if self.form == "prefix" else move_nonterminals)(parsed.nonterminal)
        spans = np.array([text.begins[first:], text.ends[first:]], np.int64).T - settled
        aligned = align_tags(rest, parsed.spans, spans.clip(min=0), parsed.terminal, nonterminal)
        newest = first + int(aligned.first_piece.max(initial=-1))
        kept = slice(newest - first, None) if self.form == "frozen" else slice(None)
        if self.form != "frozen" or newest == len(text.ids) - 1:
            tags[0, kept], tags[1, kept] = aligned.terminal[kept], aligned.nonterminal[kept]
        ends = np.flatnonzero(parsed.nonterminal == EOS)
        if self._num_sentences is not None and len(ends) > self._num_sentences:
            self._settled += int(parsed.spans[ends[-1 - self._num_sentences] + 1, 0])
        return PlacedTags(tags=tags, newest=newest if newest >= first else None)


class WordStarts:
    """Tells where words begin by the rules of the built-in tagger, which need no parser."""

    def __init__(self) -> None:
        self._words = WordTokenizer()

    def begins_word(self, text: GrowingText) -> bool:
        """Tell whether the newest token is the first whose first character, but for white space, lies in its word."""
        first = _first_character(text, len(text.ids) - 1)
        if first is None:
            return False
        before = text.text[max(0, first - _LONGEST_CHUNK) : first]
        chunk = before.split()[-1] if before and not before[-1].isspace() else ""
        self._words.forget()
        begins = self._words.cut([chunk + text.text[first : text.ends[-1]]]).begin
        word = first - len(chunk) + int(begins[begins <= len(chunk)].max())
        for token in range(len(text.ids) - 2, -1, -1):
            previous = _first_character(text, token)
            if previous is not None:
                return previous < word
        return True


def _first_character(text: GrowingText, token: int) -> int | None:
    """Return the first character of a token that is no white space."""
    spelled = text.text[text.begins[token] : text.ends[token]]
    inside = spelled.lstrip()
    return text.begins[token] + len(spelled) - len(inside) if inside else None
