from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import Content, Role, entity
from lisdata.converters.facts import FACTS, FactOptions
from lisdata.inputs import InputFile
from lisdata.invariants import check_structures
from lisdata.registry import load_converter
from lisdata.schema import NO_ROW, ContentKind, StructureKind
from lisdata.sources.fact_columns import FactColumns
from lisdata.structure import Incidence, Instance, Occurrence, Structure

FILE = InputFile(index=2, path="a", name="a", size=0, digest="d", scope="s", compression=None)
ROLES = st.builds(Role, st.sampled_from(["gave", "took#"]), st.sampled_from(["who", "what"]))
PARTICIPANTS = st.lists(st.tuples(ROLES, st.sampled_from("abc").map(entity), st.integers(0, 9)), max_size=4)
HANDLES = st.none() | st.sampled_from([b"1", b'"1"']).map(lambda name: Content(ContentKind.INSTANCE, name))
FACTS_DRAWN = st.tuples(st.sampled_from(["gave", "took#"]), HANDLES, st.integers(0, 2**64 - 1), PARTICIPANTS)
GROUPS = st.lists(st.lists(FACTS_DRAWN, max_size=3), max_size=4)


def expected_structure(number: int, group: list[object]) -> Structure:
    occurrences: list[Occurrence] = []
    incidences: list[Incidence] = []
    instances: list[Instance] = []
    for label, handle, ordinal, participants in group:  # type: ignore[misc]
        for role, content, position in participants:
            end = len(occurrences)
            incidences.append(Incidence(occurrence=end, instance=len(instances), role=role, position=position))
            occurrences.append(Occurrence(content=content))
        instances.append(Instance(label=label, ordinal=ordinal, handle=handle))
    return Structure(
        record_id=f"s#{10 * number}",
        kind=StructureKind.HYPEREDGES,
        occurrences=tuple(occurrences),
        instances=tuple(instances),
        incidences=tuple(incidences),
        source=(2, 10 * number, 10 * number + 5),
    )


def convert(groups: list[list[object]], begins: list[int]) -> list[Structure]:
    columns = FactColumns()
    for group, begin in zip(groups, begins, strict=True):
        for label, handle, ordinal, participants in group:  # type: ignore[misc]
            columns.add_fact(label, NO_ROW if handle is None else columns.contents.add_content(handle), ordinal)
            for role, content, position in participants:
                columns.add_participant(role, columns.contents.add_content(content), position)
        columns.end_structure(begin, begin + 5)
    batch = FACTS.convert(columns.to_records(FILE, num_records=len(groups)), FactOptions())
    tables = [pa.Table.from_batches([b]) for b in (batch.structures, batch.contents, batch.labels)]
    check_structures(tables[0], tables[1], tables[2], "facts")
    assert np.array_equal(batch.structures["kind"], [StructureKind.HYPEREDGES] * len(groups))
    return [Structure.from_arrow(batch, row) for row in range(len(groups))]


def test_it_is_registered() -> None:
    assert load_converter("facts") is FACTS


@settings(deadline=None)
@given(groups=GROUPS)
def test_a_participant_is_an_occurrence_and_a_fact_an_instance(groups: list[list[object]]) -> None:
    found = convert(groups, [10 * number for number in range(len(groups))])

    assert found == [expected_structure(number, group) for number, group in enumerate(groups)]


def test_structures_that_begin_at_one_offset_are_told_apart() -> None:
    found = convert([[], [], [], []], [0, 7, 7, 9])

    assert [s.record_id for s in found] == ["s#0", "s#7.0", "s#7.1", "s#9"]
