"""Facts with text: JSON Lines in, structures of kind mixed, and the same bytes out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.conversion import convert
from lisdata.errors import BadRecordError
from lisdata.registry import load_exporter
from lisdata.schema import ContentKind, StructureKind
from lisdata.shards import IncidenceDataset
from lisdata.shards.verifying import verify_dataset
from lisdata.sources.fact_text import Fact, write_line

LINE = write_line(
    [Fact(relation="work:boss-captain", participants=(("boss", "ann"), ("captain", "bo")))],
    "ann is bo's boss",
    [(0, 3, "ann"), (7, 9, "bo")],
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
ROLES = NAMES.map(lambda name: name.replace("#", "")) | st.just("token")
FACTS = st.builds(
    lambda relation, participants: Fact(relation=relation, participants=tuple(participants)),
    NAMES | st.sampled_from(["record", "mention"]),
    st.lists(st.tuples(ROLES, NAMES), max_size=3),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fact-text")


def dataset_of(folder: Path, data: bytes, **options: Any) -> IncidenceDataset:
    shutil.rmtree(folder / "data", ignore_errors=True)
    (folder / "in.jsonl").write_bytes(data)
    convert("fact-text", str(folder / "in.jsonl"), folder / "data", options=options)
    return IncidenceDataset(folder / "data")


def there_and_back(folder: Path, data: bytes, **options: Any) -> bytes:
    dataset = dataset_of(folder, data, **options)
    assert not verify_dataset(folder / "data").problems
    report = load_exporter("fact-text").export(dataset, folder / "back.jsonl", tuple(dataset.inputs))
    assert report.losses == {}
    return (folder / "back.jsonl").read_bytes()


@st.composite
def records(draw: st.DrawFn) -> bytes:
    text = draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
    bounds = st.integers(0, len(text))
    spans = draw(st.lists(st.tuples(bounds, bounds, NAMES), max_size=3))
    entities = [(min(a, b), max(a, b), name) for a, b, name in spans]
    facts = draw(st.lists(FACTS, max_size=3))
    line = write_line(facts, text, entities)
    return draw(st.sampled_from([line, b" " + line, json.dumps(json.loads(line)).encode() + b"\r\n"]))


@settings(max_examples=60, deadline=None)
@given(st.lists(records(), max_size=4))
def test_every_line_comes_back_byte_for_byte(folder: Path, lines: list[bytes]) -> None:
    data = b"".join(lines)

    assert there_and_back(folder, data) == data


def test_a_lone_surrogate_comes_back(folder: Path) -> None:
    line = b'{"facts":[],"text":"\\ud800","entities":[{"start":0,"end":1,"id":"\\udfff"}]}\n'

    assert there_and_back(folder, line) == line


def test_a_fact_and_a_mention_share_their_entity(folder: Path) -> None:
    (structure,) = dataset_of(folder, LINE).iter_structures()

    assert structure.kind == StructureKind.MIXED
    shown = [
        (o.content.text, o.span) for o in structure.occurrences if o.content.kind == ContentKind.ENTITY
    ]  # fmt: skip
    assert shown == [("ann", None), ("bo", None), ("ann", (0, 3)), ("bo", (7, 9))]
    assert [i.label for i in structure.instances] == ["work:boss-captain", "record"]
    roles = [(i.role.label, i.instance) for i in structure.incidences[:3]]
    assert roles == [("work:boss-captain#boss", 0), ("work:boss-captain#captain", 0), ("record#token", 1)]


def test_a_repeated_role_counts_its_positions(folder: Path) -> None:
    fact = Fact(relation="peers", participants=(("peer", "a"), ("peer", "b"), ("peer", "a")))

    (structure,) = dataset_of(folder, write_line([fact], "", [])).iter_structures()

    assert [i.position for i in structure.incidences] == [0, 1, 2]


def test_ids_with_a_declared_prefix_are_iris_and_come_back(folder: Path) -> None:
    line = write_line([Fact(relation="r", participants=(("a", "Q1"),))], "Q1", [(0, 2, "Q1")])
    prefix = ("Q=http://www.wikidata.org/entity/",)

    (structure,) = dataset_of(folder, line, id_prefix=prefix).iter_structures()

    assert {o.content.text for o in structure.occurrences} == {"http://www.wikidata.org/entity/Q1"}
    assert there_and_back(folder, line, id_prefix=prefix) == line


def test_an_iri_that_would_come_back_short_keeps_its_line(folder: Path) -> None:
    line = write_line([Fact(relation="r", participants=(("a", "http://x/Q1"),))], "", [])

    assert there_and_back(folder, line, id_prefix=("Q=http://x/",)) == line


WRONG = {
    "[]": (1, 'an object with "facts", "text" and perhaps "entities"'),
    '{"text":"a"}': (1, 'an object with "facts", "text" and perhaps "entities"'),
    '{"facts":[],"text":"a","more":1}': (1, 'an object with "facts", "text" and perhaps "entities"'),
    '{"facts":{},"text":"a"}': (10, "an array"),
    '{"facts":[],"text":1}': (20, "a string"),
    '{"facts":[{"relation":"r"}],"text":"a"}': (11, 'an object with "relation" and "participants"'),
    '{"facts":[{"relation":"r","participants":[["a"]]}],"text":"a"}': (43, "a pair of role and entity"),
    '{"facts":[{"relation":"r","participants":[["a#b","c"]]}],"text":"a"}': (44, "a role without '#'"),
    '{"facts":[],"text":"a","entities":[{"start":0,"end":2,"id":"x"}]}': (53, "an offset from 0 to 1"),
    '{"facts":[],"text":"a","entities":[{"start":0.5,"end":1,"id":"x"}]}': (45, "an offset from 0 to 1"),
    '{"facts":[],"text":"a","text":"b"}': (31, "each member once"),
    '{"facts":[],"text":"a"': (23, "JSON"),
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_is_refused_with_its_place(folder: Path, line: str) -> None:
    column, expected = WRONG[line]

    with pytest.raises(BadRecordError) as caught:
        dataset_of(folder, LINE + line.encode() + b"\n")

    assert f"in.jsonl:2:{column}" in str(caught.value)
    assert expected in str(caught.value)


def test_good_records_around_a_bad_one_survive_and_the_counts_balance(folder: Path) -> None:
    shutil.rmtree(folder / "data", ignore_errors=True)
    (folder / "in.jsonl").write_bytes(LINE + b"nonsense\n" + LINE)

    manifest = convert("fact-text", str(folder / "in.jsonl"), folder / "data", on_error="quarantine")

    assert manifest["counts"]["structures"] == 2
    assert manifest["inputs"][0]["records"] == {"seen": 3, "converted": 2, "rejected": 1}
