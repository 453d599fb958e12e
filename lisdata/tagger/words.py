"""English text to words and sentences by rules, much as the Penn Treebank and spaCy cut it.

What stands between white space (a chunk) is cut without a look at its neighbours, so each different chunk is cut once.
A sentence ends behind a chunk that ends in . ! ? or an ellipsis (closing quotes and brackets may follow), unless it is
an abbreviation or an initial or the next chunk begins in lower case; and at a blank line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_MAX_CHUNKS = 1 << 17
_IS_SPACE = np.array([chr(code).isspace() for code in range(0x3002)])  # the last white space is U+3000
_NEWLINE = ord("\n")
_BETWEEN = "\n\n"

_ABBREVIATIONS = (
    "Adm Apr Aug Ave Bros Capt Co Col Corp Dec Dr Feb Fig Figs Gen Gov Hon Inc Jan Jr Lt Ltd Messrs Mr Mrs Ms Mt Nov "
    "Oct Ph Prof Rep Rev Sen Sept Sgt Sr St approx cf ed eds etc fig figs no nos pp viz vol vs"
)
_LETTERS = r"(?:[^\W_][\u0300-\u036f]*+)++"  # accents may stand behind the letter that they belong to
_WORD = re.compile(
    rf"""
      (?:https?://|www\.)[^\s<>"]*[^\s<>".,;:!?)\]}}'’]           # an address of the web
    | [\w.+-]{{1,64}}@\w[\w-]*+(?:\.\w[\w-]*+)++                   # of a mailbox
    | (?:[^\W\d_]\.){{2,}}                                         # U.S., e.g.
    | [A-Z]\.(?!\w|\.)                                             # an initial
    | (?:{"|".join(_ABBREVIATIONS.split())})\.(?!\w)
    | \d++(?:[.,:/]\d++){{0,20}}+(?:st|nd|rd|th|s)?+(?![^\W_])     # 1,000.5 and 20th
    | (?i:can(?=not(?!\w)) | gon(?=na(?!\w)) | got(?=ta(?!\w)) | wan(?=na(?!\w)))
    | (?i:\w+?(?=n['’]t(?!\w)))                                    # do|n't
    | (?i:n['’]t | ['’](?:s|re|ve|ll|d|m))(?!\w)
    | \d++(?=[^\W\d_])                                             # 10|km
    | {_LETTERS}(?:_+{_LETTERS})*+(?:['’](?!(?:[sdm]|re|ve|ll)(?!\w)){_LETTERS})*+   # o'clock
    | \.{{2,}} | …+ | -{{2,}} | [–—]+
    | \S                                                           # punctuation, a sign
    """,
    re.VERBOSE,
)
_END = re.compile(r"""(?<![.!?…])[.!?…]++["'”’»)\]}]*+\Z""")
_NO_END = re.compile(rf"""[(\["'“‘]*(?:[A-Z]|(?:[^\W\d_]\.)+[^\W\d_]|{"|".join(_ABBREVIATIONS.split())})\.\Z""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """N words of M sentences of some texts: characters `begin` to `end` of one, `form` a row of `Tokenizer.forms`.

    `text` (M,) is the number of a sentence's text; words of sentence m are rows offsets[m] : offsets[m + 1].
    """

    text: Int64
    begin: Int64
    end: Int64
    form: Int64
    offsets: Int64


class Tokenizer:
    """Cuts texts, and numbers the forms that it meets; `forget` drops those when there are too many."""

    def __init__(self) -> None:
        self.forms: list[str] = []
        self._form_of: dict[str, int] = {}
        self._chunks = _Chunks()

    def forget(self) -> bool:
        """Begin anew where very many chunks are known, and tell it: rows of forms given before mean nothing then."""
        is_full = len(self._chunks.row_of) > _MAX_CHUNKS
        if is_full:
            self.forms, self._form_of, self._chunks = [], {}, _Chunks()
        return is_full

    def cut(self, texts: Sequence[str]) -> Words:
        """Return the words and sentences of texts; every character but white space is in a word."""
        together = _BETWEEN.join(texts)
        starts = np.cumsum([0, *(len(text) + len(_BETWEEN) for text in texts)])
        chunk_begin, is_break = _find_chunks(together)
        known = self._chunks.row_of
        chunks = [known[chunk] if chunk in known else self._add(chunk) for chunk in together.split()]
        rows = np.array(chunks, np.int64)
        words, first, traits = self._chunks.to_arrays()
        counts = first[rows + 1] - first[rows]
        last = np.cumsum(counts)
        at = np.repeat(first[rows] - (last - counts), counts) + np.arange(counts.sum())
        form, begin, end = words[at].T
        chunk_text = np.searchsorted(starts, chunk_begin, side="right") - 1
        in_text = np.repeat(chunk_begin - starts[chunk_text], counts)
        ends = _find_ends(traits[rows], is_break)
        return Words(
            text=chunk_text[ends],
            begin=in_text + begin,
            end=in_text + end,
            form=form,
            offsets=np.concatenate(([0], last[ends])),
        )

    def _add(self, chunk: str) -> int:
        """Cut a chunk that is new, and return its row."""
        words = []
        for match in _WORD.finditer(chunk):
            form = match.group()
            row = self._form_of.setdefault(form, len(self.forms))
            if row == len(self.forms):
                self.forms.append(form)
            words.append((row, *match.span()))
        return self._chunks.add(chunk, words)


class _Chunks:
    """What is known of each different chunk: its words, whether a sentence may end behind it, or not begin with it."""

    def __init__(self) -> None:
        self.row_of: dict[str, int] = {}
        self._words: list[tuple[int, int, int]] = []  # form, begin and end in the chunk: those not in arrays yet
        self._firsts: list[int] = []
        self._traits: list[tuple[bool, bool]] = []
        self._arrays = np.zeros((0, 3), np.int64), np.zeros(1, np.int64), np.zeros((0, 2), np.bool_)

    def add(self, chunk: str, words: Sequence[tuple[int, int, int]]) -> int:
        """Add a chunk and return its row."""
        self._words.extend(words)
        self._firsts.append(len(self._arrays[0]) + len(self._words))
        self._traits.append((may_end_sentence(chunk), begins_lower(chunk)))
        return self.row_of.setdefault(chunk, len(self.row_of))

    def to_arrays(self) -> tuple[Int64, Int64, Bools]:
        """Return the words of all chunks end to end, where those of each begin (one more), and both traits."""
        if self._firsts:
            new = np.array(self._words, np.int64).reshape(-1, 3), np.array(self._firsts), np.array(self._traits)
            words, first, traits = (np.concatenate(pair) for pair in zip(self._arrays, new, strict=True))
            self._arrays = words, first, traits
            self._words, self._firsts, self._traits = [], [], []
        return self._arrays


def may_end_sentence(chunk: str) -> bool:
    """Tell whether a sentence may end behind a chunk."""
    return _END.search(chunk) is not None and _NO_END.match(chunk) is None


def begins_lower(chunk: str) -> bool:
    """Tell whether a chunk begins in lower case, so that no sentence begins with it."""
    return chunk[0].islower()


def _find_chunks(text: str) -> tuple[Int64, Bools]:
    """Return where each chunk begins, and whether a blank line stands before it."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    is_space = _IS_SPACE[np.minimum(codes, len(_IS_SPACE) - 1)]
    begins = np.flatnonzero(~is_space & np.append(True, is_space)[:-1])
    lines = np.cumsum(codes == _NEWLINE)[begins]
    return begins, np.diff(lines, prepend=0) > 1


def _find_ends(traits: Bools, is_break: Bools) -> Int64:
    """Return the last chunk of each sentence."""
    if not len(traits):
        return np.zeros(0, np.int64)
    may_end, is_lower = traits.T
    ends = (may_end[:-1] & ~is_lower[1:]) | is_break[1:]
    return np.flatnonzero(np.append(ends, True))
