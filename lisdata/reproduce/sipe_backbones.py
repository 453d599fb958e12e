"""What is run for SiPE's Table 3: backbones, the tags they learn with, their sizes and both stages of training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from lisdata.models import find_model
from lisdata.reproduce.runner import JsonDict
from lisdata.reproduce.sipe_settings import SCALES as DECODER_SCALES
from lisdata.reproduce.sipe_settings import SipeScale

HIDDEN = "hidden"
"""The reading of an encoder whose tags come from a parse in which the masked token cannot be read."""
BACKBONES = {
    "roberta": "sipe-roberta",
    "deberta": "sipe-deberta",
    "modernbert": "sipe-modernbert",
    "transformer-xl": "sipe-transformer-xl",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackboneScale(SipeScale):
    """A `SipeScale` whose models go on training, for `num_continued_steps`, on the books `continued_files`.

    These are kept from the first stage. `mask_rate` is the share of tokens that an encoder is to predict.
    """

    num_continued_steps: int
    continued_files: tuple[str, ...] = ("war_and_peace",)
    mask_rate: float = 0.15

    def __post_init__(self) -> None:
        super(BackboneScale, self).__post_init__()  # slots make another class, which a bare super() cannot see
        if set(self.continued_files) & {*self.valid_files, *self.test_files} or not self.continued_files:
            raise ValueError(f"expected {self.continued_files=} to go on with, other books than are measured on")


def _scale(name: str, **changes: Any) -> BackboneScale:
    return BackboneScale(**(asdict(DECODER_SCALES[name]) | changes))


SCALES: dict[str, BackboneScale] = {
    "reduced": _scale(
        "reduced",
        num_steps=1500,
        num_continued_steps=400,
        evaluate_every=500,
        learning_rate=1e-3,
        blimp_pairs=20,
    ),
    "paper": _scale(
        "paper",
        width=768,
        num_layers=12,
        num_attention_heads=12,
        num_steps=1_000_000,
        learning_rate=6e-4,
        num_warmup_steps=24_000,
        num_continued_steps=100_000,
        batch_size=32,
        length=512,
        evaluate_every=10_000,
        checkpoint_every=1000,
        vocabulary_size=50_265,
        weight_decay=0.01,
        clip_norm=1.0,
    ),
}
"""Both on the books. Of the paper's scale the size of the encoders and the first number of steps are known; the rest is
RoBERTa's, but for the batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackboneVariant:
    """A backbone and the tags it learns with, and, by `readings`, those that it is measured under.

    `regime` is one of `lisdata.training.TAG_REGIMES`. A model that `is_late` is trained without tags first and given
    the injection, at identity, when it goes on.
    """

    backbone: str
    injection: str = "none"
    regime: str = "none"
    readings: tuple[str, ...] = ("none",)
    is_late: bool = False
    is_masked: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_masked", find_model(self.model).is_masked)

    @property
    def model(self) -> str:
        """The backbone's name in the registry."""
        return BACKBONES[self.backbone]

    @property
    def tag_settings(self) -> JsonDict:
        """The settings of a model that come with tags."""
        return {"injection": self.injection, "predicts_tags": self.regime not in ("none", "injection-only")}

    def model_settings(self, scale: BackboneScale) -> JsonDict:
        """Return the settings of the model that is trained first, but for its vocabulary."""
        settings: JsonDict = {name: getattr(scale, name) for name in ("width", "num_layers", "num_attention_heads")}
        settings |= {"dropout": scale.dropout}
        if not self.is_masked:
            settings |= {"norm": scale.norm}
        return settings | ({} if self.is_late else self.tag_settings)


def _variants() -> Iterator[tuple[str, BackboneVariant]]:
    """Yield each backbone without tags and with the injections that the paper gives it, then controls."""
    for backbone, injections in (
        ("roberta", ("input",)),
        ("deberta", ("input", "position")),
        ("modernbert", ("input", "position")),
        ("transformer-xl", ("position", "input")),
    ):
        yield backbone, BackboneVariant(backbone=backbone)
        readings = ("full", "none", "prefix" if backbone == "transformer-xl" else HIDDEN)
        for injection in injections:
            yield (
                f"{backbone}-{injection}",
                BackboneVariant(backbone=backbone, injection=injection, regime="full", readings=readings),
            )
    for backbone, injection in (("roberta", "input"), ("transformer-xl", "position")):
        yield f"{backbone}-losses-only", BackboneVariant(backbone=backbone, regime="losses-only")
        of_control = BackboneVariant(
            backbone=backbone, injection=injection, regime="shuffled", readings=("shuffled", "none")
        )
        yield f"{backbone}-{injection}-shuffled", of_control
        of_late = BackboneVariant(
            backbone=backbone, injection=injection, regime="full", readings=("full", "none"), is_late=True
        )
        yield f"{backbone}-{injection}-late", of_late


VARIANTS: dict[str, BackboneVariant] = dict(_variants())
"""Backbones of the paper first; then models that predict tags and see none, learn with the tags of a sentence in a
random order, or get the injection late."""
