"""What the network sees of a word's form: rows of hashed tables, so that no form is unknown and no vocabulary kept."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import xxhash

Int32 = npt.NDArray[np.int32]

NUM_FEATURES = 5
_AFFIX = 3
_LONGEST_RUN, _LONGEST_SHAPE = 4, 12


def hash_forms(forms: Iterable[str], num_rows: int) -> Int32:
    """Return five rows (from 0 to `num_rows` - 1) of each form, (N, 5) int32.

    They are those of the lower-cased form by two hashes (two forms that share one row hardly share the other), of its
    first three and last three characters, and of its shape.
    """
    rows = [_rows_of(form, num_rows) for form in forms]
    return np.array(rows, np.int32).reshape(-1, NUM_FEATURES)


def shape_of(form: str) -> str:
    """Return the form's kinds of characters, X x d or themselves, runs cut to four: Xxxxx for "Hundred"."""
    shape = ""
    for character in form:
        kind = "d" if character.isdigit() else "X" if character.isupper() else "x" if character.isalpha() else character
        if not shape.endswith(kind * _LONGEST_RUN):
            shape += kind
        if len(shape) == _LONGEST_SHAPE:
            break
    return shape


def _rows_of(form: str, num_rows: int) -> list[int]:
    lower = form.lower()
    texts = lower, lower, lower[:_AFFIX], lower[-_AFFIX:], shape_of(form)
    return [
        xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"), seed) % num_rows
        for seed, text in enumerate(texts)
    ]
