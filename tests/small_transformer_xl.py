"""Small Transformer-XLs of SiPE in every configuration, and rows for them."""

from __future__ import annotations

import small_sipe
from small_sipe import VOCABULARY, WIDTH, Batch, randomize

from lisdata.models import build_model
from lisdata.models.sipe_config import INJECTIONS
from lisdata.models.transformer_xl import TransformerXl

LENGTH = 7
IN_LAYERS = [name for name, parts in INJECTIONS.items() if parts - {"input"}]
WITH_TAGS = [name for name in INJECTIONS if name != "none"]

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
    return randomize(build_tiny(**config))


def draw_batch(seed: int, num_rows: int = 2, length: int = LENGTH, num_documents: int = 1) -> Batch:
    batch = small_sipe.draw_batch(seed, num_rows, length, num_documents)
    del batch["deprel"]
    return batch


def name_of(config: dict[str, object]) -> str:
    return " ".join(map(str, config.values()))
