"""Seeded words, names and numbers for generated inputs: real-looking, and the more distinct the longer the input."""

from __future__ import annotations

import random

TEXT = (
    "the of and a to in river stone market history museum painter bridge winter railway island garden theory engine "
    "harbour council valley letter number castle market station evening doctor field window voyage orchard copper "
    "lantern Straße Zürich Bücher Ärzte forêt élève château señor niño São Москва река 東京 京都 大阪"
)
WORDS = TEXT.split()
_NEW_NAMES = 0.3


class Draws:
    """Draws from one seeded generator; a name is new in three of ten draws, else an old one, early ones most often."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._num_names = 1

    def below(self, bound: int) -> int:
        """Return a number in 0 .. bound - 1."""
        return int(self._random.random() * bound)

    def number(self) -> int:
        """Return the number of a name."""
        if self._random.random() < _NEW_NAMES:
            self._num_names += 1
            return self._num_names - 1
        return int(self._num_names * self._random.random() ** 3)

    def word(self) -> str:
        """Return a word, the first of the list most often, one in twenty a rarer one that ends in digits."""
        word = WORDS[int(len(WORDS) * self._random.random() ** 2)]
        return f"{word}{self.number()}" if self._random.random() < 0.05 else word

    def words(self, size: int) -> str:
        """Return words with blanks between them."""
        return " ".join([self.word() for _ in range(size)])

    def sentence(self) -> str:
        """Return a sentence of 6 to 25 words."""
        return self.words(6 + self.below(20)).capitalize() + "."

    def decimal(self) -> float:
        """Return a number with at most three decimals."""
        return round(self._random.gauss(100, 40), 3)

    def date(self) -> str:
        """Return a day of the last two centuries."""
        return f"{1825 + self.below(200)}-{1 + self.below(12):02d}-{1 + self.below(28):02d}"
