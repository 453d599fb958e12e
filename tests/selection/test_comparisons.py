"""Text and numbers are not compared in silence: what is what is said, and how to make one of the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lisdata
from lisdata.selection.filtering import Where, check_expression
from lisdata.shards import IncidenceDataset

pytest.importorskip("polars")
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
NUMBERS = st.one_of(
    st.integers(-(2**62), 2**62).map(str), st.decimals(-999, 999, places=2).map(lambda number: f"{number:.2f}")
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> IncidenceDataset:
    folder = tmp_path_factory.mktemp("comparisons")
    (folder / "t.csv").write_text("id,size,name\n1,9,x\n2,10,2.5\n3,300000000000,\n")
    lisdata.convert("csv", folder / "t.csv", folder / "d")
    return IncidenceDataset(folder / "d")


def num_taken(dataset: IncidenceDataset, where: str) -> int:
    check_expression(where, dataset)
    return int(sum(Where(where).is_taken(dataset, part).sum() for part in dataset.parts))


@given(sign=SIGNS, number=NUMBERS, is_left=st.booleans(), around=st.sampled_from(["{}", "kind = 'x' OR NOT ({})"]))
@settings(max_examples=60, deadline=None)
def test_a_role_against_a_number_is_refused_with_what_would_do(
    sign: str, number: str, is_left: bool, around: str
) -> None:
    sides = (number, '"t#size"') if is_left else ('"t#size"', number)

    with pytest.raises(ValueError, match='"t#size" is text, as all columns of roles are, and ') as caught:
        check_expression(around.format(f"{sides[0]} {sign} {sides[1]}"))

    message = str(caught.value)
    assert message.isprintable()
    remedy = message.rpartition("a number: ")[2]
    assert "CAST(" in remedy
    check_expression(around.format(remedy))


@pytest.mark.parametrize(
    ("where", "remedy"),
    [
        ('"Track#Milliseconds" > 300000', 'CAST("Track#Milliseconds" AS INTEGER) > 300000'),
        ('"t#size" BETWEEN 1.5 AND 3', 'CAST("t#size" AS DOUBLE) >= 1.5'),
        ('30000000000 <= "t#size"', '30000000000 <= CAST("t#size" AS BIGINT)'),
        ('"t#size" > num_instances', 'CAST("t#size" AS INTEGER) > num_instances'),
        ('"a""b#c" = 3', 'CAST("a""b#c" AS INTEGER) = 3'),
    ],
)
def test_the_remedy_is_sql_to_copy(where: str, remedy: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"a number: {remedy}") + "$"):
        check_expression(where)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("num_bytes > '3'", "'3' is text and num_bytes a number, which > does not compare"),
        ("kind = 3", "kind is text and 3 a number, which = does not compare"),
        ("begin = 'it''s'", "'it''s' is text and begin a number"),
        ('"t#size" IN (1, 2)', 'columns of roles are text, and numbers so: CAST("t#size" AS INTEGER)'),
        ('"t#size" + 1 > 3', 'columns of roles are text, and numbers so: CAST("t#size" AS INTEGER)'),
        ("ARRAY_CONTAINS(contents, 3)", "ARRAY_CONTAINS(contents, 3): 'list.contains' cannot check"),
    ],
)
def test_what_else_cannot_be_compared_is_said_in_one_line(where: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        check_expression(where)
    assert "\n" not in str(caught.value)


def test_numbers_in_a_role_are_compared_as_numbers(table: IncidenceDataset) -> None:
    assert num_taken(table, 'CAST("t#size" AS BIGINT) > 9.5') == 2
    assert num_taken(table, 'TRY_CAST("t#name" AS DOUBLE) = 2.5') == 1


@pytest.mark.parametrize("column", ["size", "name"])
def test_a_text_that_is_no_such_number_is_told_with_what_helps(table: IncidenceDataset, column: str) -> None:
    with pytest.raises(ValueError, match="DOUBLE hold more than INTEGER, and TRY_CAST gives NULL") as caught:
        num_taken(table, f'CAST("t#{column}" AS INTEGER) > 1')
    assert "\n" not in str(caught.value)


def test_a_comparison_that_can_be_made_is_made(table: IncidenceDataset) -> None:
    for where in (
        "\"t#size\" = '10'",
        '"t#size" < "t#id"',
        "num_instances > 0.5 AND \"t#size\" = '9'",
        '"t#size" = text',
    ):
        num_taken(table, where)


def test_the_example_of_the_readme_runs(root: Path, tmp_path: Path) -> None:
    lisdata.convert("csv", root / "sample_data" / "tables" / "books.csv", tmp_path / "d")
    (where,) = re.findall(r"`(CAST\(\"books#.*?)`", (root / "README.md").read_text(encoding="utf-8"))

    assert 0 < num_taken(IncidenceDataset(tmp_path / "d"), where) < len(IncidenceDataset(tmp_path / "d"))
