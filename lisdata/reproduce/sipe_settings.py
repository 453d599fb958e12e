"""What is run for SiPE's Table 2: sizes and schedules, and the variants with the tags that each is trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lisdata.evaluation.prefix_rows import PREFIX_FORMS
from lisdata.reproduce.runner import JsonDict


@dataclass(frozen=True, slots=True, kw_only=True)
class SipeScale:
    """Size of the models, their training and what they are measured on; names of files without .txt are authors' books.

    A step reads `batch_size` packs of `length` tokens, sentences that do not see each other. `withhold` is the share of
    given nonterminals that a model trained on whole parses has to do without. Sentences for validation and test are
    spread evenly over those books; of BLiMP's paradigms the first `blimp_pairs` pairs are taken, or all.
    """

    width: int
    num_layers: int
    num_attention_heads: int
    length: int
    batch_size: int
    num_steps: int
    learning_rate: float
    num_warmup_steps: int
    vocabulary_size: int
    evaluate_every: int
    num_valid: int
    num_test: int
    blimp_pairs: int | None
    weight_decay: float = 0.1
    clip_norm: float = 1.0
    dropout: float = 0.0
    norm: str = "pre"
    precision: str = "fp32"
    withhold: float = 0.1
    checkpoint_every: int = 100
    parser: str = "tagger"
    valid_files: tuple[str, ...] = ("moby_dick_or_the_whale",)
    test_files: tuple[str, ...] = ("middlemarch",)

    def __post_init__(self) -> None:
        if set(self.valid_files) & set(self.test_files):
            raise ValueError(f"expected other {self.valid_files=} than {self.test_files=}")
        if min(self.num_valid, self.num_test) < 1:
            raise ValueError(f"expected sentences to measure on, got {self.num_valid=}, {self.num_test=}")


SCALES: dict[str, SipeScale] = {
    "reduced": SipeScale(
        width=128,
        num_layers=3,
        num_attention_heads=4,
        length=128,
        batch_size=16,
        num_steps=2400,
        learning_rate=1.5e-3,
        num_warmup_steps=100,
        vocabulary_size=4096,
        evaluate_every=400,
        num_valid=400,
        num_test=1000,
        blimp_pairs=50,
    ),
    "larger": SipeScale(
        width=256,
        num_layers=4,
        num_attention_heads=8,
        length=256,
        batch_size=8,
        num_steps=5000,
        learning_rate=1e-3,
        num_warmup_steps=200,
        vocabulary_size=4096,
        evaluate_every=500,
        num_valid=400,
        num_test=1000,
        blimp_pairs=100,
    ),
    "paper": SipeScale(
        width=1024,
        num_layers=16,
        num_attention_heads=8,
        length=256,
        batch_size=64,
        num_steps=100_000,
        learning_rate=1.5e-4,
        num_warmup_steps=8000,
        vocabulary_size=32_768,
        evaluate_every=2000,
        num_valid=2000,
        num_test=4000,
        blimp_pairs=None,
        weight_decay=0.0,
        clip_norm=3.0,
        dropout=0.1,
        norm="post",
        withhold=0.0,
    ),
}
"""All three train on the same books: the paper's corpus is not free."""

GIVEN = ("full", "eos-bit", "terminal-only", "nonterminal-only", "shuffled", "none", "prefix")


@dataclass(frozen=True, slots=True, kw_only=True)
class SipeVariant:
    """A model and the tags it learns with.

    `regime` is one of `lisdata.training.TAG_REGIMES`; with `is_frozen` the tags are those of an incremental parser (see
    `lisdata.encoding.frozen_tags`). `readings` are the tags it is measured under: regimes and `PREFIX_FORMS`, the first
    the one it is validated on. `model` has further settings of the model.
    """

    injection: str = "none"
    regime: str = "none"
    readings: tuple[str, ...] = ("none",)
    is_frozen: bool = False
    is_wide: bool = False
    model: Mapping[str, Any] = field(default_factory=dict)
    predicts_tags: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "predicts_tags", self.regime not in ("none", "injection-only"))

    @property
    def needs_prefixes(self) -> bool:
        """Whether it is trained on, or measured under, tags of what was read."""
        return self.is_frozen or any(reading in PREFIX_FORMS for reading in self.readings)

    def model_settings(self, scale: SipeScale) -> dict[str, Any]:
        """Return the settings of the model, but for its vocabulary."""
        settings: JsonDict = {name: getattr(scale, name) for name in ("width", "num_layers", "num_attention_heads")}
        settings |= {"dropout": scale.dropout, "norm": scale.norm, "injection": self.injection}
        if self.is_wide:
            settings["mlp_width"] = 4 * scale.width + scale.width // 2
        return settings | {"predicts_tags": self.predicts_tags, **self.model}

    def withhold(self, scale: SipeScale) -> float:
        """Return the share of given nonterminals to withhold: where the tags of whole sentences are given."""
        return scale.withhold if self.injection != "none" and self.regime == "full" and not self.is_frozen else 0.0


VARIANTS: dict[str, SipeVariant] = {
    "none": SipeVariant(),
    "none-wide": SipeVariant(is_wide=True),
    "losses-only": SipeVariant(regime="losses-only"),
    "position": SipeVariant(injection="position", regime="full", readings=GIVEN),
    "position-shuffled": SipeVariant(injection="position", regime="shuffled", readings=("shuffled", "none")),
    "position-prefix": SipeVariant(
        injection="position", regime="full", readings=("frozen", "prefix-moved", "none"), is_frozen=True
    ),
    "input": SipeVariant(injection="input", regime="full", readings=GIVEN),
    "input-prefix": SipeVariant(
        injection="input", regime="full", readings=("frozen", "prefix-moved", "none"), is_frozen=True
    ),
    "position-injection-only": SipeVariant(
        injection="position", regime="injection-only", readings=("full", "prefix", "none")
    ),
    "position-eos-bit": SipeVariant(injection="position", regime="eos-bit", readings=("eos-bit", "none")),
    "position-terminal": SipeVariant(injection="position", regime="terminal-only", readings=("terminal-only", "none")),
    "position-nonterminal": SipeVariant(
        injection="position", regime="nonterminal-only", readings=("nonterminal-only", "none")
    ),
}
"""The tag losses of a regime are for the tags that it gives."""
