"""The controls of LIS Table 3: what each equals, and what it cannot see."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import pad, scaled_dot_product_attention

from lisdata.models import build_model
from lisdata.models.instances import line_layout
from lisdata.models.window_attention import window_attention

NEWLINE = 0
TINY = {"vocabulary_size": 7, "width": 16, "num_layers": 2, "num_attention_heads": 2, "seed": 0}


def build_tiny(name: str, **config: object) -> nn.Module:
    return build_model(name, **TINY, **config).double().eval()


def with_weights_of(model: nn.Module, other: nn.Module) -> nn.Module:
    other.load_state_dict({key: value for key, value in model.state_dict().items() if key.startswith("transformer.")})
    return other


def logits(model: nn.Module, input_ids: Tensor) -> Tensor:
    with torch.no_grad():
        return model(input_ids)


@pytest.fixture
def text() -> Tensor:
    """Two rows of 90 characters in lines of 1 to about 20."""
    generator = torch.Generator().manual_seed(3)
    rows = torch.randint(1, 7, (2, 90), generator=generator)
    rows[0, [4, 5, 23, 24, 40, 66, 79]] = NEWLINE
    rows[1, [0, 13, 30, 31, 57, 70, 88]] = NEWLINE
    return rows


def test_zero_offset_is_the_lisformer_whose_lines_all_turn_by_nothing(text: Tensor) -> None:
    lisformer = build_tiny("lisformer-lines", newline_id=NEWLINE)
    nn.init.zeros_(lisformer.line_address.projection.weight)
    nn.init.zeros_(lisformer.line_address.projection.bias)
    control = with_weights_of(lisformer, build_tiny("zero-offset", newline_id=NEWLINE))

    torch.testing.assert_close(logits(control, text), logits(lisformer, text), rtol=0, atol=1e-12)


def test_zero_offset_does_not_know_how_far_away_a_whole_line_is() -> None:
    model = build_tiny("zero-offset", newline_id=NEWLINE)
    first, second, last = [1, 2, 3, NEWLINE], [4, 5, NEWLINE], [6, 1, 2]
    one_layer = build_model("zero-offset", **(TINY | {"num_layers": 1}), newline_id=NEWLINE).double().eval()

    near = torch.tensor([[*second, *first, *last]])
    far = torch.tensor([[*first, *second, *last]])

    torch.testing.assert_close(logits(one_layer, near)[:, -3:], logits(one_layer, far)[:, -3:], rtol=0, atol=1e-12)
    assert not torch.allclose(logits(model, near)[:, -3:], logits(model, far)[:, -3:], rtol=0, atol=1e-9)


def test_own_line_is_each_line_read_alone_by_the_rope_model(text: Tensor) -> None:
    control = build_tiny("own-line", newline_id=NEWLINE)
    rope = with_weights_of(control, build_tiny("rope"))

    together = logits(control, text)

    for row, expected in zip(text, together, strict=True):
        ends = [*((row == NEWLINE).nonzero().flatten() + 1).tolist(), len(row)]
        lines = row.tensor_split(ends[:-1])
        alone = torch.cat([logits(rope, line[None])[0] for line in lines if len(line)])
        torch.testing.assert_close(alone, expected, rtol=0, atol=1e-12)


def test_own_line_is_zero_offset_under_the_mask_of_the_line(text: Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    control = build_tiny("own-line", newline_id=NEWLINE)
    zero = with_weights_of(control, build_tiny("zero-offset", newline_id=NEWLINE))
    group = line_layout(text, NEWLINE)[0].group
    same_line = (group[:, :, None] == group[:, None, :])[:, None]

    def masked(query: Tensor, key: Tensor, value: Tensor, *, attn_mask: Tensor | None, is_causal: bool) -> Tensor:
        assert is_causal
        assert attn_mask is None
        mask = same_line & torch.ones(text.shape[1], text.shape[1], dtype=torch.bool).tril()
        return scaled_dot_product_attention(query, key, value, attn_mask=mask)

    monkeypatch.setattr("lisdata.models.addresses.scaled_dot_product_attention", masked)

    torch.testing.assert_close(logits(zero, text), logits(control, text), rtol=0, atol=1e-12)


def test_what_an_earlier_line_says_does_not_reach_own_line(text: Tensor) -> None:
    control = build_tiny("own-line", newline_id=NEWLINE)
    other = text.clone()
    other[0, 41:66] = text[0, 41:66].roll(1)

    moved = (logits(control, other) - logits(control, text)).abs().amax(-1)[0]

    assert (moved[41:66] > 1e-9).any()
    assert not moved[67:].any()


@pytest.mark.parametrize("window", [1, 2, 7, 30, 89, 90, 200])
def test_window_attention_is_one_masked_table_of_scores(window: int) -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 2, 90, 4, dtype=torch.float64)
    distance = torch.arange(90)[:, None] - torch.arange(90)
    scores = (query @ key.mT / 2).masked_fill((distance < 0) | (distance >= window), -math.inf)

    expected = scores.softmax(-1) @ value

    torch.testing.assert_close(window_attention(query, key, value, window), expected, rtol=0, atol=1e-12)


def test_a_window_as_long_as_the_text_is_the_rope_model(text: Tensor) -> None:
    control = build_tiny("sliding-window", attention_window=90)
    rope = with_weights_of(control, build_tiny("rope"))

    torch.testing.assert_close(logits(control, text), logits(rope, text), rtol=0, atol=1e-12)


def test_a_stack_of_windows_reaches_as_far_back_as_it_says(text: Tensor) -> None:
    window, num_layers = 9, 2
    control = build_tiny("sliding-window", attention_window=window)
    other = text.clone()
    other[0, 20] = 1 + int(text[0, 20]) % 6

    moved = (logits(control, other) - logits(control, text)).abs().amax(-1)[0] > 0

    assert moved.nonzero().flatten().tolist() == list(range(20, 20 + num_layers * (window - 1) + 1))


def test_a_window_does_not_care_where_in_the_text_it_stands(text: Tensor) -> None:
    control = build_tiny("sliding-window", attention_window=9)

    shifted = logits(control, pad(text, (13, 0), value=3))[:, 13 + 16 :]

    torch.testing.assert_close(shifted, logits(control, text)[:, 16:], rtol=0, atol=1e-12)


def test_a_window_of_no_token_is_refused() -> None:
    with pytest.raises(ValueError, match="attention_window=0"):
        build_tiny("sliding-window", attention_window=0)
