"""Tables of surprisals as a scorer: each token finds its characters, what does not fit is refused with its line."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from lisdata.errors import SchemaError
from lisdata.evaluation.sentence_scores import TextTags
from lisdata.evaluation.surprisal_tables import read_surprisal_table

TEXTS = ["The cat sleeps.", "It's odd"]
ROWS = ["1\t1\tThe\t0.0", "1\t2\t<unk>\t3.5", "1\t3\tsleeps\t2", "1\t4\t.\t1", "1\t5\t<eos>\t0.5"]
ROWS += ["2\t1\tIt\t4", "2\t2\t's\t1", "2\t3\todd\t8"]


def write(folder: Path, rows: list[str], header: str = "sentence_id\ttoken_id\ttoken\tsurprisal") -> Path:
    path = folder / "surprisals.tsv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_tokens_find_their_characters_and_bits_become_nats(tmp_path: Path) -> None:
    table = read_surprisal_table(write(tmp_path, ROWS), TEXTS)

    first, second = table.score(TEXTS)

    assert list(zip(first.begin, first.end, strict=True)) == [(0, 3), (4, 7), (8, 14), (14, 15), (15, 15)]
    assert list(zip(second.begin, second.end, strict=True)) == [(0, 2), (2, 4), (5, 8)]
    assert first.surprisal.tolist() == pytest.approx([bits * math.log(2) for bits in (0, 3.5, 2, 1, 0.5)])
    assert table.score(TEXTS[1:])[0] is second


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["1\t1\tThe\t0", "1\t2\tdog\t0"], ":3: expected a token of ' cat sleeps.', found 'dog'"),
        ([*ROWS, "3\t1\tIt\t0"], ":10: expected a sentence_id of 1 to 2, found 3"),
        ([*ROWS, "x\t1\tIt\t0"], ":10: expected two numbers, a token and a surprisal, found"),
        ([*ROWS, "1\tIt\t0"], ":10: expected two numbers, a token and a surprisal, found"),
        (ROWS[:5], ": expected 2 sentences, found no sentence 2"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_line(tmp_path: Path, rows: list[str], message: str) -> None:
    path = write(tmp_path, rows)

    with pytest.raises(SchemaError) as caught:
        read_surprisal_table(path, TEXTS)

    assert str(caught.value).startswith(f"{path}{message}")


def test_other_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        SchemaError, match="1: expected the columns sentence_id, token_id, token, surprisal, found a, b"
    ):
        read_surprisal_table(write(tmp_path, ROWS, header="a\tb"), TEXTS)


def test_a_table_knows_its_own_texts_only_and_no_tags(tmp_path: Path) -> None:
    table = read_surprisal_table(write(tmp_path, ROWS), TEXTS)
    none = TextTags(spans=np.zeros((0, 2), int), terminal=np.zeros(0, np.int8), nonterminal=np.zeros(0, np.int8))

    with pytest.raises(ValueError, match="expected texts of the table, got 'Dogs'"):
        table.score(["Dogs"])
    with pytest.raises(ValueError, match="cannot take tags"):
        table.score(TEXTS, [none, none])
