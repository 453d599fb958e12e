"""The character models of LIS Table 3 and their controls: their size, that they are causal, and what they equal."""

import math

import pytest
import torch
from torch import Tensor, nn

from lisdata.models import build_model
from lisdata.models.alibi import distance_bias
from lisdata.models.rotary import rotate

NEWLINE = 0
SETTINGS = {
    "rope": {},
    "alibi": {},
    "random-lines": {"newline_id": NEWLINE},
    "lisformer-lines": {"newline_id": NEWLINE},
    "zero-offset": {"newline_id": NEWLINE},
    "own-line": {"newline_id": NEWLINE},
    "sliding-window": {"attention_window": 9},
}
TINY = {"vocabulary_size": 7, "width": 16, "num_layers": 2, "num_attention_heads": 2, "seed": 0}


def build_tiny(name: str, **config: object) -> nn.Module:
    return build_model(name, **TINY, **SETTINGS[name], **config).double().eval()


def logits(model: nn.Module, input_ids: Tensor) -> Tensor:
    with torch.no_grad():
        return model.eval()(input_ids)


@pytest.fixture
def text() -> Tensor:
    """One row of 90 characters in lines of 1 to about 20."""
    generator = torch.Generator().manual_seed(3)
    row = torch.randint(1, 7, (1, 90), generator=generator)
    row[0, [4, 5, 23, 24, 40, 66, 79]] = NEWLINE
    return row


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rope", 810_049),
        ("alibi", 810_049),
        ("random-lines", 810_049),
        ("lisformer-lines", 818_561),
        ("zero-offset", 810_049),
        ("own-line", 810_049),
        ("sliding-window", 810_049),
    ],
)
def test_at_the_paper_s_size_a_model_has_the_paper_s_parameters(name: str, expected: int) -> None:
    model = build_model(name, vocabulary_size=65, **SETTINGS[name])

    assert sum(parameter.numel() for parameter in model.parameters()) == expected


@pytest.mark.parametrize("name", SETTINGS)
def test_no_earlier_logit_moves_when_a_character_changes(name: str, text: Tensor) -> None:
    model = build_tiny(name)
    before = logits(model, text)

    for changed in range(text.shape[1]):
        for replacement in {NEWLINE, 1 + int(text[0, changed]) % 6}:
            other = text.clone()
            other[0, changed] = replacement
            moved = (logits(model, other) - before).abs().amax(-1)[0]
            assert not (moved[:changed] > 1e-12).any()


@pytest.mark.parametrize("name", ["rope", "alibi", "random-lines", "lisformer-lines", "zero-offset"])
def test_the_last_logit_sees_the_whole_context(name: str, text: Tensor) -> None:
    model = build_tiny(name)
    other = text.clone()
    other[0, 0] = 1 + int(text[0, 0]) % 6

    assert not torch.allclose(logits(model, text)[0, -1], logits(model, other)[0, -1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", sorted(SETTINGS.keys() - {"random-lines"}))
def test_rows_of_a_batch_do_not_touch_each_other(name: str, text: Tensor) -> None:
    model = build_tiny(name)
    batch = torch.cat([text, text.flip(1), text.roll(7, 1)])

    together = logits(model, batch)

    alone = torch.cat([logits(model, row[None]) for row in batch])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["random-lines", "lisformer-lines", "zero-offset", "own-line"])
def test_within_its_first_line_an_addressed_model_is_the_rope_model(name: str, text: Tensor) -> None:
    model = build_tiny(name)
    rope = build_tiny("rope")
    rope.load_state_dict({key: value for key, value in model.state_dict().items() if key.startswith("transformer.")})
    line = text[:, 6:23]

    torch.testing.assert_close(logits(model, line), logits(rope, line), rtol=0, atol=1e-12)


class LineByLine:
    """The line rule as one table of scores: a key of another line has its line's offset, others have none."""

    line: Tensor

    def __init__(
        self, local: Tensor, offset: Tensor, last: Tensor, document: None = None, *, turns_values: bool = False
    ) -> None:
        assert not turns_values
        self.local, self.offset = local, offset

    def __call__(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        query, local_key = rotate(query, self.local), rotate(key, self.local)
        is_other = self.line[:, None, :, None] != self.line[:, None, None, :]
        scores = torch.where(is_other, query @ rotate(local_key, self.offset).mT, query @ local_key.mT)
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        return (scores / query.shape[-1] ** 0.5).masked_fill(future, -math.inf).softmax(-1) @ value


@pytest.mark.parametrize(
    ("name", "module"),
    [("random-lines", "lisdata.models.random_lines"), ("lisformer-lines", "lisdata.models.addresses")],
)
def test_an_addressed_model_equals_the_line_rule_written_out(
    name: str, module: str, text: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build_tiny(name)
    chunked = logits(model, text)
    characters = text[0].tolist()
    line = [characters[:t].count(NEWLINE) for t in range(len(characters))]
    monkeypatch.setattr(LineByLine, "line", torch.tensor([line]), raising=False)
    monkeypatch.setattr(module + ".AddressedAttention", LineByLine)

    torch.testing.assert_close(logits(model, text), chunked, rtol=0, atol=1e-10)


def test_another_earlier_line_of_the_same_letters_is_another_address(text: Tensor) -> None:
    model = build_tiny("lisformer-lines")
    swapped = text.clone()
    swapped[0, [6, 7]] = text[0, [7, 6]]

    assert not torch.allclose(logits(model, text)[0, 40:], logits(model, swapped)[0, 40:], rtol=0, atol=1e-9)


def test_alibi_slopes_at_four_heads_are_the_paper_s() -> None:
    bias = distance_bias(3, 4, torch.zeros(1))

    assert bias[0, :, 2, 1].tolist() == [-(2.0**-2), -(2.0**-4), -(2.0**-6), -(2.0**-8)]
    assert bias[0, 0].tolist() == [[0, -math.inf, -math.inf], [-0.25, 0, -math.inf], [-0.5, -0.25, 0]]


def test_random_angles_are_fresh_in_each_pass_and_repeat_in_each_evaluation(text: Tensor) -> None:
    model = build_tiny("random-lines")
    with torch.no_grad():
        first, second = model(text), model(text)
        again = model.eval()(text)

    assert not torch.equal(first, second)
    assert torch.equal(first, again)


def test_an_evaluation_leaves_the_training_draws_alone(text: Tensor) -> None:
    model, disturbed = build_tiny("random-lines").train(), build_tiny("random-lines").train()
    with torch.no_grad():
        model(text)
        disturbed(text)
        logits(disturbed, text)

        assert torch.equal(model.train()(text), disturbed.train()(text))


def test_the_state_dict_carries_the_training_draws(text: Tensor) -> None:
    model, resumed = build_tiny("random-lines").train(), build_tiny("random-lines").train()
    with torch.no_grad():
        model(text)
        resumed.load_state_dict(model.state_dict())

        assert torch.equal(model(text), resumed(text))


@pytest.mark.parametrize("name", SETTINGS)
def test_dropout_acts_in_training_only(name: str, text: Tensor) -> None:
    model = build_tiny(name, dropout=0.5)

    assert torch.equal(logits(model, text), logits(model, text))
    model.train()
    assert not torch.equal(model(text), model(text))


@pytest.mark.parametrize("name", SETTINGS)
def test_bfloat16_autocast_stays_near_float32(name: str, text: Tensor) -> None:
    model = build_model(name, **TINY, **SETTINGS[name])
    exact = logits(model, text)

    with torch.autocast("cpu", torch.bfloat16):
        narrow = logits(model, text)

    torch.testing.assert_close(narrow.float(), exact, rtol=0.1, atol=0.1)
