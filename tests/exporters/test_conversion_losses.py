"""What the conversion left out is told of the input that it was in, and once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
import rule_parser
from rule_parser import sentence_of
from small_treebanks import write_sentence

from lisdata.conversion import convert
from lisdata.datasets import export, merge, verify
from lisdata.exporters.conversion_losses import DROPPED, DROPPED_SOMEWHERE
from lisdata.shards.manifest import MANIFEST, read_manifest, sealed

GOOD, CROSSING = write_sentence([2, 0]), write_sentence([0, 1, 1, 2])
TREEBANKS = {"a": GOOD, "b": GOOD + CROSSING, "c": CROSSING * 2 + GOOD + b"# none\n\n"}
NUM_DROPPED = {"a": 0, "b": 1, "c": 2}
TEXT = b"w x y z"


@pytest.fixture
def dropped(tmp_path: Path) -> Path:
    """A dataset of three treebanks, whose sentences with crossing arcs were dropped."""
    (tmp_path / "in").mkdir()
    for name, data in TREEBANKS.items():
        (tmp_path / "in" / f"{name}.conllu").write_bytes(data)
    convert("conllu", tmp_path / "in", tmp_path / "d", options={"non_projective": "drop"}, on_error="skip")
    return tmp_path / "d"


def losses_of(dataset: Path, **settings: Any) -> Counter[str]:
    total: Counter[str] = Counter()
    for report in export(dataset, dataset.parent / "out", force=True, **settings):
        total.update(report.losses)
    return total


def age(dataset: Path) -> None:
    """Take from a dataset what older versions do not say."""
    body = read_manifest(dataset)
    for entry in body["inputs"]:
        del entry["report"]
    (dataset / MANIFEST).write_bytes(sealed(body))


@pytest.mark.parametrize("format_", ["conllu", "conllu-plain", "text"])
@pytest.mark.parametrize("name", TREEBANKS)
def test_each_input_has_the_losses_of_its_own_conversion(dropped: Path, name: str, format_: str) -> None:
    losses = losses_of(dropped, format=format_, inputs=f"{name}.conllu")

    assert losses[DROPPED] == NUM_DROPPED[name]
    assert losses["rejected records"] == (name == "c")


def test_all_inputs_together_have_the_sum(dropped: Path) -> None:
    assert losses_of(dropped)[DROPPED] == 3


def test_the_manifest_counts_by_input_what_it_counts_in_all(dropped: Path) -> None:
    manifest = read_manifest(dropped)

    total: Counter[str] = Counter()
    for entry in manifest["inputs"]:
        total.update(entry["report"])
    assert total == Counter(manifest["report"])
    assert [entry["report"].get(DROPPED, 0) for entry in manifest["inputs"]] == list(NUM_DROPPED.values())


def test_the_counts_of_an_input_do_not_depend_on_units(dropped: Path, tmp_path: Path) -> None:
    for entry in orjson.loads((dropped / "plan.json").read_bytes())["inputs"]:
        alone = tmp_path / f"{entry['name']}.lis"
        path = tmp_path / "in" / entry["name"]
        convert("conllu", path, alone, options={"non_projective": "drop"}, on_error="skip")
        (found,) = read_manifest(alone)["inputs"]
        assert found["report"] == read_manifest(dropped)["inputs"][entry["index"]]["report"]


def test_two_formats_tell_each_sentence_once(dropped: Path, tmp_path: Path) -> None:
    """A text and treebanks, each written by the exporter of its source."""
    (tmp_path / "a.txt").write_bytes(TEXT)
    spans = [(place, place + 1) for place in range(0, 7, 2)]
    rule_parser.SCRIPT[TEXT.decode()] = [sentence_of(spans, [0, 1, 1, 2])]
    options = {"parser": "python:rule_parser:recite", "non_projective": "drop"}
    convert("parsed", tmp_path / "a.txt", tmp_path / "t", options=options)
    merge([dropped, tmp_path / "t"], tmp_path / "both")

    reports = export(tmp_path / "both", tmp_path / "back")

    assert sorted(report.losses[DROPPED] for report in reports) == [1, 3]
    assert losses_of(tmp_path / "both", inputs="a.txt")[DROPPED] == 1
    assert read_manifest(tmp_path / "both")["report"][DROPPED] == 4


@pytest.mark.parametrize("format_", ["conllu", "text"])
def test_an_older_dataset_is_read_and_says_that_it_knows_no_more(dropped: Path, format_: str) -> None:
    age(dropped)

    assert verify(dropped).ok
    losses = losses_of(dropped, format=format_, inputs="a.conllu")
    assert (losses[DROPPED], losses[DROPPED_SOMEWHERE]) == (0, 3)


def test_an_older_dataset_merged_with_a_new_one_keeps_what_each_says(dropped: Path, tmp_path: Path) -> None:
    age(dropped)
    (tmp_path / "new.conllu").write_bytes(write_sentence([0, 1]) + write_sentence([0, 1, 1, 2, 4]))
    convert("conllu", tmp_path / "new.conllu", tmp_path / "new", options={"non_projective": "drop"})
    merge([dropped, tmp_path / "new"], tmp_path / "both")

    assert verify(tmp_path / "both").ok
    new, old = (losses_of(tmp_path / "both", inputs=f"{name}.conllu") for name in ("new", "a"))
    assert (new[DROPPED], new[DROPPED_SOMEWHERE]) == (1, 0)
    assert (old[DROPPED], old[DROPPED_SOMEWHERE]) == (0, 3)


def test_where_nothing_was_dropped_an_older_dataset_has_no_such_loss(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_bytes(GOOD)
    convert("conllu", tmp_path / "a.conllu", tmp_path / "d")
    age(tmp_path / "d")

    assert losses_of(tmp_path / "d") == {}
