"""Hexatags as vectors (SiPE section 3.1): the two tables, their fusion with the input, their projections.

The tag vector of a position is e_p = m_p (E^T[terminal_p] + E^N[nonterminal_p]): a row of each table, or nothing where
the position has no tag. A term that is linear in e_j, such as (q_i + v) . W_E e_j, is therefore computed for the 2 + 5
rows alone and then looked up for each key j, by a product with the marks of its tags, which are 0 or 1. Nothing as wide
as a head is ever multiplied for all pairs of positions.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lisdata.models.sipe_config import FUSIONS

NUM_TERMINALS, NUM_NONTERMINALS = 2, 5
NUM_TAG_ROWS = NUM_TERMINALS + NUM_NONTERMINALS
INIT_STD = 0.02


def mark_tags(terminal: Tensor, nonterminal: Tensor, dtype: torch.dtype) -> Tensor:
    """Return which rows of the tables each position has, (B, T, 7), 0 or 1, from its tags (B, T), int64.

    A negative tag is none: m_p = 0 where both are, and where one alone is withheld the other's row stays. Raises
    IndexError for a tag beyond its table.
    """
    parts = []
    for tag, num_rows in ((terminal, NUM_TERMINALS), (nonterminal, NUM_NONTERMINALS)):
        rows = functional.pad(torch.eye(num_rows, dtype=dtype, device=tag.device), (0, 0, 1, 0))
        parts.append(functional.embedding(tag.clamp(min=-1) + 1, rows))
    return torch.cat(parts, dim=-1)


class TagTables(nn.Module):
    """The learned tables E^T (2, D) and E^N (5, D), uniform at first with the spread of the token embedding."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.terminal = nn.Parameter(torch.empty(NUM_TERMINALS, width))
        self.nonterminal = nn.Parameter(torch.empty(NUM_NONTERMINALS, width))
        limit = INIT_STD * 3**0.5
        for table in self.parameters():
            nn.init.uniform_(table, -limit, limit)

    def forward(self) -> Tensor:
        """Return the rows of both, (7, D), in the order of `mark_tags`."""
        return torch.cat([self.terminal, self.nonterminal])


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
    """Puts the tag vectors t = E^T[terminal] and n = E^N[nonterminal] into the embedded input x (SiPE Table 12).

    add: x + t + n. concat: W [x; t; n]. alpha: a x + (1 - a)(t + n) with a learned number a that begins at `alpha`.
    residual: x itself, and t + n on the skip branch of the first attention.
    """

    def __init__(self, width: int, fusion: str, *, alpha: float = 0.5) -> None:
        super().__init__()
        if fusion not in FUSIONS:
            raise ValueError(f"{fusion=} is none of {', '.join(FUSIONS)}")
        self.fusion = fusion
        self.projection = nn.Linear(3 * width, width, bias=False) if fusion == "concat" else None
        self.alpha = nn.Parameter(torch.tensor(alpha)) if fusion == "alpha" else None
        if self.projection is not None:
            nn.init.normal_(self.projection.weight, std=INIT_STD)

    def forward(self, embedded: Tensor, marks: Tensor, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return what the first layer reads, (B, T, D), and what is added to its first skip branch, if anything.

        `marks` (B, T, 7) are those of `mark_tags`, `rows` (7, D) those of `TagTables`.
        """
        if self.projection is not None:
            vectors = (
                marks[..., :NUM_TERMINALS] @ rows[:NUM_TERMINALS],
                marks[..., NUM_TERMINALS:] @ rows[NUM_TERMINALS:],
            )
            return self.projection(torch.cat([embedded, *vectors], dim=-1)), None
        tag_vector = marks @ rows
        if self.alpha is not None:
            return self.alpha * embedded + (1 - self.alpha) * tag_vector, None
        if self.fusion == "residual":
            return embedded, tag_vector
        return embedded + tag_vector, None
