"""What the tables [train] and [evaluate] of a recipe may say beside the settings of the training itself."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from lisdata.recipe import Recipe, recipe_settings

PERPLEXITY, BY_KIND = "perplexity", "loss-by-kind"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSettings:
    """Which batches a model is trained on.

    "windows": random windows of `window` tokens of the whole dataset read as one text, of which the first `split` is
    for training. "loader": the dataset's rows, shuffled; the structures packed in a row see each other ("row": facts
    before text, LIS F.4) or not ("structure"). `tag_regime` says which hexatags a model of SiPE is given and which it
    is to predict; `withhold` is the share of the given nonterminals that it has to do without. `mask_rate` is the share
    of tokens that a model of masked tokens is to predict. `held_out` is the share of a loader's rows that are not
    trained on, and on which alone "loss-by-kind" is then measured.
    """

    data: Literal["windows", "loader"]
    window: int | None = None
    split: float = 0.9
    attend: Literal["structure", "row"] = "structure"
    tag_regime: (
        Literal[
            "none", "losses-only", "injection-only", "full", "eos-bit", "terminal-only", "nonterminal-only", "prefix",
            "shuffled",
        ]
        | None
    ) = None  # fmt: skip
    withhold: float = 0.0
    mask_rate: float = 0.15
    held_out: float = 0.0

    def __post_init__(self) -> None:
        if self.data == "windows" and self.window is None:
            raise ValueError("train: data = windows needs train.window, a number of tokens")
        if self.window is not None and self.window < 1:
            raise ValueError(f"train: expected a window of at least 1 token, got {self.window}")
        if self.tag_regime is not None and self.data == "windows":
            raise ValueError("train: a tag_regime needs data = loader: windows have no tags")
        if not 0 <= self.withhold <= 1 or (self.withhold and self.tag_regime is None):
            raise ValueError(f"train: expected withhold, beside a tag_regime, from 0 to 1, got {self.withhold}")
        if not 0 < self.mask_rate <= 1:
            raise ValueError(f"train: expected a mask_rate above 0 and up to 1, got {self.mask_rate}")
        if not 0 <= self.held_out < 1 or (self.held_out and self.data == "windows"):
            raise ValueError(f"train: expected held_out, with data = loader, from 0 to below 1, got {self.held_out}")
        if not 0 < self.split < 1:
            raise ValueError(f"train: expected a split between 0 and 1, got {self.split}")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateSettings:
    """How the trained models are measured.

    "perplexity": on the part of the text that was not trained on, at each of `context_lengths`, `beside` published
    figures. "loss-by-kind": on the first `max_batches` batches of the dataset, or of the rows of it that are held out,
    before and after training.
    """

    protocol: Literal["perplexity", "loss-by-kind"]
    context_lengths: tuple[int, ...] = ()
    batch_size: int = 16
    max_windows: int | None = None
    max_batches: int = 64
    beside: Literal["LIS Table 3"] | None = None

    def __post_init__(self) -> None:
        for name in ("batch_size", "max_windows", "max_batches"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"evaluate: expected {name} of at least 1, got {value}")
        lengths = self.context_lengths
        if self.protocol == PERPLEXITY and not lengths:
            raise ValueError("evaluate: protocol = perplexity needs evaluate.context_lengths, numbers of tokens")
        if lengths and (min(lengths) < 1 or any(max(lengths) % length for length in lengths)):
            raise ValueError(
                f"evaluate: expected context_lengths of at least 1 that divide the longest, got {list(lengths)}"
            )


DATA_KEYS = tuple(field.name for field in fields(DataSettings))


def data_settings(recipe: Recipe) -> DataSettings:
    """Return what `[train]` says of the data; raise RecipeError for what it cannot say."""
    values = {name: value for name, value in recipe.train.items() if name in DATA_KEYS}
    return recipe_settings(DataSettings, values, "train", recipe.path)


def evaluate_settings(recipe: Recipe) -> EvaluateSettings:
    """Return what `[evaluate]` says; raise RecipeError for what it cannot say."""
    return recipe_settings(EvaluateSettings, recipe.evaluate, "evaluate", recipe.path)
