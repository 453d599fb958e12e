from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lisdata.converters.facts import FACTS, FactOptions
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.registry import load_source
from lisdata.schema import ContentKind
from lisdata.sources.hif import HIF, HifOptions
from lisdata.structure import Structure


def whole(path: Path, data: bytes) -> InputSlice:
    path.write_bytes(data)
    return InputSlice(file=find_inputs([str(path)], suffixes=HIF.suffixes)[0])


def stop(error: BadRecordError) -> None:
    raise error


def read(piece: InputSlice, **options: Any) -> list[Structure]:
    (records,) = HIF.read(piece, HifOptions(**options), stop)
    assert records.num_records == 1
    batch = FACTS.convert(records, FactOptions())
    return [Structure.from_arrow(batch, row) for row in range(batch.structures.num_rows)]


def roles(structure: Structure, instance: int = 0) -> list[tuple[str, str, str, int]]:
    """Role, kind and text of what each participant shows, and its position."""
    return [
        (i.role.label, o.content.kind.name, o.content.text, i.position)
        for i in structure.incidences
        if i.instance == instance
        for o in [structure.occurrences[i.occurrence]]
    ]


@pytest.fixture
def structures(tmp_path: Path) -> Any:
    def run(document: Any, **options: Any) -> list[Structure]:
        return read(whole(tmp_path / "a.json", json.dumps(document).encode()), **options)

    return run


def test_it_is_registered() -> None:
    assert load_source("hif") is HIF


def test_each_compliant_document_is_read(shared: Path) -> None:
    files = find_inputs([str(shared / "data/kg/hif/HIF-compliant")], suffixes=HIF.suffixes)

    assert len(files) == 15
    for file in files:
        read(InputSlice(file=file))


def test_each_document_that_is_not_compliant_is_refused_at_a_json_path(shared: Path) -> None:
    files = find_inputs([str(shared / "data/kg/hif/HIF-non-compliant")], suffixes=HIF.suffixes)

    assert len(files) == 16
    for file in files:
        with pytest.raises(BadRecordError, match=rf"^{file.name}:\d+:\d+: expected .* at \$.*, found ."):
            read(InputSlice(file=file))


def test_an_edge_is_a_structure_whose_participants_stand_in_its_roles(root: Path) -> None:
    (file,) = find_inputs([str(root / "sample_data/table2/interaction.hif.json")], suffixes=HIF.suffixes)

    (structure,) = read(InputSlice(file=file))

    assert roles(structure) == [
        ("hyperedge#drug", "ENTITY", "Aspirin", 0),
        ("hyperedge#target", "ENTITY", "COX-2", 1),
        ("hyperedge#disease", "ENTITY", "Inflammation", 2),
    ]
    (instance,) = structure.instances
    assert (instance.label, instance.ordinal) == ("hyperedge", 0)
    assert instance.handle is not None
    assert (instance.handle.kind, instance.handle.lexical) == (ContentKind.INSTANCE, b'"e2"')
    assert instance.handle.scope == file.scope


def test_the_sample_keeps_weights_attributes_repeats_and_the_isolated_node(root: Path) -> None:
    (file,) = find_inputs([str(root / "sample_data/hif/kitchen.hif.json")], suffixes=HIF.suffixes)

    network, *others = read(InputSlice(file=file))

    assert roles(network)[:2] == [
        ("network#network-type", "JSON_STR", "undirected", 0),
        ("network#attr:name", "JSON_STR", "A week in a small kitchen", 0),
    ]
    by_name = {s.occurrences[0].content.text: s for s in others if s.instances[0].label == "node"}
    assert roles(by_name["saffron"])[0] == ("node#node", "ENTITY", "saffron", 0)
    assert roles(by_name["potato"])[1] == ("node#weight", "JSON_INT", "3", 0)
    pastry = next(s for s in others if s.instances[0].handle and s.instances[0].handle.text == '"puff pastry"')
    assert pastry.instances[0].label == "recipe"
    assert [r for r in roles(pastry) if r[0] in ("recipe#fat", "recipe#fat.weight")] == [
        ("recipe#fat", "ENTITY", "butter", 1),
        ("recipe#fat.weight", "JSON_INT", "50", 1),
        ("recipe#fat", "ENTITY", "butter", 2),
        ("recipe#fat.weight", "JSON_INT", "400", 2),
    ]
    assert roles(pastry)[-2:] == [
        ("recipe#attr:minutes", "JSON_INT", "240", 0),
        ("recipe#attr:hard", "BOOL", "true", 0),
    ]


def test_a_number_and_its_string_are_two_nodes_and_two_edges(structures: Any) -> None:
    incidences = [{"edge": e, "node": n} for e, n in ((2, 2), ("2", "2"), (2, "2"))]

    _, first, second = structures({"incidences": incidences})

    assert roles(first) == [("hyperedge#member", "JSON_INT", "2", 0), ("hyperedge#member", "ENTITY", "2", 1)]
    assert [s.instances[0].handle.text for s in (first, second)] == ["2", '"2"']


def test_direction_is_the_role_unless_an_attribute_names_one(structures: Any) -> None:
    incidences = [
        {"edge": 1, "node": "a", "direction": "head"},
        {"edge": 1, "node": "b", "direction": "tail", "attrs": {"role": "agent"}},
        {"edge": 1, "node": "c", "attrs": {"role": "x.weight"}},
        {"edge": 1, "node": "d", "attrs": {"role": 5}},
    ]

    edge = structures({"incidences": incidences})[-1]

    assert roles(edge) == [
        ("hyperedge#head", "ENTITY", "a", 0),
        ("hyperedge#agent", "ENTITY", "b", 1),
        ("hyperedge#agent.direction", "JSON_STR", "tail", 1),
        ("hyperedge#member", "ENTITY", "c", 2),
        ("hyperedge#member.attr:role", "JSON_STR", "x.weight", 2),
        ("hyperedge#member", "ENTITY", "d", 3),
        ("hyperedge#member.attr:role", "JSON_INT", "5", 3),
    ]


def test_an_edge_listed_again_is_a_further_instance_of_the_same_handle(structures: Any) -> None:
    document = {"edges": [{"edge": 1}, {"edge": 2}, {"edge": 1, "weight": 5}], "incidences": [{"edge": 1, "node": "a"}]}

    first, second = structures(document)

    assert [(e.ordinal, e.handle.text) for e in first.instances] == [(0, "1"), (2, "1")]
    assert roles(first, 1) == [("hyperedge#weight", "JSON_INT", "5", 0)]
    assert [(e.ordinal, e.handle.text) for e in second.instances] == [(1, "2")]
    assert second.incidences == ()


def test_nodes_are_the_file_s_own_when_asked(structures: Any) -> None:
    document = {"edges": [{"edge": 1}], "incidences": [{"edge": 1, "node": "a"}, {"edge": 1, "node": 7}]}

    (edge,) = structures(document, scope="file")
    (shared_edge,) = structures(document)

    assert [o.content.scope for o in edge.occurrences] == [edge.instances[0].handle.scope] * 2
    assert [o.content.scope for o in shared_edge.occurrences] == [None, None]


def test_a_node_with_a_prefix_is_the_iri_s_entity_and_keeps_how_it_is_written(structures: Any) -> None:
    document = {"edges": [{"edge": 1}], "incidences": [{"edge": 1, "node": n} for n in ("Q5", "x:Q5")]}

    (edge,) = structures(document, id_prefix=("Q=x:",))

    assert roles(edge) == [
        ("hyperedge#member", "ENTITY", "x:Q5", 0),
        ("hyperedge#member", "ENTITY", "x:Q5", 1),
        ("hyperedge#member.id", "JSON_STR", "x:Q5", 1),
    ]


def test_a_number_of_any_length_comes_through_and_the_next_entry_s_bytes_are_found(tmp_path: Path) -> None:
    entries = ['{"edge": 1, "node": 2, "weight": -1.50e3}', f'{{"edge": {"7" * 5000}, "node": 2}}']
    data = f'{{"incidences": [{", ".join(entries)}]}}'.encode()

    found = read(whole(tmp_path / "a.json", data))

    assert [data[s.source[1] : s.source[2]].decode() for s in found[-2:]] == entries
    assert ("hyperedge#member.weight", "NUMBER", "-1.50e3", 0) in roles(found[-2])


def test_structures_name_their_bytes_in_the_order_of_the_file(tmp_path: Path) -> None:
    data = '{"nodes": [{"node": "ä"}], "incidences": [{"edge": 1, "node": "ä"}, {"edge": 1, "node": 2}]}'.encode()
    piece = whole(tmp_path / "a.json", b"\xef\xbb\xbf " + data)

    found = [(s.source[1], (b"\xef\xbb\xbf " + data)[s.source[1] : s.source[2]]) for s in read(piece)]

    assert found == sorted(found)
    assert [text for _, text in found] == [data, '{"node": "ä"}'.encode(), '{"edge": 1, "node": "ä"}'.encode()]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"incidences": [], \xff}', r"^a\.json:1:20: expected UTF-8, found byte 0xff"),
        ('{"metadata": {"ä": 1,\n"b": 2 "c"}}'.encode(), r"^a\.json:2:8: expected JSON, found .*delimiter"),
        (b'{"incidences": [], "incidences": []}', r"^a\.json:1:34: expected each member once, found .incidences."),
        (b'\xef\xbb\xbf{"nodes": 1, "incidences": []}', r"^a\.json:1:14: expected an array at \$\.nodes, found 1$"),
        (
            b'{"incidences": [{"edge": true, "node": 1}]}',
            r"1:26: expected a string or an integer at .*edge, found true",
        ),
        (b'{"incidences": [{"edge": 1, "node": 2.0}]}', r"1:37: expected a string or an integer at .*node, found 2\.0"),
        (b'{"incidences": [], "network-type": 3}', r"1:36: expected one of undirected, .* at \$\[\"network-type\"\]"),
        (b"[]", r"^a\.json:1:1: expected an object at \$, found \[\]"),
        (b'{"incidences": [], "a b": 3}', r"expected no member but .* at \$\[\"a b\"\], found 3"),
        (
            b'{"incidences": [], "metadata": {"x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
            "expected JSON of fewer levels",
        ),
        (b"", r"^a\.json:1:1: expected JSON, found the end"),
    ],
)
def test_a_wrong_document_is_refused_whole_with_its_place(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(BadRecordError, match=message) as caught:
        read(whole(tmp_path / "a.json", data))

    assert (caught.value.begin, caught.value.end, caught.value.data) == (0, len(data), data)


def test_a_file_is_never_cut(tmp_path: Path) -> None:
    assert not HIF.splits
    with pytest.raises(ValueError, match="read whole"):
        HIF.find_cut(whole(tmp_path / "a.json", b"{}"), 1, HifOptions())
