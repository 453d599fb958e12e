"""Rows that are held out of training."""

from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from lisdata.training import TrainingRows, is_held_out, next_token_targets


@settings(deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.1, 0.25, 0.5]))
def test_of_any_stretch_of_rows_the_share_is_held_out(first: int, share: float) -> None:
    chosen = is_held_out(torch.arange(first, first + 1000), share)

    assert abs(int(chosen.sum()) - 1000 * share) <= 1


class FewRows:
    """The same rows again and again, the last of them only there to fill a batch up."""

    def __init__(self) -> None:
        self.steps = 0

    def next_batch(self) -> dict[str, Tensor]:
        self.steps += 1
        return {
            "input_ids": torch.ones(4, 3, dtype=torch.int64),
            "row": torch.tensor([17, 18, 19, 0]),
            "real": torch.tensor([True, True, True, False]),
        }

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.steps = state["steps"]

    def description(self) -> dict[str, Any]:
        return {"rows": 4}


def test_no_token_of_a_row_held_out_is_scored_in_training() -> None:
    batches = TrainingRows(FewRows(), 0.05)

    targets = next_token_targets(batches.next_batch())

    assert (targets >= 0).any(1).tolist() == [True, True, False, False]  # row 19 is held out, the last no real one
    assert batches.state_dict() == {"steps": 1}
    assert batches.description() == {"rows": 4, "held_out": 0.05}
