"""Small encoders of SiPE in every configuration, and rows for them."""

from __future__ import annotations

import small_sipe
import torch
from small_sipe import NUM_DEPRELS, VOCABULARY, WIDTH, Batch, randomize

from lisdata.models import MODELS, build_model
from lisdata.models.encoder import Encoder

LENGTH, MASK = 9, 8
ENCODERS = [name for name, entry in MODELS.items() if entry.is_masked]
OWN = {
    "sipe-roberta": {"max_positions": LENGTH},
    "sipe-deberta": {"num_buckets": 4, "max_offset": 6},
    "sipe-modernbert": {"local_window": 4, "global_every": 2, "global_base": 50.0, "local_base": 7.0},
}
T_NT_DR, NT_DR = "terminal+nonterminal+deprel", "nonterminal+deprel"
Config = dict[str, object]


def injections(name: str) -> tuple[str, ...]:
    return MODELS[name].load_config_class().injections


CASES = [(name, injection) for name in ENCODERS for injection in injections(name)]
IN_LAYERS = [(name, injection) for name, injection in CASES if injection not in ("none", "input")]
CLEAN_INPUT = [(name, injection) for name, injection in IN_LAYERS if "input" not in injection]
WITH_POSITION = [(name, injection) for name, injection in CASES if "position" in injection]
CONFIGS: list[tuple[str, Config]] = [
    *((name, {"injection": injection}) for name, injection in CASES),
    *((name, {"injection": injection, "sharing": "shared"}) for name, injection in IN_LAYERS),
    *((name, {"injection": injection, "first_layer": 2}) for name, injection in IN_LAYERS),
    *(
        (name, {"injection": injection, "target": t})
        for name, injection in WITH_POSITION
        for t in ("d_model", "d_head")
    ),
    *((name, {"injection": "attention", "separate_projections": True}) for name in ENCODERS),
    *(
        (name, {"injection": "input", "fusion": fusion, "alpha": 0.3})
        for name in ENCODERS
        for fusion in ("concat", "residual", "alpha")
    ),
    *(
        (name, {"injection": "input", "fusion": fusion, "tag_tables": tables})
        for name in ENCODERS
        for fusion, tables in (("add", T_NT_DR), ("add", NT_DR), ("concat", T_NT_DR), ("concat", NT_DR))
    ),
    ("sipe-roberta", {"injection": "input", "fusion": "alpha", "tag_tables": NT_DR}),
    ("sipe-roberta", {"injection": "input+attention", "tag_tables": T_NT_DR}),
    ("sipe-deberta", {"injection": "position", "tag_tables": NT_DR}),
    ("sipe-modernbert", {"injection": "position+attention", "tag_tables": T_NT_DR}),
    ("sipe-deberta", {"injection": "position", "agreement_scale": "d_model"}),
    ("sipe-deberta", {"injection": "position", "p2c_offset": "j-i"}),
    ("sipe-modernbert", {"injection": "position", "sharing": "shared", "first_layer": 2, "target": "d_model"}),
]


def build_tiny(name: str, *, seed: int = 0, **config: object) -> Encoder:
    sizes = {"vocabulary_size": VOCABULARY, "width": WIDTH, "num_layers": 2, "num_attention_heads": 2}
    sizes |= {"mlp_width": 6, "mask_id": MASK, "num_deprels": NUM_DEPRELS}
    model = build_model(name, seed=seed, **(sizes | OWN[name] | config))
    assert isinstance(model, Encoder)
    return model.eval()


def build_random(name: str, **config: object) -> Encoder:
    return randomize(build_tiny(name, **config))


def draw_batch(seed: int, num_rows: int = 2, length: int = LENGTH, num_documents: int = 1) -> Batch:
    return small_sipe.draw_batch(seed, num_rows, length, num_documents)


def untagged(batch: Batch) -> Batch:
    return batch | {name: torch.full_like(batch[name], -100) for name in ("terminal", "nonterminal", "deprel")}


def name_of(value: object) -> str:
    return " ".join(map(str, value.values())) if isinstance(value, dict) else str(value)
