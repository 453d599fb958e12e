"""The role vocabulary: numbered, append-only, hashed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lisdata.contents import Role, word
from lisdata.errors import DamagedShardError, LabelError, SchemaError
from lisdata.schema import StructureKind
from lisdata.shards import IncidenceDataset, write_structures
from lisdata.shards.manifest import sealed
from lisdata.structure import Incidence, Instance, Occurrence, Structure
from lisdata.vocabulary import RoleVocabulary

labels = st.lists(st.text(max_size=4).map(lambda relation: f"{relation}#side"), max_size=8)


def structure(name: str, *roles: Role) -> Structure:
    return Structure(
        record_id=name,
        kind=StructureKind.HYPEREDGES,
        occurrences=(Occurrence(content=word("x")),),
        instances=(Instance(label="e"),),
        incidences=tuple(Incidence(occurrence=0, instance=0, role=role) for role in roles),
    )


@given(labels, labels, st.booleans())
def test_numbers_never_change_under_extension(first: list[str], more: list[str], with_unknown: bool) -> None:
    vocabulary = RoleVocabulary.of_labels(first, with_unknown=with_unknown)

    extended = vocabulary.extended_by(more)

    assert extended.roles[: len(vocabulary)] == vocabulary.roles
    assert set(extended.roles) == {*vocabulary.roles, *more}
    assert all(extended.number(label) == vocabulary.number(label) for label in first)
    assert (extended.hash == vocabulary.hash) == (len(extended) == len(vocabulary))


@given(labels, st.booleans())
def test_a_vocabulary_survives_its_file(
    tmp_path_factory: pytest.TempPathFactory, found: list[str], with_unknown: bool
) -> None:
    path = tmp_path_factory.mktemp("roles") / "roles.json"
    vocabulary = RoleVocabulary.of_labels(found, with_unknown=with_unknown)

    vocabulary.write(path)

    assert RoleVocabulary.read(path) == vocabulary
    assert RoleVocabulary.read(path).hash == vocabulary.hash


def test_number_0_is_no_role_and_1_unknown_only_when_asked_for() -> None:
    plain = RoleVocabulary.of_labels(["a#b"])
    with_unknown = RoleVocabulary.of_labels(["a#b"], with_unknown=True)

    assert plain.roles == ("<none>", "a#b")
    assert with_unknown.roles == ("<none>", "<unk>", "a#b")
    assert (plain.has_unknown, with_unknown.has_unknown) == (False, True)
    assert with_unknown.numbers(["a#b", "c#d"], unknown="unk").tolist() == [2, 1]


def test_an_unknown_role_is_an_error_that_names_it_and_the_file(tmp_path: Path) -> None:
    path = tmp_path / "roles.json"
    RoleVocabulary.of_labels(["a#b"], with_unknown=True).write(path)

    with pytest.raises(LabelError, match=r"roles\.json: .* found the role 'c#d'"):
        RoleVocabulary.read(path).number("c#d")
    with pytest.raises(LabelError, match=r"expected an <unk> entry for it, found the role 'c#d'"):
        RoleVocabulary.of_labels(["a#b"]).number("c#d", unknown="unk")


def test_another_vocabulary_is_refused_by_its_hash() -> None:
    vocabulary = RoleVocabulary.of_labels(["a#b", "c#d"])

    vocabulary.check_same(vocabulary.hash, "checkpoint")
    with pytest.raises(LabelError, match="checkpoint: expected roles of hash"):
        vocabulary.check_same(RoleVocabulary.of_labels(["c#d", "a#b"]).hash, "checkpoint")


def test_a_dataset_s_roles_are_numbered_by_first_appearance_and_grids_imply_one(tmp_path: Path) -> None:
    field = np.zeros((2, 2), np.uint8)
    grid = Structure(record_id="g", kind=StructureKind.GRID, instances=(Instance(label="map"),), tensor=field)
    other = structure("t", Role("z", "1"), Role("a", "1"), Role("z", "1"))
    write_structures(tmp_path / "lis", [grid, other])

    vocabulary = RoleVocabulary.from_dataset(IncidenceDataset(tmp_path / "lis"))

    assert vocabulary.roles == ("<none>", "z#1", "a#1", "map#cell")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"format": "lisdata-characters", "roles": []}, "expected format 'lisdata-roles'"),
        ({"format": "lisdata-roles", "roles": "ab"}, "with a list of roles"),
        ({"format": "lisdata-roles", "roles": ["<none>", 3]}, "roles that are strings"),
        ({"format": "lisdata-roles", "roles": ["a#b"]}, "expected '<none>' as role 0"),
        ({"format": "lisdata-roles", "roles": ["<none>", "a#b", "a#b"]}, "expected distinct roles, got 'a#b' twice"),
        ({"format": "lisdata-roles", "roles": ["<none>", "a#b", "<unk>"]}, "expected '<unk>' as role 1"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, body: dict[str, object], message: str) -> None:
    path = tmp_path / "roles.json"
    path.write_bytes(sealed(body))

    with pytest.raises(SchemaError, match=message):
        RoleVocabulary.read(path)


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "roles.json"
    RoleVocabulary.of_labels(["a#b"]).write(path)
    path.write_bytes(path.read_bytes().replace(b"a#b", b"a#c"))

    with pytest.raises(DamagedShardError, match="self_sha256"):
        RoleVocabulary.read(path)
