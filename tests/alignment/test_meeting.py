"""Contents that meet: counted by kind as sets of keys are, in any number of passes, over real datasets too."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lisdata
from lisdata.alignment import collect_same_as, count_matches, find_meetings
from lisdata.contents import Content, entity
from lisdata.shards import IncidenceDataset, write_structures
from lisdata.shards.same_as import SameAs, same_as_rows
from lisdata.testing import contents

WIKIDATA = "Q=http://www.wikidata.org/entity/"
CONTENT_SETS = st.lists(st.sets(contents(), max_size=6), min_size=2, max_size=4)


def by_kind(found: set[Content]) -> dict[str, int]:
    return dict(Counter(content.kind.name.lower() for content in found))


@given(CONTENT_SETS, st.integers(1, 5))
@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
def test_meetings_are_the_intersections(
    tmp_path_factory: pytest.TempPathFactory, sets: list[set[Content]], keys_a_pass: int
) -> None:
    folder = tmp_path_factory.mktemp("meeting")
    common = {entity("shared by all")}
    for number, found in enumerate(sets):
        write_structures(folder / str(number), [], isolated=tuple(found | common))

    report = find_meetings(
        [IncidenceDataset(folder / str(n)) for n in range(len(sets))], num_examples=2, keys_a_pass=keys_a_pass
    )

    assert list(report.contents) == [by_kind(found | common) for found in sets]
    wanted = [*combinations(range(len(sets)), 2), *([tuple(range(len(sets)))] if len(sets) > 2 else [])]
    assert [meeting.members for meeting in report.meetings] == wanted
    for meeting in report.meetings:
        shared = set.intersection(*(sets[member] | common for member in meeting.members))
        assert meeting.by_kind == by_kind(shared)
        assert len(meeting.examples) == min(2, len(shared))
        assert set(meeting.examples) <= {content.text for content in shared}


def test_contents_that_are_the_same_count_as_one(tmp_path: Path) -> None:
    write_structures(tmp_path / "a", [], isolated=(entity("Tom"), entity("Thomas"), entity("Ann")))
    write_structures(tmp_path / "b", [], isolated=(entity("T."),))
    keys = {name: entity(name).key for name in ("Tom", "Thomas", "T.")}
    same_as = SameAs.of_table(same_as_rows([(keys["Tom"], keys["Thomas"]), (keys["T."], keys["Thomas"])], "me"))

    report = find_meetings([IncidenceDataset(tmp_path / name) for name in "ab"], same_as=same_as)

    assert report.contents == ({"entity": 2}, {"entity": 1})
    assert report.meetings[0].count == 1


def test_sentence_hyperedge_and_table_of_one_entity_meet(root: Path, tmp_path: Path) -> None:
    samples = root / "sample_data"
    lisdata.convert("jsonl", samples / "table2/sentence.jsonl", tmp_path / "text")
    lisdata.convert("hif", samples / "table2/interaction.hif.json", tmp_path / "edges")

    report = find_meetings([IncidenceDataset(tmp_path / name) for name in ("text", "edges")])

    (meeting,) = report.meetings
    assert meeting.by_kind == {"entity": 3}
    assert set(meeting.examples) == {"Aspirin", "COX-2", "Inflammation"}


def test_a_mention_by_short_id_meets_triples_and_facts(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(
        '{"text": "😀 Douglas Adams", "entities": [{"start": 2, "end": 15, "id": "Q42"}]}\n', encoding="utf-8"
    )
    (tmp_path / "g.nt").write_text("<http://www.wikidata.org/entity/Q42> <e:p> <e:b> .\n")
    (tmp_path / "n.txt").write_text("Q42,P800,Q3107329,P585,Q2\n")
    lisdata.convert("jsonl", tmp_path / "t.jsonl", tmp_path / "t", options={"id_prefix": (WIKIDATA,)})
    lisdata.convert("ntriples", tmp_path / "g.nt", tmp_path / "g")
    lisdata.convert("nary", tmp_path / "n.txt", tmp_path / "n", options={"layout": "wd50k", "id_prefix": (WIKIDATA,)})
    datasets = [IncidenceDataset(tmp_path / name) for name in "tgn"]

    report = find_meetings(datasets)

    assert [meeting.by_kind for meeting in report.meetings] == [{"entity": 1}] * 4
    (sentence,) = datasets[0].iter_structures()
    mention = next(n for n, o in enumerate(sentence.occurrences) if o.content.lexical.endswith(b"Q42"))
    assert sentence.surface(mention) == "Douglas Adams"  # offsets are code points, spans bytes


def test_a_row_of_a_table_meets_a_mention_by_its_key(root: Path, tmp_path: Path) -> None:
    lisdata.convert("jsonl", root / "sample_data/table2/sentence.jsonl", tmp_path / "text")
    (tmp_path / "drugs.csv").write_text("id,name\nB01,aspirin\nB02,ibuprofen\n")
    lisdata.convert("csv", tmp_path / "drugs.csv", tmp_path / "table", options={"primary_key": ("id",)})
    (tmp_path / "pairs.tsv").write_text("B01\tAspirin\n")
    datasets = [IncidenceDataset(tmp_path / name) for name in ("text", "table")]
    rows = collect_same_as([str(tmp_path / "pairs.tsv")], datasets, key_scope="table:drugs.id")

    apart, joined = (find_meetings(datasets, same_as=s).meetings[0] for s in (None, SameAs.of_rows(rows)))

    assert apart.count == 0
    assert (joined.by_kind, joined.examples) == ({"entity": 1}, ("Aspirin",))


def test_a_dump_meets_three_benchmarks_in_the_ids_that_they_share(shared: Path, tmp_path: Path) -> None:
    kg = shared / "data" / "kg"
    lines = "".join(
        (kg / f"triples/codex-s/{name}.txt").read_text() for name in ("train", "valid", "test")
    ).splitlines()
    item = "http://www.wikidata.org/entity/"
    triples = (f"<{item}{s}> <e:{p}> <{item}{o}> .\n" for s, p, o in (line.split() for line in lines))
    (tmp_path / "codex.nt").write_text("".join(triples))
    lisdata.convert("wikidata", kg / "wikidata/json/dump_head.json", tmp_path / "dump")
    lisdata.convert("ntriples", tmp_path / "codex.nt", tmp_path / "codex")
    for name, path in (("wd50k", "nary/wd50k_100/train.txt"), ("people", "nary/wikipeople/valid.json")):
        lisdata.convert("nary", kg / path, tmp_path / name, options={"id_prefix": (WIKIDATA,)})

    report = find_meetings([IncidenceDataset(tmp_path / name) for name in ("dump", "codex", "wd50k", "people")])

    shared_ids = {meeting.members: meeting.by_kind for meeting in report.meetings}
    # 298 items of WD50K are named in the dump; one more, the Earth (Q2), only as the globe of coordinates
    assert [shared_ids[0, n] for n in (1, 2, 3)] == [{"entity": 106}, {"entity": 299}, {"entity": 239}]


def test_one_dataset_meets_none(tmp_path: Path) -> None:
    write_structures(tmp_path / "a", [])

    with pytest.raises(ValueError, match="expected 2 to 16 datasets, got 1"):
        find_meetings([IncidenceDataset(tmp_path / "a")])


def test_datasets_without_contents_meet_in_nothing(tmp_path: Path) -> None:
    for name in "ab":
        write_structures(tmp_path / name, [])

    (meeting,) = find_meetings([IncidenceDataset(tmp_path / name) for name in "ab"]).meetings

    assert (meeting.count, meeting.examples) == (0, ())


@given(CONTENT_SETS, st.data())
@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
def test_matches_of_a_table_are_the_intersections_with_it(
    tmp_path_factory: pytest.TempPathFactory, sets: list[set[Content]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("matches")
    known = sorted({content.key for found in sets for content in found} | {entity("elsewhere").key})
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(known), st.sampled_from(known)), max_size=6))
    for number, found in enumerate(sets):
        write_structures(folder / str(number), [], isolated=tuple(found))

    matches = count_matches(
        [IncidenceDataset(folder / str(n)) for n in range(len(sets))], SameAs.of_table(same_as_rows(pairs, "me"))
    )

    named = {key for pair in pairs for key in pair}
    assert matches.found == tuple(len({content.key for content in found} & named) for found in sets)
    graph = nx.Graph(pairs)
    present = {content.key for found in sets for content in found}
    assert matches.joined == sum(len(present & members) > 1 for members in nx.connected_components(graph))
