"""Tag vectors: m_p (E^T + E^N), their projections and their fusion with the input."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.models.sipe_config import FUSIONS
from lisdata.models.sipe_tags import InputFusion, TagProjection, TagTables, mark_tags

WIDTH = 6
X = torch.arange(3.0 * WIDTH).view(1, 3, WIDTH)
TERMINAL, NONTERMINAL = torch.tensor([[1, -100, 0]]), torch.tensor([[4, -100, -100]])


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([-100, -1, 0, 1]), st.integers(-1, 4)), min_size=1, max_size=20))
def test_a_tag_vector_is_the_sum_of_the_rows_of_its_tags(tags: list[tuple[int, int]]) -> None:
    tables = TagTables(WIDTH)
    terminal, nonterminal = (torch.tensor([column]) for column in zip(*tags, strict=True))

    vectors = mark_tags(terminal, nonterminal, torch.float32) @ tables()

    for vector, (t, n) in zip(vectors[0], tags, strict=True):
        expected = torch.zeros(WIDTH)
        expected = expected + tables.terminal[t] if t >= 0 else expected
        expected = expected + tables.nonterminal[n] if n >= 0 else expected
        torch.testing.assert_close(vector, expected)


def test_a_position_without_a_tag_has_no_marks() -> None:
    marks = mark_tags(TERMINAL, NONTERMINAL, torch.float64)

    assert marks.dtype == torch.float64
    assert marks.tolist() == [[[0, 1, 0, 0, 0, 0, 1], [0] * 7, [1, 0, 0, 0, 0, 0, 0]]]


@pytest.mark.parametrize(("terminal", "nonterminal"), [(2, 0), (0, 5)])
def test_a_tag_beyond_its_table_is_refused(terminal: int, nonterminal: int) -> None:
    with pytest.raises(IndexError):
        mark_tags(torch.tensor([[terminal]]), torch.tensor([[nonterminal]]), torch.float32)


def test_tables_are_uniform_with_the_spread_of_the_token_embedding() -> None:
    torch.manual_seed(0)
    rows = TagTables(4096)()

    assert rows.shape == (7, 4096)
    assert rows.abs().max() <= 0.02 * 3**0.5
    assert 0.0195 < rows.std() < 0.0205


def test_one_projection_of_the_sum_is_the_sum_of_one_projection_for_both() -> None:
    rows, marks = TagTables(WIDTH)(), mark_tags(TERMINAL, NONTERMINAL, torch.float32)
    projection = TagProjection(WIDTH, 4, std=1.0)

    torch.testing.assert_close(marks @ projection(rows), (marks @ rows) @ projection.weight.T)


def test_separate_projections_serve_a_table_each() -> None:
    rows = TagTables(WIDTH)()
    projection = TagProjection(WIDTH, 4, std=1.0, separate=True)

    images = projection(rows)

    assert projection.nonterminal_weight is not None
    torch.testing.assert_close(images[:2], rows[:2] @ projection.weight.T)
    torch.testing.assert_close(images[2:], rows[2:] @ projection.nonterminal_weight.T)


def test_a_projection_begins_as_small_as_asked_or_at_zero() -> None:
    torch.manual_seed(0)

    assert 0.9e-3 < TagProjection(100, 100, std=1e-3).weight.std() < 1.1e-3
    assert not TagProjection(WIDTH, 4, std=0.0).weight.any()


@pytest.mark.parametrize("fusion", FUSIONS)
def test_each_fusion_is_that_of_the_paper(fusion: str) -> None:
    tables, marks = TagTables(WIDTH), mark_tags(TERMINAL, NONTERMINAL, torch.float32)
    t, n = marks[..., :2] @ tables.terminal, marks[..., 2:] @ tables.nonterminal
    layer = InputFusion(WIDTH, fusion, alpha=0.9)

    fused, skip = layer(X, marks, tables())

    if fusion == "concat":
        expected = torch.cat([X, t, n], dim=-1) @ layer.projection.weight.T
    else:
        expected = {"add": X + t + n, "residual": X, "alpha": 0.9 * X + (1 - 0.9) * (t + n)}[fusion]
    torch.testing.assert_close(fused, expected)
    assert (skip is None) == (fusion != "residual")
    if skip is not None:
        torch.testing.assert_close(skip, t + n)


def test_an_unknown_fusion_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match="fusion='gate' is none of add, concat, residual, alpha"):
        InputFusion(WIDTH, "gate")
