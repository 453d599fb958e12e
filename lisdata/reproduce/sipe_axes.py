"""SiPE Tables 7 and 8, and what Table 2 has beside them: how tags enter a decoder, through which projections.

The tag of a key meets the query through projections that all layers share or each has its own ("sharing"), to a vector
for each attention head or one for all ("target"), times the position term or beside it; or tags enter by attention
biases, by the input, or by two ways at once. The models learn with the tags of whole parses, as the paper's do.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from lisdata.reproduce.sipe_decoders import DecoderStudy
from lisdata.reproduce.sipe_report import Layout, Published, write_table
from lisdata.reproduce.sipe_settings import SCALES, SipeVariant

READINGS = ("full", "none")


def _variant(injection: str, sharing: str = "per-layer", target: str = "d_model") -> SipeVariant:
    settings = {"sharing": sharing, "target": target}
    return SipeVariant(injection=injection, regime="full", readings=READINGS, model=settings)


VARIANTS: dict[str, SipeVariant] = {
    "none": SipeVariant(),
    "input": _variant("input"),
    **{
        f"{injection}-{sharing}-{target}": _variant(injection, sharing, target)
        for injection in ("position", "disentangled")
        for sharing in ("shared", "per-layer")
        for target in ("d_head", "d_model")
    },
    "attention-shared": _variant("attention", "shared"),
    "attention-per-layer": _variant("attention"),
    "input+attention": _variant("input+attention"),
    "position+attention": _variant("position+attention"),
}

PUBLISHED: Published = {
    ("none", "none"): (18.63, 75.30, 73.09),
    ("input", "full"): (16.16, 73.82, 76.97),
    ("position-shared-d_head", "full"): (None, 73.95, 78.80),
    ("position-per-layer-d_head", "full"): (None, 74.15, 75.84),
    ("position-shared-d_model", "full"): (None, 73.95, 75.09),
    ("position-per-layer-d_model", "full"): (16.95, 74.01, 80.60),
    ("disentangled-shared-d_head", "full"): (None, 74.17, 77.72),
    ("disentangled-shared-d_model", "full"): (None, 75.03, 76.10),
    ("disentangled-per-layer-d_head", "full"): (16.66, 74.72, 78.72),
    ("disentangled-per-layer-d_model", "full"): (None, 73.51, 77.20),
    ("attention-shared", "full"): (16.73, 73.60, 76.35),
    ("attention-per-layer", "full"): (16.24, 74.66, 78.10),
    ("input+attention", "full"): (15.89, 74.16, 78.47),
    ("position+attention", "full"): (16.52, 74.44, 77.97),
}
LAYOUT = Layout(
    title="SiPE decoders by how tags enter them (injection, sharing of projections, target; Tables 2, 7 and 8).",
    published=PUBLISHED,
)
REDUCED = replace(SCALES["reduced"], num_steps=1200, evaluate_every=300)

STUDY = DecoderStudy(
    name="sipe-axes",
    variants=VARIANTS,
    scales=SCALES | {"reduced": REDUCED},
    report=partial(write_table, layout=LAYOUT),
)
EXPERIMENT = STUDY.experiment()
