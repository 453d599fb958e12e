"""Plots show what they were given."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from lisdata.plots import plot_by_kind, plot_loss, plot_perplexity


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures written, so that their lines can be read back."""
    figures: list[Figure] = []
    write = Figure.savefig

    def keep(figure: Figure, *args: object, **kwargs: object) -> None:
        figures.append(figure)
        write(figure, *args, **kwargs)

    monkeypatch.setattr(Figure, "savefig", keep)
    return figures


def test_a_loss_plot_holds_each_point(tmp_path: Path, drawn: list[Figure]) -> None:
    plot_loss([(10, 3.0), (20, 2.5)], tmp_path / "loss.png")

    line = drawn[0].axes[0].lines[0]
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([10, 20], [3.0, 2.5])
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_the_paper_s_curves_are_dotted_and_in_the_colour_of_their_model(tmp_path: Path, drawn: list[Figure]) -> None:
    measured, published = {256: 5.0, 4096: 9.0}, {256: 4.7, 4096: 13.4}

    plot_perplexity({"rope": measured}, tmp_path / "p.png", published={"rope": published}, training_length=256)

    ours, papers, training_length = drawn[0].axes[0].lines
    assert (ours.get_label(), ours.get_linestyle()) == ("rope", "-")
    assert (papers.get_label(), papers.get_linestyle()) == ("rope (paper)", ":")
    assert ours.get_color() == papers.get_color()
    assert papers.get_ydata().tolist() == [4.7, 13.4]
    assert training_length.get_xdata() == [256, 256]


def test_each_kind_has_a_bar_before_and_one_after(tmp_path: Path, drawn: list[Figure]) -> None:
    losses = {"text": {"before": 4.0, "after": 2.0}, "table": {"before": 3.0, "after": 1.0}}

    plot_by_kind({"lisformer": losses}, tmp_path / "kinds.png")

    axes = drawn[0].axes[0]
    assert [bar.get_height() for bar in axes.patches] == [4, 3, 2, 1]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["text", "table"]


def test_the_same_plot_is_the_same_file(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        plot_loss([(1, 1.0), (2, 0.5)], tmp_path / name)

    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
