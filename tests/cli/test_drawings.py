"""`inspect` of sentences: those of a length that can be looked at are drawn, longer ones are a table, a word a row."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from small_treebanks import write_sentence

import lisdata
from lisdata.cli import main
from lisdata.drawing import MAX_DRAWN_WORDS, draw_binary_head_tree, draw_sentence, svg_sentence
from lisdata.drawing.sentence import Sentence

TOO_LONG = MAX_DRAWN_WORDS + 1
SHAPES: dict[str, Callable[[int], list[int]]] = {
    "each on the one before": lambda n: list(range(n)),
    "each on the one after": lambda n: [*range(2, n + 1), 0],
    "all on the first": lambda n: [0] + [1] * (n - 1),
    "all on the last": lambda n: [n] * (n - 1) + [0],
    "near ones": lambda n: [0, *(random.Random(k).randint(max(1, k - 9), k) for k in range(1, n))],
}


def dataset_of(folder: Path, *trees: list[int]) -> Path:
    (folder / "a.conllu").write_bytes(b"".join(map(write_sentence, trees)))
    lisdata.convert("conllu", folder / "a.conllu", folder / "d")
    return folder / "d"


def inspect(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["inspect", *map(str, arguments)])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("number", [TOO_LONG, 10_000])
def test_a_sentence_too_long_to_draw_is_a_table_of_its_words_and_says_so(
    number: int, shape: str, tmp_path: Path
) -> None:
    heads = SHAPES[shape](number)

    result = inspect(dataset_of(tmp_path, heads))

    assert result.exit_code == 0
    _, _, note, header, _, *rows = result.stdout.rstrip("\n").split("\n")
    assert note == f"a sentence of {number:,} words, too long to draw (at most {MAX_DRAWN_WORDS}); its words:"
    assert header.split() == ["word", "form", "head", "deprel", "tags", "depth"]
    found = [row.split() for row in rows]
    assert [row[:4] for row in found] == [[str(n), f"w{n}", str(head), "dep"] for n, head in enumerate(heads, 1)]
    assert {len(row) for row in found} == {6}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_longest_that_is_drawn_is_drawn_whole(shape: str, tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, SHAPES[shape](MAX_DRAWN_WORDS))

    result = inspect(dataset, "--svg", tmp_path / "a.svg")

    assert result.exit_code == 0
    assert "too long" not in result.output
    assert result.stdout.count("▼") == MAX_DRAWN_WORDS
    texts = [found.text for found in ElementTree.parse(tmp_path / "a.svg").iter() if found.get("class") == "word"]
    assert texts == [f"w{n}" for n in range(1, MAX_DRAWN_WORDS + 1)] * 2


def test_of_several_sentences_only_the_long_one_is_a_table(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, [0, 1], SHAPES["all on the first"](TOO_LONG), [2, 0])

    result = inspect(dataset, "--svg", tmp_path / "a.svg")

    assert result.stdout.count("▼") == 4
    assert result.stdout.count("too long to draw") == 1
    assert "not drawn" not in result.stderr


def test_a_drawing_passes_over_what_is_too_long_and_names_it(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, SHAPES["near ones"](TOO_LONG), [0, 1])

    result = inspect(dataset, "--svg", tmp_path / "a.svg")

    assert result.exit_code == 0
    assert result.stderr.splitlines()[0].endswith(
        f"#0: a sentence of {TOO_LONG} words, too long to draw (at most {MAX_DRAWN_WORDS})"
    )
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").count("<title>w1 w2</title>") == 1


def test_where_all_is_too_long_there_is_no_drawing_and_the_reason_is_told(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, SHAPES["near ones"](TOO_LONG))

    result = inspect(dataset, "--svg", tmp_path / "a.svg")

    assert result.exit_code == 1
    assert f"found only such of over {MAX_DRAWN_WORDS} words" in result.stderr
    assert not (tmp_path / "a.svg").exists()


def test_where_there_is_no_tree_the_error_says_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a line\n")
    lisdata.convert("text", tmp_path / "a.txt", tmp_path / "d")

    result = inspect(tmp_path / "d", "--svg", tmp_path / "a.svg")

    assert result.exit_code == 1
    assert "expected a tree to draw among the 1 records shown, found none" in result.stderr


def test_the_table_of_endpoints_of_a_long_sentence_has_all_of_them(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, SHAPES["near ones"](3000))

    result = inspect(dataset, "--table")

    assert len(result.stdout.splitlines()) == 2 + 3000 + 2 * 2999


@pytest.mark.parametrize("draw", [draw_sentence, draw_binary_head_tree, svg_sentence])
def test_the_functions_refuse_what_is_too_long(draw: Callable[[Sentence], str]) -> None:
    absent = (None,) * TOO_LONG
    sentence = Sentence(
        words=("w",) * TOO_LONG, heads=absent, deprels=absent, terminal=(0,) * TOO_LONG, nonterminal=absent
    )

    with pytest.raises(ValueError, match=f"a sentence of {TOO_LONG} words is too long to draw: at most"):
        draw(sentence)
