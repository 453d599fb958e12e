"""Settings that all of SiPE's models have: their size, and how hexatags enter them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from lisdata.models.transformer import ACTIVATIONS

INJECTIONS: dict[str, frozenset[str]] = {
    "none": frozenset(),
    "input": frozenset({"input"}),
    "position": frozenset({"position"}),
    "disentangled": frozenset({"disentangled"}),
    "attention": frozenset({"attention"}),
    "input+attention": frozenset({"input", "attention"}),
    "position+attention": frozenset({"position", "attention"}),
}
FUSIONS = ("add", "concat", "residual", "alpha")
HEXATAG_SIZES = {"terminal": 2, "nonterminal": 5}
TAG_TABLES: dict[str, tuple[str, ...]] = {
    "terminal+nonterminal": ("terminal", "nonterminal"),
    "terminal+nonterminal+deprel": ("terminal", "nonterminal", "deprel"),
    "nonterminal+deprel": ("nonterminal", "deprel"),
}
_SIZES = ("vocabulary_size", "width", "num_layers", "num_attention_heads", "mlp_width", "num_deprels")


@dataclass(frozen=True, slots=True, kw_only=True)
class SipeConfig:
    """Size of a model and how hexatags enter it.

    `mlp_width` is the model's own multiple of `width` unless given: a wider one makes a model without injection as
    large as one with projections of tags in every layer.

    The layers from `first_layer` on (1 is all) take the injection, through projections "shared" by them or
    "per-layer". What acts on the position term has the `target` "d_model", a vector for each attention head, or
    "d_head", one for all of them. `agreement_scale` says whose root divides c. `separate_projections`: W_K and W_V of
    each tag table's own (appendix A.4). `projection_std` is that of the initial projections of tags; 0 begins with the
    base model exactly. `fusion` and, at first, `alpha` are those of `InputFusion`. `tag_tables` is what a tag
    vector is the sum of; with dependency relations there are `num_deprels` of them. `predicts_tags` adds two linear
    outputs for terminals and nonterminals.
    """

    injections: ClassVar[tuple[str, ...]] = tuple(INJECTIONS)

    vocabulary_size: int
    width: int = 256
    num_layers: int = 4
    num_attention_heads: int = 8
    mlp_width: int | None = None
    activation: str = "gelu"
    dropout: float = 0.0
    injection: str = "none"
    sharing: str = "per-layer"
    target: str = "d_model"
    first_layer: int = 1
    fusion: str = "add"
    alpha: float = 0.5
    tag_tables: str = "terminal+nonterminal"
    num_deprels: int = 40
    agreement_scale: str = "d_head"
    separate_projections: bool = False
    projection_std: float = 1e-3
    predicts_tags: bool = False

    def __post_init__(self) -> None:
        for name in _SIZES:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}={value} is not a positive number")
        if self.width % 2 or self.width % self.num_attention_heads:
            raise ValueError(f"{self.width=} is not even or does not split into {self.num_attention_heads} heads")
        self._check_choice("activation", ACTIVATIONS)
        self._check_choice("injection", self.injections)
        self._check_choice("sharing", ("shared", "per-layer"))
        self._check_choice("target", ("d_model", "d_head"))
        self._check_choice("fusion", FUSIONS)
        self._check_choice("agreement_scale", ("d_head", "d_model"))
        self._check_choice("tag_tables", TAG_TABLES)
        if not 0 <= self.dropout < 1:
            raise ValueError(f"{self.dropout=} is outside [0, 1)")
        if self.projection_std < 0:
            raise ValueError(f"{self.projection_std=} is negative")
        if not 1 <= self.first_layer <= self.num_layers:
            raise ValueError(f"{self.first_layer=} is outside 1..{self.num_layers}")
        if self.first_layer > 1 and not self.injection_in_layers:
            raise ValueError(f"{self.first_layer=} means nothing where {self.injection=} enters no layer")
        if self.fusion != "add" and "input" not in INJECTIONS[self.injection]:
            raise ValueError(f"{self.fusion=} means nothing where {self.injection=} does not enter the input")
        if self.separate_projections and set(self.table_sizes) != set(HEXATAG_SIZES):
            raise ValueError(f"{self.separate_projections=} is for the tables {', '.join(HEXATAG_SIZES)}")

    def _check_choice(self, name: str, choices: Iterable[str]) -> None:
        if getattr(self, name) not in choices:
            raise ValueError(f"{name}={getattr(self, name)!r} is none of {', '.join(choices)}")

    @property
    def d_head(self) -> int:
        """The width of an attention head."""
        return self.width // self.num_attention_heads

    @property
    def table_sizes(self) -> dict[str, int]:
        """The rows of each tag table, by the column of a batch that numbers them."""
        sizes = HEXATAG_SIZES | {"deprel": self.num_deprels}
        return {name: sizes[name] for name in TAG_TABLES[self.tag_tables]}

    @property
    def injection_in_layers(self) -> frozenset[str]:
        """The parts of the injection that enter within the layers."""
        return INJECTIONS[self.injection] - {"input"}
