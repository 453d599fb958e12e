"""The torture set: each valid example goes through every form that a structure can take, and comes back.

LISDATA_WRITE_GOLDEN=1 writes the golden rows anew: read the difference before it is kept.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest

from lisdata.contents import Content
from lisdata.drawing import iter_sentences
from lisdata.encoding import Tokenizer, load_tokenizer
from lisdata.encoding import encode as encode_shards
from lisdata.exporters.structures import STRUCTURES
from lisdata.hexatag import encode
from lisdata.schema import SCHEMA_VERSION, TOKEN_COLUMNS, UNTAGGED, StructureKind
from lisdata.shards import IncidenceDataset, verify_dataset, write_structures
from lisdata.structure import Instance, Structure
from lisdata.testing import read_examples
from lisdata.token_shards import TokenDataset

ROOT = Path(__file__).resolve().parents[1]
VALID = sorted((ROOT / "schemas" / "examples" / f"v{SCHEMA_VERSION}" / "valid").glob("*.json"))
GOLDEN = Path(__file__).parent / "golden"
SHARD_TABLES = ("structures", "contents", "labels", "handles")

each_example = pytest.mark.parametrize("path", VALID, ids=lambda p: p.stem)


def written(path: Path, directory: Path) -> tuple[list[Structure], tuple[Content, ...], IncidenceDataset]:
    """Write the structures of an example as a dataset and open it again."""
    structures, isolated = read_examples(path)
    write_structures(directory / "dataset", structures, isolated=isolated)
    return structures, isolated, IncidenceDataset(directory / "dataset", verify="full")


def readable(value: Any) -> Any:
    """Return an Arrow value as JSON that people can read: structs as the list of their fields, bytes as text."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": b64encode(value).decode()}
    if isinstance(value, dict):
        return [readable(v) for v in value.values()]
    return [readable(v) for v in value] if isinstance(value, list) else value


def readable_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows of a table, without their nulls."""
    keys = [field.name for field in table.schema if pa.types.is_fixed_size_binary(field.type)]
    return [
        {n: v.hex() if n in keys else readable(v) for n, v in row.items() if v is not None} for row in table.to_pylist()
    ]


def compare_with_golden(name: str, found: dict[str, Any]) -> None:
    path = GOLDEN / name
    if os.environ.get("LISDATA_WRITE_GOLDEN"):
        lines = [
            f"  {json.dumps(table)}: ["
            + ",".join(f"\n    {row_text(row)}" for row in rows)
            + ("\n  ]" if rows else "]")
            for table, rows in found.items()
        ]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    assert found == json.loads(path.read_text(encoding="utf-8"))


def row_text(row: dict[str, Any]) -> str:
    """Return short rows on one line, long ones with a line a column, lists of pieces with a line a piece."""
    if len(json_text(row)) <= 120:
        return json_text(row)
    columns = []
    for name, value in row.items():
        shown = json_text(value)
        if value and isinstance(value, list) and isinstance(value[0], dict):
            shown = "[" + ",".join(f"\n        {json_text(v)}" for v in value) + "\n      ]"
        columns.append(f"      {json_text(name)}: {shown}")
    return "{\n" + ",\n".join(columns) + "\n    }"


def json_text(value: Any) -> str:
    """Return JSON as people read it; only lone surrogates, which no file can hold, make it escape."""
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if any("\ud800" <= c <= "\udfff" for c in text) else text


@each_example
def test_hexatags_of_an_example_are_those_of_its_heads(path: Path) -> None:
    for structure in read_examples(path)[0]:
        for sentence in iter_sentences(structure):
            if sentence.has_any_tag:
                terminal, nonterminal = encode([head for head in sentence.heads if head is not None])
                assert (tuple(terminal), tuple(nonterminal)) == (sentence.terminal, sentence.nonterminal)


@each_example
def test_an_example_is_written_in_the_form_that_to_dict_gives(path: Path) -> None:
    structures, _ = read_examples(path)

    assert [structure.to_dict() for structure in structures] == json.loads(path.read_text(encoding="utf-8"))[
        "structures"
    ]


@each_example
def test_an_example_comes_back_from_arrow_and_networkx(path: Path) -> None:
    structures, isolated = read_examples(path)

    batch = Structure.to_arrow(structures, isolated)

    assert [Structure.from_arrow(batch, row) for row in range(len(structures))] == structures
    assert [Structure.from_networkx(s.to_networkx()) for s in structures] == structures


@each_example
def test_an_example_comes_back_from_shards(path: Path, tmp_path: Path) -> None:
    structures, isolated, dataset = written(path, tmp_path)

    assert list(dataset.iter_structures()) == structures
    assert [dataset.find_structure(s.record_id) for s in structures] == structures
    reader = dataset.parts[0].reader
    stored = {reader.content(row) for row in range(dataset.parts[0].contents.num_rows)}
    shown = {o.content for s in structures for o in s.occurrences} | {e.handle for s in structures for e in s.instances}
    assert stored == (shown - {None}) | set(isolated)


@each_example
def test_the_shards_of_an_example_pass_verify(path: Path, tmp_path: Path) -> None:
    written(path, tmp_path)

    report = verify_dataset(tmp_path / "dataset")

    assert (report.problems, report.strangers) == ((), ())


@each_example
def test_the_shards_of_an_example_hold_the_golden_rows(path: Path, tmp_path: Path) -> None:
    _, _, dataset = written(path, tmp_path)

    found = {table: readable_rows(dataset.parts[0].open_table(table).read_all()) for table in SHARD_TABLES}

    compare_with_golden(f"shards/{path.name}", found)


@each_example
def test_the_export_of_an_example_is_the_example(path: Path, tmp_path: Path) -> None:
    _, isolated, dataset = written(path, tmp_path)

    report = STRUCTURES.export(dataset, tmp_path / "out.jsonl", ())

    examples = json.loads(path.read_text(encoding="utf-8"))["structures"]
    expected = b"".join(orjson.dumps(e, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE) for e in examples)
    assert (tmp_path / "out.jsonl").read_bytes() == expected
    assert report.num_records == len(examples)
    assert report.losses == ({"contents in no structure": len(isolated)} if isolated else {})


def readable_pieces(dataset: TokenDataset, tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Return the rows of a token dataset, neighbouring tokens of one endpoint as one piece with its text.

    A position or tag is a list, a value a token; a content is the hexadecimal begin of its key.
    """
    return [{"record_id": row["record_id"], "pieces": list(pieces_of(row, dataset, tokenizer))} for row in dataset]


def pieces_of(row: dict[str, Any], dataset: TokenDataset, tokenizer: Tokenizer) -> Iterator[dict[str, Any]]:
    endpoint = np.stack([row[name] for name in ("role", "instance", "occurrence", "content")], axis=1)
    cuts = np.flatnonzero((endpoint[1:] != endpoint[:-1]).any(axis=1)) + 1
    for begin, end in pairwise([0, *cuts.tolist(), len(endpoint)]):
        if begin == end:
            continue
        role, instance, occurrence, content = endpoint[begin].tolist()
        piece = {
            "text": tokenizer.decode(row["input_ids"][begin:end].tolist()),
            "role": dataset.roles[role],
            "instance": instance,
            "occurrence": occurrence,
            "content": f"{content % 2**64:016x}" if content else None,
            "position": row["position"][begin:end].tolist(),
            "target": row["target"][begin:end].tolist(),
        }
        tags = {name: row[name][begin:end].tolist() for name in ("terminal", "nonterminal")}
        yield piece | {name: values for name, values in tags.items() if set(values) != {UNTAGGED}}


@each_example
def test_the_token_shards_of_an_example_hold_the_golden_rows(path: Path, tmp_path: Path) -> None:
    written(path, tmp_path)
    found = {}

    for view in ("auto", "endpoints"):
        encode_shards(tmp_path / "dataset", tmp_path / view, view=view, columns=TOKEN_COLUMNS)
        tokenizer = load_tokenizer(tmp_path / view / "characters.json")
        found[view] = readable_pieces(TokenDataset(tmp_path / view, verify="full"), tokenizer)
        assert verify_dataset(tmp_path / view).problems == ()

    if found["endpoints"] == found["auto"]:  # no text: one view
        del found["endpoints"]
    compare_with_golden(f"tokens/{path.name}", found)


@pytest.mark.parametrize("form", ["shards", "tokens"])
def test_each_example_has_golden_rows_and_no_others_are_left(form: str) -> None:
    assert {path.name for path in (GOLDEN / form).iterdir()} == {path.name for path in VALID}


# -- what single examples are about ----------------------------------------------------------------------------------


def example(name: str) -> list[Structure]:
    return read_examples(next(path for path in VALID if path.stem == name))[0]


def test_table_2_has_six_endpoints_on_three_shared_contents() -> None:
    sentence, hyperedge = example("table_2")

    rows = [
        (structure.surface(i.occurrence), structure.occurrences[i.occurrence].content.text, i.role.side, i.position + 1)
        for structure in (sentence, hyperedge)
        for i in structure.incidences
        if structure.occurrences[i.occurrence].content in {o.content for o in hyperedge.occurrences}
    ]

    assert rows == [
        ("Aspirin", "Aspirin", "token", 1),
        ("COX-2", "COX-2", "token", 3),
        ("inflammation", "Inflammation", "token", 6),
        ("Aspirin", "Aspirin", "drug", 1),
        ("COX-2", "COX-2", "target", 1),
        ("Inflammation", "Inflammation", "disease", 1),
    ]


def test_a_shared_reference_is_one_handle_in_both_structures(tmp_path: Path) -> None:
    path = next(path for path in VALID if path.stem == "wikidata_statements")
    structures, _, dataset = written(path, tmp_path)

    (reference,) = {e.handle for s in structures for e in s.instances if e.label == "reference"}

    assert reference is not None
    rows = dataset.parts[0].open_table("handles").read_all().to_pylist()
    assert [(r["row"], r["instance"]) for r in rows if r["key"] == reference.key] == [(0, 3), (1, 1)]


@pytest.mark.parametrize(
    ("name", "lexical", "count"),
    [
        ("language_tag_case", "a", 2),
        ("blank_nodes_of_two_files", "b0", 2),
        ("int_and_string_ids", "2", 2),
        ("leading_zero", "1", 3),
        ("null_empty_and_na", "", 2),
    ],
)
def test_contents_that_look_alike_stay_apart_in_a_shard(name: str, lexical: str, count: int, tmp_path: Path) -> None:
    path = next(path for path in VALID if path.stem == name)

    contents = written(path, tmp_path)[2].parts[0].contents

    keys = [r["key"] for r in contents.to_pylist() if r["lexical"] == lexical.encode()]
    assert len(set(keys)) == len(keys) == count


def test_a_million_cells_come_back(tmp_path: Path) -> None:
    values = np.random.default_rng(0).standard_normal((1000, 1000), dtype=np.float32)
    grid = Structure(
        record_id="grid#0",
        kind=StructureKind.GRID,
        instances=(Instance(label="grid"),),
        tensor=values,
        source=(0, 0, 9),
    )

    write_structures(tmp_path / "dataset", [grid])

    assert verify_dataset(tmp_path / "dataset").problems == ()
    dataset = IncidenceDataset(tmp_path / "dataset", verify="full")
    (found,) = dataset.iter_structures()
    assert found == grid
    assert found.tensor is not None
    assert found.tensor.tobytes() == values.tobytes()
    assert dataset.manifest["counts"]["cells"] == 1_000_000
    encode_shards(
        tmp_path / "dataset", tmp_path / "tokens", grid_max_cells=100, grid_overflow="truncate", separator=" "
    )
    text = load_tokenizer(tmp_path / "tokens" / "characters.json").decode(
        TokenDataset(tmp_path / "tokens")[0]["input_ids"].tolist()
    )
    np.testing.assert_array_equal(np.array(text.split(), np.float32), values.reshape(-1)[:100])
    STRUCTURES.export(dataset, tmp_path / "out.jsonl", ())
    assert Structure.from_dict(orjson.loads((tmp_path / "out.jsonl").read_bytes())) == grid
