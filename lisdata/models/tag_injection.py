"""Hexatags on their way into a model: into its input and, projected, into the attention of each layer.

The attention of a layer takes tags in at most four ways, each a linear map of the tag vector e_j of the key:

    multiplied    c for (1 + c) times the position's score              (SiPE Eqs. 6 and 12)
    added         c as a term of its own                                (Eq. 7)
    phase         angles by which queries and keys are turned further   (Eq. 13)
    key, value    W_K e_j and W_V e_j                                   (Eqs. 8 and 9).
"""

from typing import NamedTuple

from torch import Tensor, nn

from lisdata.models.sipe_config import INJECTIONS, SipeConfig
from lisdata.models.sipe_tags import InputFusion, TagProjection, TagTables, mark_rows


class Predictions(NamedTuple):
    """Logits of a token (..., V), its terminal (..., 2) and its nonterminal (..., 5)."""

    token: Tensor
    terminal: Tensor
    nonterminal: Tensor


class LayerTags(NamedTuple):
    """The tags as the attention of a layer takes them.

    `marks` (B, T, R) are those of `mark_rows`, where R is 7 without dependency relations; the others are projected rows
    of the tag tables, (H, 1, R, d_head), with H = 1 where all attention heads share them; of `phase`,
    (H, 1, R, d_head / 2).
    """

    marks: Tensor
    multiplied: Tensor | None = None
    added: Tensor | None = None
    phase: Tensor | None = None
    key: Tensor | None = None
    value: Tensor | None = None


class LayerProjections(nn.Module):
    """W_E, W_K and W_V of one layer or of all, as far as the injection has them; with `phases`, W_delta for W_E."""

    def __init__(self, config: SipeConfig, *, phases: bool = False) -> None:
        super().__init__()
        injection, width, std = config.injection_in_layers, config.width, config.projection_std
        self.num_attention_heads = config.num_attention_heads
        self.agrees_as = "phase" if phases else "multiplied" if "position" in injection else "added"
        self.scale = 1.0 if config.agreement_scale == "d_head" else (config.d_head / width) ** 0.5
        self.is_shared_by_heads = config.target == "d_head"
        self.agreement = self.key = self.value = None
        if injection & {"position", "disentangled"}:
            num_outputs = config.d_head if self.is_shared_by_heads else width
            self.agreement = TagProjection(width, num_outputs // 2 if phases else num_outputs, std=std)
        if "attention" in injection:
            self.key = TagProjection(width, width, std=std, separate=config.separate_projections)
            self.value = TagProjection(width, width, std=std, separate=config.separate_projections)

    def forward(self, marks: Tensor, rows: Tensor) -> LayerTags:
        """Return the marks with the projections of the rows (R, D) of the tag tables."""
        found = {}
        if self.agreement is not None:
            num_heads = 1 if self.is_shared_by_heads else self.num_attention_heads
            found[self.agrees_as] = _split_heads(self.agreement(rows) * self.scale, num_heads)
        if self.key is not None and self.value is not None:
            found["key"] = _split_heads(self.key(rows), self.num_attention_heads)
            found["value"] = _split_heads(self.value(rows), self.num_attention_heads)
        return LayerTags(marks, **found)


class Injected(NamedTuple):
    """What the first layer reads, what its skip branch is added, if anything, and the tags of each layer, if any."""

    embedded: Tensor
    skip: Tensor | None
    layers: list[LayerTags | None]


class TagInjection(nn.Module):
    """The tag tables of a model, their fusion with the input and their projections; nothing without an injection."""

    def __init__(self, config: SipeConfig, *, phases: bool = False) -> None:
        super().__init__()
        self.injection = config.injection
        self.num_layers = config.num_layers
        self.sizes = config.table_sizes
        parts, sizes = INJECTIONS[config.injection], list(self.sizes.values())
        self.tables = TagTables(config.width, self.sizes) if parts else None
        self.fusion = (
            InputFusion(config.width, config.fusion, alpha=config.alpha, sizes=sizes) if "input" in parts else None
        )
        num_injected = config.num_layers - config.first_layer + 1 if config.injection_in_layers else 0
        self.num_repeats = num_injected if config.sharing == "shared" else 1
        num_projections = min(num_injected, 1) if config.sharing == "shared" else num_injected
        self.projections = nn.ModuleList(LayerProjections(config, phases=phases) for _ in range(num_projections))

    def forward(
        self,
        embedded: Tensor,
        terminal: Tensor | None,
        nonterminal: Tensor | None,
        deprel: Tensor | None = None,
    ) -> Injected:
        """Return embedded tokens (B, T, D) with their tags (B, T), negative where there is none.

        Raises ValueError where there is an injection and tags that it reads are not given.
        """
        if self.tables is None:
            return Injected(embedded, None, [None] * self.num_layers)
        given = {"terminal": terminal, "nonterminal": nonterminal, "deprel": deprel}
        tags = [tag for name in self.sizes if (tag := given[name]) is not None]
        if len(tags) < len(self.sizes):
            raise ValueError(f"a model with injection {self.injection!r} needs {' and '.join(self.sizes)}")
        marks = mark_rows(tags, list(self.sizes.values()), embedded.dtype)
        rows, skip = self.tables(), None
        if self.fusion is not None:
            embedded, skip = self.fusion(embedded, marks, rows)
        injected = [projections(marks, rows) for projections in self.projections] * self.num_repeats
        return Injected(embedded, skip, [None] * (self.num_layers - len(injected)) + injected)


def _split_heads(rows: Tensor, num_heads: int) -> Tensor:
    """Return rows (R, H d) as (H, 1, R, d)."""
    split: Tensor = rows.unflatten(-1, (num_heads, -1))
    return split.transpose(0, 1)[:, None]
