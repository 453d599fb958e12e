from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.errors import ExportError
from lisdata.exporters.hif import HIF
from lisdata.registry import load_exporter
from lisdata.sources.json_text import NumberText, read_json, write_json

PREFIX = "Q=http://www.wikidata.org/entity/"
IDS = st.sampled_from(
    ["a", "b", "2", "", "Q5", PREFIX[2:] + "Q5", "\ud800", "é", *map(NumberText, ("2", "-3", str(2**64)))]
)
NUMBERS = st.sampled_from(list(map(NumberText, ("1", "1.0", "0.10", "1e400", "9007199254740993", "-2"))))
NAMES = st.sampled_from(["role", "relation", "weight", "x", "a#b", "attr:x", "member.weight", "\udfff", ""])
STRINGS = st.sampled_from(
    ["drug", "head", "member", "node", "network", "hyperedge", "a#b", "x.weight", "attr:y", "\ud800", ""]
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | STRINGS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
ATTRS = st.dictionaries(NAMES, VALUES, max_size=3)
INCIDENCES = st.fixed_dictionaries(
    {"edge": IDS, "node": IDS},
    optional={"weight": NUMBERS, "direction": st.sampled_from(["head", "tail"]), "attrs": ATTRS},
)
NODES = st.fixed_dictionaries({"node": IDS}, optional={"weight": NUMBERS, "attrs": ATTRS})
EDGES = st.fixed_dictionaries({"edge": IDS}, optional={"weight": NUMBERS, "attrs": ATTRS})
DOCUMENTS = st.fixed_dictionaries(
    {"incidences": st.lists(INCIDENCES, max_size=6)},
    optional={
        "network-type": st.sampled_from(["undirected", "directed", "asc"]),
        "metadata": ATTRS,
        "nodes": st.lists(NODES, max_size=4),
        "edges": st.lists(EDGES, max_size=4),
    },
).flatmap(lambda document: st.permutations(list(document.items())).map(dict))


def model(data: bytes) -> Any:
    """The JSON value, numbers as they are written."""
    return read_json(data.decode())


def test_it_is_registered() -> None:
    assert load_exporter("hif") is HIF


@settings(max_examples=20, deadline=None)
@given(
    documents=st.lists(DOCUMENTS, min_size=1, max_size=12),
    id_prefix=st.sampled_from([[], [PREFIX]]),
    scope=st.sampled_from(["global", "file"]),
)
def test_any_model_comes_back_with_its_order_and_duplicates(
    round_trip: Any, documents: list[Any], id_prefix: list[str], scope: str
) -> None:
    files = [write_json(document).encode() for document in documents]

    found, report = round_trip("hif", files, ".json", id_prefix=id_prefix, scope=scope)

    assert list(map(model, found)) == documents
    assert report.losses == {}


@pytest.mark.parametrize("folder", ["HIF-compliant", "data"])
def test_real_models_come_back(round_trip: Any, shared: Path, folder: str) -> None:
    files = [path.read_bytes() for path in sorted((shared / "data/kg/hif" / folder).glob("*.json"))]

    found, report = round_trip("hif", files, ".json")

    assert len(files) > 3
    assert list(map(model, found)) == list(map(model, files))
    assert report.losses == {}


def test_the_samples_come_back(round_trip: Any, root: Path) -> None:
    files = [path.read_bytes() for path in sorted((root / "sample_data").glob("*/*.hif.json"))]

    assert len(files) == 2
    assert list(map(model, round_trip("hif", files, ".json")[0])) == list(map(model, files))


def test_incidences_of_edges_in_turn_keep_their_order(round_trip: Any) -> None:
    document = b'{"incidences": [{"edge": 1, "node": "a"}, {"edge": 2, "node": "b"}, {"edge": 1, "node": "a"}]}'

    assert model(round_trip("hif", [document], ".json")[0][0]) == model(document)


def test_other_attributes_may_name_role_and_label(round_trip: Any) -> None:
    document = (
        b'{"incidences": [{"edge": 1, "node": "a", "attrs": {"as": "agent", "role": "none"}}], '
        b'"edges": [{"edge": 1, "attrs": {"type": "act", "relation": "none"}}]}'
    )

    found, _ = round_trip("hif", [document], ".json", role_attr="as", label_attr="type")

    assert model(found[0]) == model(document)


def test_a_rejected_file_is_a_loss_and_not_written(round_trip: Any) -> None:
    found, report = round_trip("hif", [b"{}", b'{"incidences": []}'], ".json", on_error="skip")

    assert list(map(model, found)) == [{"incidences": []}]
    assert report.losses == {"rejected records": 1}
    assert len(report.files) == 1


def test_structures_that_are_no_hyperedges_are_refused(round_trip: Any) -> None:
    with pytest.raises(ExportError, match=r"expected hyperedges, found a text structure"):
        round_trip("text", [b"one\n"], ".txt", as_format="hif", allow_losses=True)
