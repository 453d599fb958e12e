"""`same_as` tables: closed under union, carried by merges, applied without changing a shard."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lisdata
from lisdata.alignment import write_same_as
from lisdata.contents import Content, Role, entity, word
from lisdata.errors import DamagedShardError, SchemaError
from lisdata.kernels.arrays import fixed_rows
from lisdata.schema import CONTENTS, SAME_AS, ContentKind, StructureKind
from lisdata.shards import IncidenceDataset, merge_datasets, verify_dataset, write_structures
from lisdata.shards.manifest import PART_TABLES, file_entry, read_manifest, write_manifest
from lisdata.shards.same_as import (
    SameAs,
    key_pairs,
    pairs_to_keys,
    read_table,
    same_as_rows,
    same_as_table,
)
from lisdata.structure import Incidence, Instance, Occurrence, Structure
from lisdata.token_shards import TokenDataset

KEYS = [entity(str(n)).key for n in range(12)]
PAIRS = st.lists(st.tuples(st.sampled_from(range(12)), st.sampled_from(range(12))), max_size=14)


def table(*pairs: tuple[int, int]) -> pa.Table:
    return same_as_rows([(KEYS[a], KEYS[b]) for a, b in pairs], "test")


def shown(same_as: SameAs, *keys: bytes) -> list[bytes]:
    rows = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 16)
    return [key.tobytes() for key in pairs_to_keys(same_as.show(key_pairs(rows)))]


def fact(record_id: str, *contents: Content, handle: Content | None = None) -> Structure:
    role = Role("knows", "member")
    return Structure(
        record_id=record_id,
        kind=StructureKind.HYPEREDGES,
        occurrences=tuple(Occurrence(content=content) for content in contents),
        instances=(Instance(label="knows", handle=handle),),
        incidences=tuple(Incidence(occurrence=n, instance=0, role=role, position=n) for n in range(len(contents))),
    )


@given(PAIRS)
def test_contents_are_joined_as_a_graph_s_components_are(pairs: list[tuple[int, int]]) -> None:
    same_as = SameAs.of_table(table(*pairs))

    graph = nx.Graph(pairs)
    graph.add_nodes_from(range(12))
    left = {a for a, b in pairs if a != b}
    expected = {}
    for component in nx.connected_components(graph):
        sinks = [KEYS[n] for n in component if n not in left] or [KEYS[n] for n in component]
        expected |= {KEYS[n]: min(sinks) for n in component}
    assert shown(same_as, *KEYS) == [expected[key] for key in KEYS]
    assert same_as.num_classes == sum(len(c) > 1 for c in nx.connected_components(graph))


@given(PAIRS, st.randoms())
def test_the_order_of_rows_does_not_matter(pairs: list[tuple[int, int]], random: object) -> None:
    mixed = sorted(pairs, key=lambda _: random.random())  # type: ignore[attr-defined]

    assert shown(SameAs.of_table(table(*pairs)), *KEYS) == shown(SameAs.of_table(table(*mixed)), *KEYS)


def test_a_long_chain_is_shown_as_its_end() -> None:
    keys = [entity(str(n)).key for n in range(5000)]
    chain = same_as_rows(list(pairwise(keys)), "chain")

    assert set(shown(SameAs.of_table(chain), *keys)) == {keys[-1]}


def test_keys_in_no_row_are_shown_as_themselves() -> None:
    assert shown(SameAs.of_table(table((0, 1))), KEYS[5], KEYS[0]) == [KEYS[5], KEYS[1]]
    assert shown(SameAs.of_table(SAME_AS.empty_table()), KEYS[5]) == [KEYS[5]]


def test_the_order_of_pairs_is_that_of_keys() -> None:
    rows = np.frombuffer(b"".join(sorted(KEYS)), np.uint8).reshape(-1, 16)

    pairs = key_pairs(rows).tolist()

    assert pairs == sorted(pairs)
    assert pairs_to_keys(key_pairs(rows)).tobytes() == rows.tobytes()


@pytest.fixture
def merged(tmp_path: Path) -> Path:
    """Two facts and rows that join "Tom" and "Thomas", merged."""
    write_structures(tmp_path / "a", [fact("a", entity("Tom"), word("Tom"))])
    handle = Content(ContentKind.INSTANCE, b"e1")
    write_structures(tmp_path / "b", [fact("b", entity("Thomas"), entity("Ann"), handle=handle)])
    write_same_as([same_as_rows([(entity("Tom").key, entity("Thomas").key)], "me")], tmp_path / "same")
    merge_datasets([tmp_path / name for name in ("a", "b", "same")], tmp_path / "merged")
    return tmp_path / "merged"


def test_a_merge_carries_the_rows_and_leaves_the_shards_as_they_are(merged: Path, tmp_path: Path) -> None:
    dataset = IncidenceDataset(merged)

    assert same_as_table(dataset).to_pylist() == [
        {"key": entity("Tom").key, "same": entity("Thomas").key, "source": "me"}
    ]
    for part, old in zip(dataset.parts, "ab", strict=True):
        (before,) = IncidenceDataset(tmp_path / old).parts
        assert all(part.path(t).read_bytes() == before.path(t).read_bytes() for t in PART_TABLES)
    assert verify_dataset(merged).problems == ()


def test_merging_in_steps_keeps_every_row(merged: Path, tmp_path: Path) -> None:
    write_same_as([table((0, 1))], tmp_path / "more")

    merge_datasets([merged, tmp_path / "more"], tmp_path / "all")

    assert same_as_table(IncidenceDataset(tmp_path / "all")).num_rows == 2
    assert verify_dataset(tmp_path / "all").problems == ()


def test_tokens_number_contents_of_a_class_alike_where_it_is_asked_for(merged: Path, tmp_path: Path) -> None:
    found = {}
    for same_as in (False, True):
        lisdata.encode(merged, tmp_path / f"{same_as}.tok", same_as=same_as)
        rows = TokenDataset(tmp_path / f"{same_as}.tok")
        found[same_as] = [[int(row["content"][row["occurrence"] == n][0]) for n in (0, 1)] for row in rows]

    assert found[False][0][0] != found[False][1][0]
    assert found[True][0][0] == found[True][1][0] == found[False][1][0]
    assert found[True][0][1] == found[False][0][1]
    texts = [[row["input_ids"].tolist() for row in TokenDataset(tmp_path / f"{s}.tok")] for s in (False, True)]
    assert texts[0] == texts[1]


def test_a_damaged_or_strange_table_is_named(merged: Path, tmp_path: Path) -> None:
    path = merged / "same_as" / "part-00000.arrow"
    path.write_bytes(path.read_bytes()[:-20])

    with pytest.raises(DamagedShardError, match=r"part-00000.arrow: expected an Arrow file with its footer"):
        read_table(path)
    with pytest.raises(DamagedShardError, match=r"part-00000.arrow"):
        IncidenceDataset(merged)
    assert any("part-00000.arrow" in problem for problem in verify_dataset(merged).problems)


def test_verify_finds_a_table_of_another_schema(tmp_path: Path) -> None:
    write_same_as([table((0, 1))], tmp_path / "same")
    path = tmp_path / "same" / "same_as" / "part-00000.arrow"
    with pa.ipc.new_file(str(path), CONTENTS):
        pass
    body = read_manifest(tmp_path / "same")

    write_manifest(tmp_path / "same", body | {"files": {"same_as/part-00000.arrow": file_entry(path)}})

    (problem,) = verify_dataset(tmp_path / "same").problems

    assert "expected a column 'same'" in problem
    with pytest.raises(SchemaError, match="expected a column 'same'"):
        SameAs.of_dataset(IncidenceDataset(tmp_path / "same"))


def test_arrow_keys_are_shown_without_leaving_arrow() -> None:
    same_as = SameAs.of_table(table((0, 1)))
    keys = pa.array([KEYS[0], KEYS[3]], pa.binary(16))

    assert same_as.show_array(keys).to_pylist() == [KEYS[1], KEYS[3]]
    assert len(fixed_rows(same_as.show_array(keys.slice(1)))) == 1
