"""What structures give an address: a statement with qualifiers, rows, a tree, grids, and LIS Table 2."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from lisdata.contents import Role
from lisdata.conversion import convert
from lisdata.datasets import open as open_dataset
from lisdata.errors import LabelError
from lisdata.journeys import (
    RoleInstanceAssignment,
    Rotations,
    addresses,
    attention_scores,
    pack_instances,
    rope_2d_addresses,
    rope_addresses,
    rotary_frequencies,
    serialized_starts,
)
from lisdata.schema import StructureKind
from lisdata.structure import Instance, Structure
from lisdata.testing import read_examples, structure_lists
from lisdata.vocabulary import RoleVocabulary

WIDTH = 16


@pytest.fixture
def valid(root: Path) -> Path:
    return root / "schemas" / "examples" / "v1" / "valid"


def sample(root: Path, source: str, path: str, to: Path) -> list[Structure]:
    convert(source, [root / "sample_data" / path], to)
    return list(open_dataset(to).iter_structures())


@settings(max_examples=60, deadline=None)
@given(structure_lists())
def test_every_endpoint_is_there_once_and_in_order(structures: list[Structure]) -> None:
    found = addresses(*structures)

    expected, cells = [], 0
    first_occurrence = first_instance = 0
    for structure in structures:
        for i in structure.incidences:
            content = structure.occurrences[i.occurrence].content
            numbers = (first_occurrence + i.occurrence, first_instance + i.instance, i.position)
            expected.append((*numbers, i.role, content))
        if structure.tensor is not None:
            cells = structure.tensor.size
            role = Role(structure.instances[0].label, "cell")
            expected += [(first_occurrence + k, first_instance, k, role, None) for k in range(cells)]
            first_occurrence += cells
        first_occurrence += len(structure.occurrences)
        first_instance += len(structure.instances)
    assert [
        (v, e, p, found.roles[s], None if c < 0 else found.contents[c])
        for v, e, p, s, c in zip(
            found.occurrence.tolist(), found.instance.tolist(), found.position.tolist(), found.role, found.content,
            strict=True,
        )
    ] == expected  # fmt: skip
    assert len(found) == len(expected)
    assert len(found.instances) == len(found.shapes) == first_instance
    assert len(set(found.roles)) == len(found.roles)
    assert len(set(found.contents)) == len(found.contents)


def test_table_2_has_its_six_rows_and_three_shared_contents(valid: Path) -> None:
    found = addresses(*read_examples(valid / "table_2.json")[0])
    holders = [set(found.instance[found.content == c].tolist()) for c in range(len(found.contents))]

    rows = [
        (v + 1, found.contents[c].text, e + 1, " ".join(names))
        for v, c, e, names in zip(
            found.occurrence, found.content, found.instance, found.folded_factors(), strict=True
        )
        if len(holders[c]) > 1
    ]  # fmt: skip

    assert rows == [
        (1, "Aspirin", 1, "R_POS_1 R_e1"),
        (3, "COX-2", 1, "R_POS_3 R_e1"),
        (6, "Inflammation", 1, "R_POS_6 R_e1"),
        (7, "Aspirin", 2, "R_drug R_e2"),
        (8, "COX-2", 2, "R_target R_e2"),
        (9, "Inflammation", 2, "R_disease R_e2"),
    ]


def test_a_statement_s_qualifiers_are_roles_of_its_instance(valid: Path) -> None:
    found = addresses(read_examples(valid / "wikidata_statements.json")[0][0])
    property_ = "R_http://www.wikidata.org/entity/"

    assert [found.factors(i) for i in range(8)] == [
        (f"{property_}P69#subject", "R_e1"),
        (f"{property_}P69#value", "R_e1"),
        (f"{property_}P580#qualifier", "R_e1"),
        (f"{property_}P580#precision", "R_e1"),
        (f"{property_}P812#qualifier", "R_e1"),
        ("R_pos^1", f"{property_}P812#qualifier", "R_e1"),
        ("R_statement#rank", "R_e1"),
        ("R_statement#reference", "R_e1"),
    ]
    assert found.instance.tolist() == [0] * 8 + [1] * 3 + [2] * 3 + [3]
    assert found.factors(14) == (f"{property_}P854#reference", "R_e4")
    assert [" ".join(names) for names in found.folded_factors()][4:6] == ["R_qualifier[0] R_e1", "R_qualifier[1] R_e1"]
    assert len(found.roles) == 12
    assert found.role[6] == found.role[10] == found.role[13]  # the rank of three statements


def test_a_row_of_a_table_has_a_role_a_column(valid: Path) -> None:
    structures, _ = read_examples(valid / "composite_self_reference.json")

    found = addresses(*structures[:2])

    assert [found.factors(i)[0] for i in range(6)] == [
        "R_part#maker",
        "R_part#number",
        "R_part#part_of_maker",
        "R_part#part_of_number",
        "R_part#name",
        "R_part#key:maker+number",
    ]
    assert set(found.instance.tolist()) == {0, 1}
    key_of_first = found.content[5]  # the second row's reference shows the first row's key
    assert found.instance[found.content == key_of_first].tolist() == [0, 1]


def test_rows_of_a_csv_file_share_roles_and_differ_by_instance(root: Path, tmp_path: Path) -> None:
    _, *rows = sample(root, "csv", "tables/books.csv", tmp_path / "books.lis")  # the first is how the file is written

    found = addresses(*rows)

    num_rows = len(found.instances)
    assert num_rows == len(rows) > 1
    assert len(found) == num_rows * len(found.roles)
    assert found.role.tolist() == list(range(len(found.roles))) * num_rows


def test_a_tree_s_edges_are_instances_of_a_parent_and_a_child(root: Path, tmp_path: Path) -> None:
    (page,) = sample(root, "html", "html/page.html", tmp_path / "page.lis")
    found = addresses(page)
    parent, child = (found.roles.index(Role("child", side)) for side in ("PARENT", "CHILD"))

    edges = np.unique(found.instance[found.role == child])

    assert len(edges) > 10
    for edge in edges:
        assert sorted(found.role[found.instance == edge].tolist()) == sorted([parent, child])
    siblings = found.position[found.role == child]
    names = [found.factors(i) for i in np.flatnonzero(found.role == child)]
    assert all((f"R_pos^{p}" in n) == (p > 0) for p, n in zip(siblings, names, strict=True))
    below = np.setdiff1d(found.occurrence[found.role == child], found.occurrence[found.role == parent])
    assert 0 < len(below) < len(edges)  # an occurrence is a child in one edge and a parent in others


def test_cells_of_a_grid_have_coordinates_on_demand(valid: Path) -> None:
    (grid,), _ = read_examples(valid / "small_grid.json")
    found = addresses(grid)

    coordinates = found.coordinates(np.arange(6))

    assert coordinates.tolist() == [[y, x] for y in range(2) for x in range(3)]
    assert found.factors(5) == ("R_1^1", "R_2^2", "R_grid#cell", "R_e1")
    assert found.factors(0) == ("R_grid#cell", "R_e1")
    assert found.folded_factors()[5] == ("R_(1,2)", "R_e1")
    address = rope_2d_addresses(coordinates, WIDTH)
    assert address[5].angles == pytest.approx(np.outer([1, 2], [1, 10**-0.5, 0.1, 10**-1.5]).ravel())


def test_a_large_grid_is_not_copied_into_columns() -> None:
    grid = Structure(
        record_id="g",
        kind=StructureKind.GRID,
        instances=(Instance(label="heat"),),
        tensor=np.zeros((1000, 1000), np.float32),
    )

    found = addresses(grid)

    assert len(found) == 1_000_000
    assert found.role.strides == found.instance.strides == found.content.strides == (0,)
    assert found.coordinates([123_456]).tolist() == [[123, 456]]


def test_grids_of_any_rank_keep_their_cells_beside_other_structures(valid: Path) -> None:
    grids, _ = read_examples(valid / "grids_without_cells.json")
    (small,), _ = read_examples(valid / "small_grid.json")
    found = addresses(*grids, small, *read_examples(valid / "table_2.json")[0])

    assert len(found) == 0 + 1 + 6 + 6 + 3
    assert found.coordinates([0]).shape == (1, 0)
    assert found.coordinates([6]).tolist() == [[1, 2]]
    assert found.factors(7) == ("R_sentence#token", "R_e4")
    with pytest.raises(ValueError, match=r"cells of one grid, got endpoints of the instances \[1, 2\]"):
        found.coordinates([0, 1])
    with pytest.raises(ValueError, match=r"cells of one grid, got endpoints of the instances \[3\]"):
        found.coordinates([7])


def test_a_grid_without_an_instance_is_refused() -> None:
    grid = Structure(record_id="g#0", kind=StructureKind.GRID, tensor=np.zeros(2))

    with pytest.raises(ValueError, match="g#0: expected an instance that holds the grid's cells"):
        addresses(grid)


def test_no_structure_has_no_endpoints(valid: Path) -> None:
    for found in (addresses(), addresses(*read_examples(valid / "empty_structures.json")[0])):
        assert len(found) == 0
        assert found.folded_factors() == []
        assert found.position.dtype == np.int64


def test_roles_are_numbered_as_the_dataset_s_vocabulary_does(valid: Path) -> None:
    found = addresses(read_examples(valid / "table_2.json")[0][1])
    vocabulary = RoleVocabulary.of_labels(f"drug_target_disease#{side}" for side in ("disease", "drug", "target"))

    assert found.role_numbers(vocabulary).tolist() == [2, 3, 1]
    with pytest.raises(LabelError, match="drug_target_disease#drug"):
        found.role_numbers(RoleVocabulary())


def test_statements_packed_in_another_order_keep_their_lis_scores_and_not_their_serialized_ones(valid: Path) -> None:
    found = addresses(*read_examples(valid / "wikidata_statements.json")[0])
    random = np.random.default_rng(0)
    vectors = random.standard_normal((len(found.contents), WIDTH))[found.content]
    frequencies = rotary_frequencies(WIDTH)
    assignment = RoleInstanceAssignment(
        roles=Rotations(random.standard_normal((len(found.roles), WIDTH // 2))),
        instances=Rotations(random.standard_normal((len(found.instances), WIDTH // 2))),
        position=Rotations(frequencies),
    )
    num_tokens = np.array([len(content.text) for content in found.contents])[found.content]

    def scores(order: list[int]) -> tuple[np.ndarray, np.ndarray]:
        packed = pack_instances(found.instance, order)
        lis = assignment.address(found.role[packed], found.instance[packed], found.position[packed])
        serialized = rope_addresses(serialized_starts(num_tokens[packed]), frequencies)
        back = np.ix_(*[np.argsort(packed)] * 2)
        x = vectors[packed]
        return attention_scores(x, x, lis, lis)[back], attention_scores(x, x, serialized, serialized)[back]

    (lis, serialized), (other_lis, other_serialized) = scores([0, 1, 2, 3, 4, 5]), scores([4, 2, 0, 5, 3, 1])

    np.testing.assert_allclose(other_lis, lis, rtol=0, atol=1e-12)
    within = found.instance[:, None] == found.instance
    np.testing.assert_allclose(other_serialized[within], serialized[within], rtol=0, atol=1e-9)
    assert (np.abs(other_serialized - serialized)[~within] > 1e-3).mean() > 0.9


def test_a_fact_with_a_longer_name_moves_serialized_roles_and_not_the_address(valid: Path) -> None:
    """Theorem A.1 on Table 2's hyperedge: the drug's name says how far the target is."""
    (_, edge), _ = read_examples(valid / "table_2.json")
    renamed = replace(edge.occurrences[0].content, lexical=b"Acetylsalicylic acid")
    longer = replace(edge, occurrences=(replace(edge.occurrences[0], content=renamed), *edge.occurrences[1:]))

    def layout(structure: Structure) -> tuple[list[int], list[tuple[str, ...]]]:
        found = addresses(structure)
        starts = serialized_starts(np.array([len(found.contents[c].text) for c in found.content]))
        return np.diff(starts).tolist(), [found.factors(i) for i in range(len(found))]

    assert layout(edge) == ([8, 6], layout(longer)[1])
    assert layout(longer)[0] == [21, 6]
