"""Digests of facts: equal exactly where the facts are, whatever the order of participants and structures."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lisdata.alignment.facts import LEVELS, iter_facts
from lisdata.contents import Content
from lisdata.schema import ContentKind, StructureKind
from lisdata.shards import IncidenceDataset, write_structures
from lisdata.structure import Instance, Structure
from lisdata.testing import structure_lists

Fact = tuple[Any, ...]


def naive_facts(structures: list[Structure], *, ordinals: bool = False) -> dict[str, Counter[Fact]]:
    """Return what is compared, as the module says it, from the friendly view."""
    found: dict[str, Counter[Fact]] = {level: Counter() for level in LEVELS}
    for structure in structures:
        participants: list[list[Fact]] = [[] for _ in structure.instances]
        for i in structure.incidences:
            o = structure.occurrences[i.occurrence]
            participants[i.instance].append((i.role.label, i.position, o.content.key, o.head, o.deprel))
        for instance, listed in zip(structure.instances, participants, strict=True):
            handle = None if instance.handle is None else instance.handle.key
            ordinal = instance.ordinal if ordinals else None
            members = tuple(sorted(Counter(map(repr, listed)).items()))
            found["instances"][(instance.label, handle, members, ordinal)] += 1
            found["incidences"].update((instance.label, *participant) for participant in listed)
        if structure.document is not None or structure.tensor is not None:
            tensor = structure.tensor
            shown = None if tensor is None else (tensor.dtype.str, tensor.shape, tensor.tobytes())
            found["documents"][(structure.kind, structure.document, shown)] += 1
        handles = (e.handle for e in structure.instances if e.handle is not None)
        found["contents"].update((c.key,) for c in (*(o.content for o in structure.occurrences), *handles))
    found["contents"] = Counter(dict.fromkeys(found["contents"], 1))
    return found


def digests(folder: Path, structures: list[Structure], **options: Any) -> dict[str, Counter[bytes]]:
    write_structures(folder, structures)
    found: dict[str, Counter[bytes]] = {level: Counter() for level in LEVELS}
    for part in IncidenceDataset(folder).parts:
        for facts in iter_facts(part, {}, **options):
            found[facts.level].update(row.tobytes() for row in facts.digest)
    return found


@given(structure_lists(), structure_lists(), st.booleans())
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_digests_are_equal_exactly_where_facts_are(
    tmp_path_factory: pytest.TempPathFactory, left: list[Structure], right: list[Structure], ordinals: bool
) -> None:
    folder = tmp_path_factory.mktemp("facts")

    found = [digests(folder / str(n), s, ordinals=ordinals) for n, s in enumerate((left, right))]

    expected = [naive_facts(s, ordinals=ordinals) for s in (left, right)]
    for level in LEVELS:
        for one, wanted in zip(found, expected, strict=True):
            assert sorted(one[level].values()) == sorted(wanted[level].values()), level
        shared = sum((found[0][level] & found[1][level]).values())
        assert shared == sum((expected[0][level] & expected[1][level]).values()), level


@given(structure_lists(), st.randoms())
@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.too_slow])
def test_the_order_of_structures_and_participants_is_no_fact(
    tmp_path_factory: pytest.TempPathFactory, structures: list[Structure], random: Any
) -> None:
    folder = tmp_path_factory.mktemp("facts")
    shuffled = [replace(s, incidences=tuple(random.sample(s.incidences, len(s.incidences)))) for s in structures]
    random.shuffle(shuffled)

    assert digests(folder / "a", structures) == digests(folder / "b", shuffled)


def test_places_lead_back_to_the_facts(tmp_path: Path, root: Path) -> None:
    import lisdata

    lisdata.convert("hif", root / "sample_data/hif/kitchen.hif.json", tmp_path / "data")
    (part,) = IncidenceDataset(tmp_path / "data").parts
    structures = [part.reader.read(part.structures, row) for row in range(part.structures.num_rows)]

    found = {facts.level: facts for facts in iter_facts(part, {})}

    incidences, instances = found["incidences"], found["instances"]
    expected = [(row, n) for row, s in enumerate(structures) for n in range(len(s.incidences))]
    assert list(zip(incidences.row.tolist(), incidences.item.tolist(), strict=True)) == expected
    expected = [(row, n) for row, s in enumerate(structures) for n in range(len(s.instances))]
    assert list(zip(instances.row.tolist(), instances.item.tolist(), strict=True)) == expected


def test_a_matched_scope_counts_as_its_other_name(tmp_path: Path) -> None:
    def keys(name: str, scope: str, scopes: dict[str, str]) -> np.ndarray:
        handle = Content(ContentKind.INSTANCE, b"b0", "d", "l", scope)
        made = Structure(
            record_id="r", kind=StructureKind.TRIPLES, instances=(Instance(label="x", ordinal=0, handle=handle),)
        )
        write_structures(tmp_path / name, [made])
        (part,) = IncidenceDataset(tmp_path / name).parts
        return next(iter_facts(part, scopes)).digest

    plain = keys("a", "file a", {})
    matched = [keys("b", "file a", {"file a": "input 0"}), keys("c", "file c", {"file c": "input 0", "file a": "no"})]

    assert np.array_equal(matched[0], matched[1])
    assert not np.array_equal(plain, matched[0])
    key = Content(ContentKind.INSTANCE, b"b0", "d", "l", "input 0").key
    assert matched[0].astype(">u8").tobytes() == key
