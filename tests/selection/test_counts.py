"""What is said of a selection counts records; what tells how a file was written goes along and is none."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lisdata
from lisdata.cli import main
from lisdata.contents import entity
from lisdata.schema import StructureKind
from lisdata.selection import sample, split
from lisdata.selection.duplicates import count_firsts
from lisdata.selection.selecting import count_records, count_taken
from lisdata.selection.shares import count_left_out, sample_choice, split_choices
from lisdata.shards import IncidenceDataset, write_structures
from lisdata.shards.companions import find_companions
from lisdata.structure import Occurrence, Structure

SHARES = {"a": 0.5, "b": 0.3}


def num_records(dataset: IncidenceDataset) -> int:
    return sum(int(np.count_nonzero(~find_companions(dataset, part))) for part in dataset.parts)


@given(st.lists(st.lists(st.sampled_from("xyz"), max_size=6), min_size=1, max_size=3))
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_counts_ahead_and_after_are_those_of_the_records(
    tmp_path_factory: pytest.TempPathFactory, tables: list[list[str]]
) -> None:
    folder = tmp_path_factory.mktemp("counts")
    (folder / "in").mkdir()
    for number, cells in enumerate(tables):
        (folder / "in" / f"t{number}.csv").write_text("\n".join(["a", *cells]) + "\n")
    lisdata.convert("csv", folder / "in", folder / "d")
    dataset = IncidenceDataset(folder / "d")
    total = sum(map(len, tables))

    counted = count_left_out(dataset, split_choices(SHARES))
    manifests = split(folder / "d", folder / "shares", SHARES)

    assert sum(counted.values()) == total == num_records(dataset)
    for name, manifest in manifests.items():
        assert counted[name] == count_records(manifest) == num_records(IncidenceDataset(folder / "shares" / name))
    assert count_firsts(folder / "d") == (sum(len(set(cells)) for cells in tables), total)


def test_structures_made_in_memory_are_counted(tmp_path: Path) -> None:
    facts = (Occurrence(content=entity("http://e.org/x")),)
    structures = [
        Structure(record_id=f"r{number}", kind=StructureKind.TRIPLES, occurrences=facts) for number in range(4)
    ]
    write_structures(tmp_path / "d", structures)
    dataset = IncidenceDataset(tmp_path / "d")

    assert count_records(sample(tmp_path / "d", tmp_path / "s", num_structures=3)) == 3
    assert count_taken(dataset, sample_choice(dataset, fraction=1.0, num_structures=None)) == (4, 4)


@pytest.mark.parametrize("command", [("sample", "--num", "2"), ("dedup",), ("split", "--share", "all=1")])
def test_commands_say_how_many_records_they_took(root: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    lisdata.convert("csv", root / "sample_data/tables", tmp_path / "d")
    wanted = 2 if command[0] == "sample" else num_records(IncidenceDataset(tmp_path / "d"))

    result = CliRunner().invoke(main, [command[0], str(tmp_path / "d"), *command[1:], "--to", str(tmp_path / "o")])
    ahead = CliRunner().invoke(
        main, [command[0], str(tmp_path / "d"), *command[1:], "--to", str(tmp_path / "o2"), "--dry-run"]
    )

    assert result.exit_code == ahead.exit_code == 0, result.output
    assert re.findall(r", (\d+) structures", result.stdout) == [str(wanted)]
    assert re.search(rf"\b{wanted}\b.* structures", ahead.stdout)
