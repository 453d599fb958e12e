"""Texts grown token by token."""

from __future__ import annotations

from lisdata.encoding import Tokenizer
from lisdata.generation.growing_text import GrowingText


def grown(tokenizer: Tokenizer, ids: list[int]) -> GrowingText:
    """Return the text that some tokens spell."""
    text = GrowingText(tokenizer)
    for token_id in ids:
        text.append(token_id)
    return text
