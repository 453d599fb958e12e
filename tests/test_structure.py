from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from lisdata.contents import Content, Role, encode_text, entity, word
from lisdata.errors import SchemaError
from lisdata.schema import StructureKind
from lisdata.structure import Incidence, Instance, Occurrence, Structure, StructureReader
from lisdata.structure_json import content_from_dict, content_to_dict
from lisdata.tensors import tensor_from_bytes
from lisdata.testing import contents, structure_lists, structures

TOKEN = Role("sentence", "token")
SENTENCE = Structure(
    record_id="s",
    kind=StructureKind.TEXT,
    document="na\u00efve ideas".encode(),
    occurrences=(
        Occurrence(content=entity("Naivety"), span=(0, 6)),
        Occurrence(content=word("ideas"), span=(7, 12)),
        Occurrence(content=word("unwritten")),
    ),
    instances=(Instance(label="sentence"),),
    incidences=tuple(Incidence(occurrence=v, instance=0, role=TOKEN, position=v) for v in range(3)),
)


@given(structure_lists())
@settings(max_examples=60, deadline=None)
def test_structures_come_back_from_arrow(written: list[Structure]) -> None:
    batch = Structure.to_arrow(written)

    assert [Structure.from_arrow(batch, row) for row in range(len(written))] == written


@given(structures())
@settings(max_examples=60, deadline=None)
def test_a_structure_comes_back_from_json_text(structure: Structure) -> None:
    text = json.dumps(structure.to_dict())

    assert Structure.from_dict(json.loads(text)) == structure


@given(structures())
@settings(max_examples=60, deadline=None)
def test_a_structure_comes_back_from_networkx(structure: Structure) -> None:
    assert Structure.from_networkx(structure.to_networkx()) == structure


@given(contents())
def test_a_content_comes_back_from_json(content: Content) -> None:
    assert content_from_dict(content_to_dict(content)) == content


@given(structures())
@settings(max_examples=30, deadline=None)
def test_one_structure_has_one_json_form(structure: Structure) -> None:
    form = structure.to_dict()

    assert Structure.from_dict(form).to_dict() == form


def test_the_graph_has_a_node_a_thing_and_an_edge_an_incidence() -> None:
    graph = replace(SENTENCE, incidences=(*SENTENCE.incidences, SENTENCE.incidences[0])).to_networkx()

    assert sorted(graph) == [("e", 0), ("v", 0), ("v", 1), ("v", 2)]
    assert graph.number_of_edges(("v", 0), ("e", 0)) == 2
    assert graph.get_edge_data(("v", 1), ("e", 0), 1) == {"role": TOKEN, "position": 1}


def test_a_graph_whose_numbers_have_a_gap_is_refused() -> None:
    graph = SENTENCE.to_networkx()
    graph.remove_node(("v", 1))

    with pytest.raises(ValueError, match="nodes are numbered without gaps"):
        Structure.from_networkx(graph)


def test_an_occurrence_is_written_as_in_the_document_and_shows_its_content() -> None:
    assert [SENTENCE.surface(v) for v in range(3)] == ["na\u00efve", "ideas", "unwritten"]
    assert SENTENCE.occurrences[0].content == entity("Naivety")


def test_a_surface_that_is_not_utf_8_shows_escapes() -> None:
    structure = replace(
        SENTENCE, document=b"\xff", occurrences=(Occurrence(content=word("y"), span=(0, 1)),), incidences=()
    )

    assert structure.surface(0) == "\\xff"


def test_isolated_contents_are_in_the_batch_without_an_occurrence() -> None:
    batch = Structure.to_arrow([SENTENCE], isolated=(entity("lonely"), word("ideas")))

    assert batch.contents["lexical"].to_pylist() == [b"Naivety", b"ideas", b"unwritten", b"lonely"]
    assert batch.structures["tau"].to_pylist() == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"incidences": (Incidence(occurrence=3, instance=0, role=TOKEN),)}, "incidence 0 names occurrence 3 of 3"),
        ({"incidences": (Incidence(occurrence=0, instance=1, role=TOKEN),)}, "incidence 0 names instance 1 of 1"),
        ({"incidences": (Incidence(occurrence=-1, instance=0, role=TOKEN),)}, "incidence 0 names occurrence -1 of 3"),
        ({"document": b"short"}, r"span \[0, 6\) of occurrence 0 is not inside the document of 5 bytes"),
        ({"document": None}, r"occurrence 0 has the span \[0, 6\) but there is no document"),
        ({"tensor": np.zeros(3)}, "a grid's occurrences and incidences are implied by its tensor: list none"),
    ],
)
def test_a_structure_that_contradicts_itself_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SENTENCE, **change)


@pytest.mark.parametrize("dtype", [object, [("x", "<f4")], np.dtype((np.void, 0))])
def test_a_tensor_whose_bytes_do_not_say_all_is_refused(dtype: object) -> None:
    with pytest.raises(ValueError, match="expected a dtype of plain values"):
        Structure(record_id="g", kind=StructureKind.GRID, tensor=np.empty(2, dtype))


@pytest.mark.parametrize(
    "tensor",
    [
        np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)),
        np.arange(12.0)[::-3],
        np.array(7),
        np.zeros((0, 4), np.complex64),
        np.array(["", "ab"]),
    ],
)
def test_a_grid_of_any_layout_comes_back_with_its_dtype(tensor: np.ndarray) -> None:
    grid = Structure(record_id="g", kind=StructureKind.GRID, instances=(Instance(label="grid"),), tensor=tensor)

    found = Structure.from_arrow(Structure.to_arrow([grid]), 0).tensor

    assert found is not None
    assert found.dtype.str == tensor.dtype.str
    np.testing.assert_array_equal(found, tensor)
    assert Structure.from_dict(grid.to_dict()) == grid


def test_grids_are_equal_by_their_bytes() -> None:
    def grid(value: float) -> Structure:
        return Structure(record_id="g", kind=StructureKind.GRID, tensor=np.array([value]))

    assert grid(float("nan")) == grid(float("nan"))
    assert grid(0.0) != grid(-0.0)
    assert hash(grid(1.0)) == hash(grid(1.0))


def test_a_structure_is_equal_to_no_other_thing() -> None:
    others = [SENTENCE.to_dict(), replace(SENTENCE, source=(0, 0, 1)), replace(SENTENCE, document=b"x" * 12), None]

    assert SENTENCE not in others


def test_a_label_that_is_no_role_is_not_read_as_one() -> None:
    batch = Structure.to_arrow([SENTENCE])
    reader = StructureReader(batch.contents, batch.labels)

    with pytest.raises(ValueError, match=r"label 0 \('sentence'\) is not a role"):
        reader.role(0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"record_id": 7}, "7: record_id: expected string, found 7"),
        ({"kind": "GRID"}, "s: kind: expected one of text, .*, found 'GRID'"),
        ({"source": [0, 1]}, r"s: source: expected 3 integers, found \[0, 1\]"),
        ({"occurrences": {}}, "s: occurrences: expected array, found {}"),
        ({"occurrences": ["a"]}, r"s: occurrences\[0\]: expected an object with kind, .*, found 'a'"),
        ({"occurrences": [{"kind": "word"}]}, r"s: occurrences\[0\]: expected a member 'lexical', found none"),
        ({"occurrences": [{"kind": "word", "lexical": "a", "pos": 1}]}, r"occurrences\[0\]: .*found 'pos'"),
        ({"occurrences": [{"kind": "word", "lexical": [97]}]}, r"lexical: expected string or object, found \[97\]"),
        ({"occurrences": [{"kind": "word", "lexical": "a", "head": 1.0}]}, "head: expected integer or null, found 1.0"),
        ({"instances": [{"label": "e", "handle": "x"}]}, r"instances\[0\]: expected an object"),
        ({"document": 3}, "s: document: expected a string or an object with base64, found 3"),
        ({"document": {"base64": "\u00e9"}}, "s: document: expected base64"),
        ({"document": "\ud800"}, "s: .*surrogates not allowed"),
        ({"tensor": {"dtype": "float", "shape": [], "base64": ""}}, "s: tensor: expected the dtype spelled '<f8'"),
        ({"tensor": {"dtype": "rubbish", "shape": [], "base64": ""}}, "s: tensor: expected a dtype such as '<f4'"),
        ({"tensor": {"dtype": "i4,i4", "shape": [], "base64": ""}}, "s: tensor: expected the dtype"),
    ],
)
def test_wrong_json_is_refused_by_record_and_member(change: dict[str, object], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Structure.from_dict(SENTENCE.to_dict() | change)


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(SchemaError, match="expected an object"):
        Structure.from_dict([])


def test_tensor_bytes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected 8 bytes for shape \[2\] of <f4, found 7"):
        tensor_from_bytes("<f4", [2], b"1234567")


def test_a_lone_surrogate_comes_back() -> None:
    occurrence = Occurrence(content=replace(word(""), lexical=encode_text("\ud800")))
    structure = Structure(record_id="j", kind=StructureKind.MIXED, occurrences=(occurrence,))

    form = structure.to_dict()

    assert form["occurrences"][0]["lexical"] == {"base64": "7aCA"}
    assert Structure.from_dict(json.loads(json.dumps(form))) == structure
