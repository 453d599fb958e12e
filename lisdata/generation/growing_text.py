"""A text that grows by a token at a time, with the characters that each token spells."""

from __future__ import annotations

from lisdata.encoding import Tokenizer, template_ids

_UNFINISHED = "\ufffd"


class GrowingText:
    """Token n, `ids[n]`, spells the characters begins[n] : ends[n] of `text`.

    Bytes of a character that is not whole yet spell nothing: the token that completes it spells all of it. What the
    tokenizer's template puts before and after a text spells nothing either.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.text = ""
        self.ids: list[int] = []
        self.begins: list[int] = []
        self.ends: list[int] = []
        self._tokenizer = tokenizer
        self._silent = {int(token_id) for ids in template_ids(tokenizer) for token_id in ids}
        self._anchor = self._spelled = 0  # tokens: what is decoded begins at the first, what is new at the second

    def append(self, token_id: int) -> None:
        """Add a token at the end; raises what the tokenizer does for one that it does not know."""
        self.ids.append(token_id)
        self.begins.append(len(self.text))
        if token_id in self._silent:
            self._anchor = self._spelled = len(self.ids)
        else:
            self._spell()
        self.ends.append(len(self.text))

    def _spell(self) -> None:
        """Add what the newest token spells behind those before it: some tokenizers spell a first token otherwise."""
        before = self._tokenizer.decode(self.ids[self._anchor : self._spelled])
        decoded = self._tokenizer.decode(self.ids[self._anchor :])
        if not decoded.endswith(_UNFINISHED):
            self.text += decoded[len(before) :]
            self._anchor, self._spelled = self._spelled, len(self.ids)

    def token_at(self, character: int) -> int:
        """Return the first token that spells anything from `character` on, or how many tokens there are."""
        token = len(self.ids)
        while token and self.ends[token - 1] > character:
            token -= 1
        return token
