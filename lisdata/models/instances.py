"""Which instance each token of a batch belongs to, where that instance ends, and the address its content gives it."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lisdata.models.rotary import rotate


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceLayout:
    """The instances of a batch of rows.

    `group` (B, T) numbers the instances of all rows from 0 to `num_groups` - 1. `last` (B, T) is the index in its row
    of the last token of a token's instance, or T where the instance never completes: for the query at t, the
    instance of the key at s is complete exactly when last[s] < t.
    """

    group: Tensor
    num_groups: int
    last: Tensor

    def cut(self, length: int) -> "InstanceLayout":
        """Return the layout of the first `length` tokens of each row, which knows of the others."""
        return InstanceLayout(group=self.group[:, :length], num_groups=self.num_groups, last=self.last[:, :length])


def number_groups(*columns: Tensor) -> tuple[Tensor, int]:
    """Number the distinct combinations of row and columns (each (B, T), int64); return numbers (B, T) and how many."""
    num_rows = columns[0].shape[0]
    group = torch.arange(num_rows, device=columns[0].device)[:, None].expand_as(columns[0])
    for column in columns:
        values, code = column.unique(return_inverse=True)
        group = group * len(values) + code
    values, group = group.unique(return_inverse=True)
    return group, len(values)


def group_ends(group: Tensor, num_groups: int) -> Tensor:
    """Return for each token the index in its row of the last token of its group, (B, T)."""
    index = torch.arange(group.shape[1], device=group.device).expand_as(group)
    end = index.new_zeros(num_groups).scatter_reduce(0, group.flatten(), index.flatten(), "amax")
    return end[group]


def instance_layout(instance: Tensor, document: Tensor | None) -> InstanceLayout:
    """Find the instances of rows in which they may interleave, repeat and share ids with another document.

    A token of a negative instance has none: it never completes. `instance` and `document` are (B, T), int64.
    """
    group, num_groups = number_groups(instance) if document is None else number_groups(document, instance)
    last = group_ends(group, num_groups).masked_fill(instance < 0, instance.shape[1])
    return InstanceLayout(group=group, num_groups=num_groups, last=last)


def line_layout(input_ids: Tensor, newline_id: int) -> tuple[InstanceLayout, Tensor]:
    """Return the lines of each row as instances, and each token's position in its line, both (B, T).

    A newline ends its own line; the line that the row breaks off never completes.
    """
    num_rows, length = input_ids.shape
    index = torch.arange(length, device=input_ids.device).expand(num_rows, length)
    is_newline = input_ids == newline_id
    line = is_newline.cumsum(1) - is_newline.long()
    num_lines = int(line.max()) + 1
    row = torch.arange(num_rows, device=input_ids.device)[:, None]
    last = torch.where(is_newline, index, length).flip(1).cummin(1).values.flip(1)
    start = torch.where(is_newline, index + 1, 0)[:, :-1].cummax(1).values
    position = index - nn.functional.pad(start, (1, 0))
    return InstanceLayout(group=row * num_lines + line, num_groups=num_rows * num_lines, last=last), position


class ContentAddress(nn.Module):
    """The angles of an instance from its content: Linear(LayerNorm(mean of R_s x_s over its tokens s)).

    It is made once from the input embeddings x and used by every layer (LIS appendix F.1: "token embeddings are first
    rotated by their within-line RoPE angles, scatter-added into a line sum, mean-pooled by line length").
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.projection = nn.Linear(width, width // 2)

    def forward(self, embedded: Tensor, rotation: Tensor, layout: InstanceLayout) -> Tensor:
        """Return each token's instance angles (B, T, D/2), from embeddings (B, T, D) and rotation (B, T, D/2)."""
        rotated = rotate(embedded, rotation).flatten(0, 1)
        group = layout.group.flatten()
        total = rotated.new_zeros(layout.num_groups, rotated.shape[-1]).index_add(0, group, rotated)
        size = torch.bincount(group, minlength=layout.num_groups).clamp(min=1)
        angles: Tensor = self.projection(self.norm(total / size[:, None]))
        return angles.to(embedded.dtype).index_select(0, group).view(*layout.group.shape, -1)
