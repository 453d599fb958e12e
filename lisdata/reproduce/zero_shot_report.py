"""What LIS Tables 6 and 7 published, and the tables that ours are written as."""

from __future__ import annotations

from collections.abc import Sequence

from lisdata.diagnostics.chains import NAME_SETS
from lisdata.diagnostics.windows import KINDS
from lisdata.evaluation.entity_spelling import READINGS
from lisdata.reproduce.spelling_report import Key, Published, SpellingTable

AGGREGATE = "mean"

# table -> (name set, kind) -> serialized and LIS: (h@1, h@5, perplexity), from facts to text
_KG_TO_TEXT: dict[int, dict[tuple[str, str], tuple[Published, Published]]] = {
    6: {
        ("train", "base_2ary"): ((0.002, 0.130, 5.38), (0.951, 1.000, 1.08)),
        ("test", "base_2ary"): ((0.000, 0.000, 577), (0.182, 0.397, 6.44)),
        ("train", "base_3ary"): ((0.001, 0.107, 5.39), (0.970, 1.000, 1.06)),
        ("test", "base_3ary"): ((0.000, 0.000, 515), (0.185, 0.413, 6.44)),
        ("train", "derived"): ((0.003, 0.140, 5.29), (0.912, 1.000, 1.10)),
        ("test", "derived"): ((0.000, 0.000, 544), (0.165, 0.385, 6.80)),
        ("train", AGGREGATE): ((None, 0.126, 5.36), (None, 1.000, 1.08)),
        ("test", AGGREGATE): ((None, 0.000, 545), (None, 0.398, 6.56)),
    },
    7: {
        ("train", "base_2ary"): ((0.000, 0.097, 5.50), (0.927, 1.000, 1.14)),
        ("test", "base_2ary"): ((0.000, 0.000, 516), (0.148, 0.310, 10.37)),
        ("train", "base_3ary"): ((0.000, 0.090, 5.46), (0.928, 0.999, 1.14)),
        ("test", "base_3ary"): ((0.000, 0.000, 517), (0.143, 0.307, 10.34)),
        ("train", "derived"): ((0.000, 0.080, 5.33), (0.919, 0.999, 1.16)),
        ("test", "derived"): ((0.000, 0.000, 506), (0.115, 0.287, 12.97)),
        ("train", AGGREGATE): ((None, 0.089, None), (None, 0.999, None)),
        ("test", AGGREGATE): ((None, 0.000, None), (None, 0.301, None)),
    },
}
_TEXT_TO_KG: dict[int, dict[tuple[str, str], tuple[Published, Published]]] = {
    6: {},
    7: {
        ("train", AGGREGATE): ((None, 0.088, None), (None, 0.995, None)),
        ("test", AGGREGATE): ((None, 0.000, None), (None, 0.360, None)),
    },
}


def published_figures(table: int) -> dict[Key, dict[str, Published]]:
    """Return what the paper's table says, by direction, name set and kind of fact, and by variant."""
    return {
        (direction, *key): {"serialized": serialized, "LIS": lis}
        for direction, by_key in (("kg-text", _KG_TO_TEXT[table]), ("text-kg", _TEXT_TO_KG[table]))
        for key, (serialized, lis) in by_key.items()
    }


def zero_shot_table(table: int, directions: Sequence[str]) -> SpellingTable:
    """Return how Table 6 or 7 is written."""
    rows: list[Key] = [(direction, names, kind) for direction in directions for kind in KINDS for names in NAME_SETS]
    return SpellingTable(
        format=f"lisdata table {table} 1",
        title="Names spelled in the sentence (kg-text) or the fact (text-kg) that comes last",
        columns=("direction", "names", "facts"),
        rows=rows,
        means={
            (direction, names, AGGREGATE): [(direction, names, kind) for kind in KINDS]
            for direction in directions
            for names in NAME_SETS
        },
        readings=READINGS,
        published=published_figures(table),
        published_reading="last",
        plotted={key: f"{key[0]}\n{key[2]}\n{key[1]}" for key in rows if key[1] != "dev"},
        plotted_what="char_top_5_exact",
    )
