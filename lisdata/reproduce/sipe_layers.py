"""SiPE Fig. 3: a decoder whose layers from the kth on take tags in their position term, for several k.

The paper has one seed of each and a curve that is not monotone: here every point has a spread over seeds, and the
joint bound, which does not profit from tags that tell of words to come.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lisdata.plots import SweepPanel, plot_layer_sweep
from lisdata.reproduce.context_growth import Spread
from lisdata.reproduce.runner import JsonDict
from lisdata.reproduce.sipe_decoders import DecoderStudy
from lisdata.reproduce.sipe_report import Layout, Published, Row, list_rows, write_table
from lisdata.reproduce.sipe_settings import SCALES, SipeScale, SipeVariant

PAPER_LAYERS = 16
# word perplexity, SyntaxGym: without tags, and by k, read off the figure to about 0.1
PAPER_NONE = (18.63, 73.09)
PAPER_FIGURE = {
    1: (16.95, 80.6),
    2: (16.44, 73.5),
    4: (16.31, 77.6),
    6: (16.63, 74.2),
    8: (16.08, 72.1),
    10: (16.93, 70.1),
    12: (16.48, 72.9),
    14: (16.31, 67.8),
}
FIRST_LAYERS = tuple(range(1, PAPER_LAYERS + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class LayersScale(SipeScale):
    """A `SipeScale`, and the layers k, counted from 1, from which on tags enter."""

    first_layers: tuple[int, ...]

    def __post_init__(self) -> None:
        super(LayersScale, self).__post_init__()  # slots make another class, which a bare super() cannot see
        if not self.first_layers or not set(self.first_layers) <= set(range(1, self.num_layers + 1)):
            raise ValueError(f"expected {self.first_layers=} within 1..{self.num_layers}")


def _name(first_layer: int) -> str:
    return f"from-{first_layer}"


VARIANTS: dict[str, SipeVariant] = {
    "none": SipeVariant(),
    **{
        _name(k): SipeVariant(injection="position", regime="full", readings=("full", "none"), model={"first_layer": k})
        for k in FIRST_LAYERS
    },
}


def variants_at(scale: LayersScale) -> tuple[str, ...]:
    """Return the model without tags, and one for each of the scale's first layers."""
    return ("none", *map(_name, sorted(scale.first_layers)))


def _scale(base: str, first_layers: tuple[int, ...], **changes: Any) -> LayersScale:
    return LayersScale(**(asdict(SCALES[base]) | changes | {"first_layers": first_layers}))


LAYERS_SCALES = {
    "reduced": _scale("reduced", (1, 2, 3, 4, 5, 6), width=96, num_layers=6, num_steps=1200, evaluate_every=300),
    "larger": _scale("larger", (1, 2, 3, 4)),
    "paper": _scale("paper", tuple(PAPER_FIGURE)),
}

PUBLISHED: Published = {
    ("none", "none"): (*PAPER_NONE[:1], 75.30, *PAPER_NONE[1:]),
    **{(_name(k), "full"): (perplexity, None, syntaxgym) for k, (perplexity, syntaxgym) in PAPER_FIGURE.items()},
}
TITLE = "SiPE decoders whose layers from k on take tags in the position term (from-k; Fig. 3)."


def write_layers(runs: list[JsonDict], scale: LayersScale, directory: Path) -> str:
    """Write the table of the runs, in it the paper's figures at the paper's depth; table.png is the curve against k."""
    is_as_deep = scale.num_layers == PAPER_LAYERS
    published = {key: row for key, row in PUBLISHED.items() if is_as_deep or key[0] == "none"}
    text = write_table(runs, scale, directory, layout=Layout(title=TITLE, published=published))
    rows = {row.key: row for row in list_rows(runs, directory)}
    if ("none", "none") not in rows:
        return text
    base, depth = rows["none", "none"], scale.num_layers
    found = {k: rows[_name(k), "full"] for k in sorted(scale.first_layers) if (_name(k), "full") in rows}
    panels = []
    for part, (label, figure) in enumerate(_FIGURES.items()):
        spreads = {(k - 1) / depth: spread for k, row in found.items() if (spread := _beyond(row, base, figure))}
        points = {place: (spread.mean, spread.deviation) for place, spread in spreads.items()}
        paper = {(k - 1) / PAPER_LAYERS: _PAPER_BEYOND[part](row[part]) for k, row in PAPER_FIGURE.items()}
        panels.append(SweepPanel(label=label, points=points, published=paper))
    plot_layer_sweep(panels, directory / "table.png")
    return text


def _nats_a_word(figures: JsonDict) -> float:
    return float(figures["nll"] / figures["num_words"])


def _syntaxgym(figures: JsonDict) -> float:
    return 100 * float(figures["syntaxgym"])


_FIGURES: dict[str, Callable[[JsonDict], float]] = {
    "nats a word beyond no tags (whole parse)": _nats_a_word,
    "SyntaxGym points beyond no tags": _syntaxgym,
}
_PAPER_BEYOND: tuple[Callable[[float], float], ...] = (
    lambda perplexity: math.log(perplexity / PAPER_NONE[0]),
    lambda points: points - PAPER_NONE[1],
)


def _beyond(row: Row, base: Row, figure: Callable[[JsonDict], float]) -> Spread | None:
    """Return the spread over seeds that both have of a figure's difference; None where there are none."""
    by_seed = [{run["seed"]: figure(run["readings"][of.reading]) for run in of.runs} for of in (row, base)]
    seeds = by_seed[0].keys() & by_seed[1].keys()
    return Spread.of([by_seed[0][seed] - by_seed[1][seed] for seed in sorted(seeds)]) if seeds else None


STUDY = DecoderStudy(
    name="sipe-layers", variants=VARIANTS, scales=LAYERS_SCALES, report=write_layers, variants_at=variants_at
)
EXPERIMENT = STUDY.experiment()
