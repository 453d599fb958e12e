"""Small Transformer-XLs of SiPE in every configuration, and rows for them."""

from __future__ import annotations

import torch
from torch import Tensor

from lisdata.models import build_model
from lisdata.models.sipe_config import INJECTIONS
from lisdata.models.transformer_xl import TransformerXl

VOCABULARY, WIDTH, LENGTH = 9, 8, 7
IN_LAYERS = [name for name, parts in INJECTIONS.items() if parts - {"input"}]
WITH_TAGS = [name for name in INJECTIONS if name != "none"]
Batch = dict[str, Tensor]

CONFIGS = [
    *({"injection": name, "norm": norm} for name in INJECTIONS for norm in ("post", "pre")),
    *({"injection": name, "target": "d_head"} for name in ("position", "disentangled", "position+attention")),
    *({"injection": name, "sharing": "shared"} for name in IN_LAYERS),
    *({"injection": name, "agreement_scale": "d_model"} for name in ("position", "disentangled")),
    *({"injection": name, "first_layer": 2} for name in IN_LAYERS),
    *({"injection": name, "separate_projections": True} for name in ("attention", "position+attention")),
    *({"injection": "input", "fusion": fusion, "alpha": 0.3} for fusion in ("concat", "residual", "alpha")),
    {"injection": "input", "fusion": "residual", "norm": "pre"},
    {"injection": "input+attention", "fusion": "residual"},
    {"injection": "position", "first_layer": 2, "sharing": "shared", "target": "d_head"},
    {"injection": "position", "untie_biases": True, "mlp_width": 5},
]


def build_tiny(*, seed: int = 0, **config: object) -> TransformerXl:
    sizes = {"vocabulary_size": VOCABULARY, "width": WIDTH, "num_layers": 2, "num_attention_heads": 2}
    model = build_model("sipe-transformer-xl", seed=seed, **(sizes | config))
    assert isinstance(model, TransformerXl)
    return model.eval()


def build_random(**config: object) -> TransformerXl:
    """A model in float64 with all weights of the size of 1, so that every term counts."""
    model, generator = build_tiny(**config).double(), torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5, generator=generator)
    return model


def draw_batch(seed: int, num_rows: int = 2, length: int = LENGTH, num_documents: int = 1) -> Batch:
    """Rows of packed documents; a third of the positions has no tag, a few have one of the two."""
    generator = torch.Generator().manual_seed(seed)

    def draw(low: int, high: int) -> Tensor:
        return torch.randint(low, high, (num_rows, length), generator=generator)

    tag_kind = draw(0, 9)
    return {
        "input_ids": draw(0, VOCABULARY),
        "terminal": draw(0, 2).masked_fill(tag_kind < 4, -100),
        "nonterminal": draw(0, 5).masked_fill((tag_kind < 3) | (tag_kind == 4), -100),
        "document": draw(0, num_documents).sort(1).values,
    }


def logits(model: TransformerXl, batch: Batch) -> Tensor:
    with torch.no_grad():
        found: Tensor = model(**batch)
    return found


def name_of(config: dict[str, object]) -> str:
    return " ".join(map(str, config.values()))
