"""Small encoders of SiPE in every configuration, and rows for them."""

from __future__ import annotations

import torch
from torch import Tensor

from lisdata.models import MODELS, build_model
from lisdata.models.encoder import Encoder

VOCABULARY, WIDTH, LENGTH, MASK = 9, 8, 9, 8
ENCODERS = [name for name, entry in MODELS.items() if entry.is_masked]
OWN = {
    "sipe-roberta": {"max_positions": LENGTH},
    "sipe-deberta": {"num_buckets": 4, "max_offset": 6},
    "sipe-modernbert": {"local_window": 4, "global_every": 2, "global_base": 50.0, "local_base": 7.0},
}
T_NT_DR, NT_DR, NUM_DEPRELS = "terminal+nonterminal+deprel", "nonterminal+deprel", 6
Batch = dict[str, Tensor]
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
    """A model in float64 with all weights of the size of 1, so that every term counts."""
    model, generator = build_tiny(name, **config).double(), torch.Generator().manual_seed(1)
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
        "deprel": draw(0, NUM_DEPRELS).masked_fill((tag_kind < 3) | (tag_kind == 5), -100),
    }


def logits(model: Encoder, batch: Batch) -> Tensor:
    with torch.no_grad():
        found: Tensor = model(**batch)
    return found


def untagged(batch: Batch) -> Batch:
    return batch | {name: torch.full_like(batch[name], -100) for name in ("terminal", "nonterminal", "deprel")}


def name_of(value: object) -> str:
    return " ".join(map(str, value.values())) if isinstance(value, dict) else str(value)
