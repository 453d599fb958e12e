from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from small_taggers import SIZES, drawn_network

from lisdata.tagger.network import TaggerConfig, _Scan, scan_


def naive_scan(kept: torch.Tensor, entered: torch.Tensor) -> torch.Tensor:
    """Return the states, written word by word: half of the units from the first word, half from the last."""
    states = torch.zeros_like(entered)
    num_words, _, width = entered.shape
    for unit in range(width):
        order = range(num_words) if unit < width // 2 else range(num_words - 1, -1, -1)
        before = torch.zeros_like(entered[0, :, unit])
        for word in order:
            before = kept[word, :, unit] * before + entered[word, :, unit]
            states[word, :, unit] = before
    return states


@pytest.mark.parametrize("num_words", [1, 2, 7])
def test_the_scan_and_its_gradient_are_those_of_the_plain_recurrence(num_words: int) -> None:
    generator = torch.Generator().manual_seed(num_words)
    kept, entered = (torch.rand((num_words, 3, 6), generator=generator, dtype=torch.float64) for _ in range(2))
    kept.requires_grad_()
    entered.requires_grad_()
    weights = torch.rand((num_words, 3, 6), generator=generator, dtype=torch.float64)

    expected = naive_scan(kept, entered)
    wanted = torch.autograd.grad((expected * weights).sum(), [kept, entered], allow_unused=True)
    found = _Scan.apply(kept, entered)
    gradients = torch.autograd.grad((found * weights).sum(), [kept, entered])

    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(scan_(kept.detach(), entered.detach().clone()), expected.detach())
    for gradient, reference in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(gradient, torch.zeros_like(gradient) if reference is None else reference)


def test_padding_changes_no_score() -> None:
    network = drawn_network()
    vectors = torch.randn((7, 1, SIZES.width), generator=torch.Generator().manual_seed(0))
    is_word = torch.ones((7, 1), dtype=torch.bool)
    padded = torch.cat([vectors, torch.full((4, 1, SIZES.width), 9.0)])
    with torch.no_grad():
        alone = network(vectors, is_word)
        with_padding = network(padded, torch.cat([is_word, torch.zeros((4, 1), dtype=torch.bool)]))

    torch.testing.assert_close(with_padding[:7], alone)


def test_every_word_is_seen_from_every_other() -> None:
    network = drawn_network()
    vectors = torch.randn((6, 1, SIZES.width), requires_grad=True)
    is_word = torch.ones((6, 1), dtype=torch.bool)
    for word in (0, 5):
        (gradient,) = torch.autograd.grad(network(vectors, is_word)[word].sum(), vectors)
        assert (gradient.abs().sum((1, 2)) > 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0}, "width=0 is not a positive number"),
        ({"width": 7}, "is odd"),
        ({"num_rows": 0}, "num_rows=0"),
        ({"dropout": 1.0}, "is outside 0..1"),
        ({"deprels": ()}, "expected different relations, one at least"),
        ({"deprels": ("a", "a")}, "expected different relations"),
    ],
)
def test_sizes_that_there_cannot_be_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SIZES, **change)  # type: ignore[arg-type]


def test_the_default_is_small_enough_to_be_shipped() -> None:
    config = TaggerConfig(deprels=tuple(map(str, range(45))))
    network = drawn_network(config=config)

    assert 2 * sum(parameter.numel() for parameter in network.parameters()) < 8_000_000  # bytes, as float16
