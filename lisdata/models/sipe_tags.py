"""Hexatags as vectors (SiPE section 3.1): the two tables, their fusion with the input, their projections.

The tag vector of a position is e_p = m_p (E^T[terminal_p] + E^N[nonterminal_p]): a row of each table, or nothing where
the position has no tag. A term that is linear in e_j, such as (q_i + v) . W_E e_j, is therefore computed for the 2 + 5
rows alone and then looked up for each key j, by a product with the marks of its tags, which are 0 or 1. Nothing as wide
as a head is ever multiplied for all pairs of positions. A third table, of dependency relations (appendix E), may be
added, or take the place of the terminals.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from lisdata.models.sipe_config import FUSIONS, HEXATAG_SIZES

NUM_TERMINALS, NUM_NONTERMINALS = HEXATAG_SIZES.values()
NUM_TAG_ROWS = NUM_TERMINALS + NUM_NONTERMINALS
INIT_STD = 0.02


def mark_tags(terminal: Tensor, nonterminal: Tensor, dtype: torch.dtype) -> Tensor:
    """Return which rows of the two tables each position has, (B, T, 7); see `mark_rows`."""
    return mark_rows((terminal, nonterminal), (NUM_TERMINALS, NUM_NONTERMINALS), dtype)


def mark_rows(tags: Sequence[Tensor], sizes: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Return which rows of tables of those `sizes` each position has, (B, T, R), 0 or 1, from a tag (B, T) of each.

    Tags are int64. A negative one is none: m_p = 0 where all are, and where one alone is withheld the others' rows
    stay. Raises IndexError for a tag beyond its table.
    """
    parts = []
    for tag, num_rows in zip(tags, sizes, strict=True):
        rows = functional.pad(torch.eye(num_rows, dtype=dtype, device=tag.device), (0, 0, 1, 0))
        parts.append(functional.embedding(tag.clamp(min=-1) + 1, rows))
    return torch.cat(parts, dim=-1)


class TagTables(nn.Module):
    """The learned tables, such as E^T (2, D) and E^N (5, D), uniform at first with the spread of the token embedding.

    `sizes` are their rows by name.
    """

    terminal: nn.Parameter
    nonterminal: nn.Parameter
    deprel: nn.Parameter

    def __init__(self, width: int, sizes: Mapping[str, int] = HEXATAG_SIZES) -> None:
        super().__init__()
        limit = INIT_STD * 3**0.5
        for name, num_rows in sizes.items():
            self.register_parameter(name, nn.Parameter(torch.empty(num_rows, width)))
            nn.init.uniform_(getattr(self, name), -limit, limit)

    def forward(self) -> Tensor:
        """Return the rows of all, (R, D), in the order of `mark_rows`."""
        return torch.cat(list(self.parameters()))


class TagProjection(nn.Module):
    """A linear map of tag vectors, such as W_E, applied to the rows of the tables; small at first, or 0.

    With `separate` the rows of either table have a map of their own (appendix A.4), else one map serves both.
    """

    def __init__(self, width: int, num_outputs: int, *, std: float, separate: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_outputs, width))
        self.nonterminal_weight = nn.Parameter(torch.empty(num_outputs, width)) if separate else None
        for weight in self.parameters():
            nn.init.normal_(weight, std=std)

    def forward(self, rows: Tensor) -> Tensor:
        """Return the images (7, `num_outputs`) of the rows (7, D) that `TagTables` returns."""
        if self.nonterminal_weight is None:
            return functional.linear(rows, self.weight)
        terminal, nonterminal = rows.split((NUM_TERMINALS, NUM_NONTERMINALS))
        images = functional.linear(terminal, self.weight), functional.linear(nonterminal, self.nonterminal_weight)
        return torch.cat(images)


class InputFusion(nn.Module):
    """Puts tag vectors, such as t = E^T[terminal] and n = E^N[nonterminal], into the embedded input x (SiPE Table 12).

    add: x + t + n. concat: W [x; t; n]. alpha: a x + (1 - a)(t + n) with a learned number a that begins at `alpha`.
    residual: x itself, and t + n on the skip branch of the first attention. `sizes` are the rows of the tables.
    """

    def __init__(
        self, width: int, fusion: str, *, alpha: float = 0.5, sizes: Sequence[int] = (NUM_TERMINALS, NUM_NONTERMINALS)
    ) -> None:
        super().__init__()
        if fusion not in FUSIONS:
            raise ValueError(f"{fusion=} is none of {', '.join(FUSIONS)}")
        self.fusion, self.sizes = fusion, tuple(sizes)
        self.projection = nn.Linear((1 + len(self.sizes)) * width, width, bias=False) if fusion == "concat" else None
        self.alpha = nn.Parameter(torch.tensor(alpha)) if fusion == "alpha" else None
        if self.projection is not None:
            nn.init.normal_(self.projection.weight, std=INIT_STD)

    def forward(self, embedded: Tensor, marks: Tensor, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return what the first layer reads, (B, T, D), and what is added to its first skip branch, if anything.

        `marks` (B, T, R) are those of `mark_rows`, `rows` (R, D) those of `TagTables`.
        """
        if self.projection is not None:
            split = zip(marks.split(self.sizes, dim=-1), rows.split(self.sizes), strict=True)
            vectors = [own_marks @ own_rows for own_marks, own_rows in split]
            return self.projection(torch.cat([embedded, *vectors], dim=-1)), None
        tag_vector = marks @ rows
        if self.alpha is not None:
            return self.alpha * embedded + (1 - self.alpha) * tag_vector, None
        if self.fusion == "residual":
            return embedded, tag_vector
        return embedded + tag_vector, None
