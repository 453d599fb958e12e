"""`encode` from incidence shards to token shards on disk."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lisdata
from lisdata.contents import Content, Role, entity, word
from lisdata.encoding import EncodeConfig, encode, load_tokenizer
from lisdata.encoding.config import RDFS_LABEL
from lisdata.encoding.encoder import UnitInputs, encode_unit
from lisdata.errors import LabelError, LisDataError, PlanError, SchemaError
from lisdata.schema import TOKEN_COLUMNS, ContentKind, StructureKind
from lisdata.shards import IncidenceDataset, merge_datasets, write_structures
from lisdata.shards.manifest import read_manifest, read_sealed
from lisdata.structure import Incidence, Instance, Occurrence, Structure
from lisdata.testing import read_examples
from lisdata.token_shards import TokenDataset
from lisdata.vocabulary import RoleVocabulary


def text(name: str, document: str) -> Structure:
    occurrences, incidences, end = [], [], 0
    for n, form in enumerate(document.split()):
        begin = document.index(form, end)
        end = begin + len(form)
        occurrences.append(Occurrence(content=word(form), span=(begin, end)))
        incidences.append(Incidence(occurrence=n, instance=0, role=Role("line", "token"), position=n))
    return Structure(
        record_id=name,
        kind=StructureKind.TEXT,
        document=document.encode(),
        occurrences=tuple(occurrences),
        instances=(Instance(label="line"),),
        incidences=tuple(incidences),
    )


def fact(name: str, relation: str, subject: Content, object_: Content) -> Structure:
    return Structure(
        record_id=name,
        kind=StructureKind.TRIPLES,
        occurrences=(Occurrence(content=subject), Occurrence(content=object_)),
        instances=(Instance(label=relation),),
        incidences=tuple(
            Incidence(occurrence=n, instance=0, role=Role(relation, side))
            for n, side in enumerate(("subject", "object"))
        ),
    )


PARIS, FRANCE = entity("http://x/Paris"), entity("http://x/France")


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A merged dataset of two parts: facts and text, one part each."""
    label = Content(ContentKind.LITERAL, b"Paris, the city", language="en")
    facts = [fact("f1", "capital_of", PARIS, FRANCE), fact("f2", RDFS_LABEL, PARIS, label)]
    write_structures(tmp_path / "facts", facts)
    write_structures(tmp_path / "text", [text("t1", "Paris is\nnice"), text("t2", "yes")])
    merge_datasets([tmp_path / "facts", tmp_path / "text"], tmp_path / "both")
    return tmp_path / "both"


def hashes(folder: Path) -> dict[str, str]:
    """Return the hash of each file under the promise of equal bytes."""
    files = (p for p in sorted(folder.rglob("*")) if p.is_file() and p.name != "run.json")
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def texts_of(path: Path) -> list[str]:
    dataset = TokenDataset(path, verify="full")
    file = read_manifest(path)["tokenizer"]["file"]
    tokenizer = load_tokenizer(path / file)
    return [tokenizer.decode(row["input_ids"]) for row in dataset]


def test_a_dataset_of_tokens_decodes_by_itself(both: Path, tmp_path: Path) -> None:
    manifest = encode(both, tmp_path / "tok")

    assert texts_of(tmp_path / "tok") == [
        "http://x/Parishttp://x/France",
        "http://x/ParisParis, the city",
        "Paris is\nnice",
        "yes",
    ]
    dataset = TokenDataset(tmp_path / "tok")
    assert [dataset.record_id(n) for n in range(4)] == ["f1", "f2", "t1", "t2"]
    assert dataset.schema.names == TOKEN_COLUMNS
    assert manifest["counts"] == {"structures": 4, "rows": 4, "tokens": 74, "endpoints": 4, "words": 4}
    assert manifest["report"]["pieces_without_word"] == 2


def test_the_bytes_do_not_depend_on_the_workers(both: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"context": 16, "surface": "label"}
    encode(both, tmp_path / "one", workers=1, **settings)

    encode(both, tmp_path / "two", workers=2, **settings)

    assert hashes(tmp_path / "one") == hashes(tmp_path / "two")
    assert not list(tmp_path.glob(".*labels*"))


def test_a_stopped_run_goes_on_to_the_same_bytes(both: Path, tmp_path: Path) -> None:
    target = tmp_path / "tok"
    encode(both, target)
    whole = hashes(target)
    for name in ("manifest.json", "commits/00001.json", "tokens/part-00001.arrow", "roles.json"):
        (target / name).unlink()

    encode(both, target)

    assert hashes(target) == whole


def test_another_configuration_is_refused_in_the_same_folder(both: Path, tmp_path: Path) -> None:
    encode(both, tmp_path / "tok")

    with pytest.raises(PlanError, match="config"):
        encode(both, tmp_path / "tok", view="endpoints")
    encode(both, tmp_path / "tok", view="endpoints", fresh=True)


def test_a_unit_refuses_a_source_that_changed(both: Path, tmp_path: Path) -> None:
    encode(both, tmp_path / "tok")
    plan = read_sealed(tmp_path / "tok" / "plan.json")

    with pytest.raises(PlanError, match="changed since this run began"):
        encode_unit(UnitInputs(source=tmp_path / "text", labels=None), tmp_path / "tok", plan, plan["units"][0])


def test_the_plan_holds_no_path(both: Path, tmp_path: Path) -> None:
    roles = RoleVocabulary.from_dataset(IncidenceDataset(both))
    roles.write(tmp_path / "roles.json")
    encode(both, tmp_path / "tok", labels=str(tmp_path / "roles.json"))

    for name in ("plan.json", "manifest.json"):
        assert str(tmp_path) not in (tmp_path / "tok" / name).read_text(encoding="utf-8")


def test_vocabularies_are_named_and_hashed_in_the_manifest(both: Path, tmp_path: Path) -> None:
    manifest = encode(both, tmp_path / "tok", unknown_character="unk", unknown_role="unk")

    roles = RoleVocabulary.read(tmp_path / "tok" / "roles.json")
    assert manifest["roles"] == {"file": "roles.json", "hash": roles.hash, "num_roles": len(roles)}
    assert roles.has_unknown
    data = (tmp_path / "tok" / "characters.json").read_bytes()
    vocab_size = manifest["tokenizer"].pop("vocab_size")
    assert manifest["tokenizer"] == {
        "file": "characters.json",
        "sha256": hashlib.sha256(data).hexdigest(),
        "pad_id": None,
        "unk_id": vocab_size - 1,
    }
    assert {"roles.json", "characters.json"} <= manifest["files"].keys()


def test_columns_are_as_narrow_as_the_data_allows(both: Path, tmp_path: Path) -> None:
    encode(both, tmp_path / "tok", max_length=64)

    types = {c.name: c.type for c in TokenDataset(tmp_path / "tok").schema.columns}

    assert types["input_ids"] == types["role"] == types["position"] == types["target"] == "uint8"
    assert types["instance"] == types["occurrence"] == types["terminal"] == "int8"
    assert types["content"] == "int64"


def test_columns_and_record_ids_may_be_left_out(both: Path, tmp_path: Path) -> None:
    encode(both, tmp_path / "tok", columns=["input_ids", "target"], record_ids=False, context=64)

    schema = TokenDataset(tmp_path / "tok").schema

    assert schema.names == ("input_ids", "target", "document", "token_kind")
    assert not schema.has_record_id


def test_a_row_that_is_too_long_is_an_error_that_names_it(both: Path, tmp_path: Path) -> None:
    with pytest.raises(
        SchemaError, match=r"record 'f1': expected at most 10 tokens, found 29: raise max_length, or set"
    ):
        encode(both, tmp_path / "tok", max_length=10)
    encode(both, tmp_path / "cut", max_length=10, context=10)


def test_context_fills_rows_of_one_part(both: Path, tmp_path: Path) -> None:
    encode(both, tmp_path / "tok", context=20)

    rows = list(TokenDataset(tmp_path / "tok"))
    assert texts_of(tmp_path / "tok") == [
        "http://x/Parishttp:/",
        "/x/France",
        "http://x/ParisParis,",
        " the city",
        "Paris is\nniceyes",
    ]
    assert rows[4]["document"].tolist() == [0] * 13 + [1] * 3
    assert rows[4]["instance"].tolist() == [0] * 13 + [1] * 3
    assert rows[4]["position"].tolist() == [*range(13), *range(3)]
    assert rows[1]["position"].tolist() == list(range(6, 15))


def test_labels_of_the_dataset_spell_its_entities(both: Path, tmp_path: Path) -> None:
    manifest = encode(both, tmp_path / "tok", surface="label")

    assert texts_of(tmp_path / "tok")[:2] == ["Paris, the cityFrance", "Paris, the cityParis, the city"]
    report = manifest["report"]
    assert (report["contents_by_label"], report["contents_without_label"], report["contents_by_local_name"]) == (
        1,
        1,
        1,
    )


def test_labels_of_a_table_go_before_the_dataset_s(both: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.tsv").write_text("http://x/France\tLa France\n", encoding="utf-8")

    encode(both, tmp_path / "tok", surface="label", label_table=str(tmp_path / "labels.tsv"))

    assert texts_of(tmp_path / "tok")[0] == "ParisLa France"


def test_frozen_roles_keep_their_numbers_and_refuse_others(both: Path, tmp_path: Path) -> None:
    path = tmp_path / "frozen.json"
    RoleVocabulary.of_labels(["line#token", "other#role"], with_unknown=True).write(path)

    with pytest.raises(LabelError, match=r"frozen\.json: .*'capital_of#subject'"):
        encode(both, tmp_path / "tok", labels=str(path))
    appended = encode(both, tmp_path / "appended", labels=str(path), unknown_role="append")
    unknown = encode(both, tmp_path / "unknown", labels=str(path), unknown_role="unk")

    assert TokenDataset(tmp_path / "appended").roles[:4] == ("<none>", "<unk>", "line#token", "other#role")
    assert appended["roles"]["num_roles"] == 8
    assert TokenDataset(tmp_path / "unknown").roles == ("<none>", "<unk>", "line#token", "other#role")
    assert unknown["report"]["unknown_roles"] == 58
    rows = list(TokenDataset(tmp_path / "unknown"))
    assert [set(row["role"].tolist()) for row in rows] == [{1}, {1}, {2}, {2}]


def test_frozen_characters_refuse_others_or_take_them_as_unknown(both: Path, tmp_path: Path) -> None:
    encode(tmp_path / "text", tmp_path / "small", unknown_character="unk")
    frozen = str(tmp_path / "small" / "characters.json")

    with pytest.raises(LabelError, match=r"characters\.json: expected only its 11 characters, found 'h'"):
        encode(both, tmp_path / "tok", vocabulary=frozen)
    manifest = encode(both, tmp_path / "unk", vocabulary=frozen, unknown_character="unk")

    assert manifest["tokenizer"]["vocab_size"] == 12
    assert manifest["report"]["characters_replaced"] > 0
    assert texts_of(tmp_path / "unk")[2:] == ["Paris is\nnice", "yes"]


def test_a_vocabulary_of_another_tokenizer_is_refused(both: Path, tmp_path: Path, shared: Path) -> None:
    path = shared / "data" / "tokenizers" / "roberta-base.tokenizer.json"

    with pytest.raises(LisDataError, match=r"expected the characters\.json of a dataset"):
        encode(both, tmp_path / "tok", vocabulary=str(path))


def test_a_subword_dataset_keeps_its_tokenizer(both: Path, tmp_path: Path, shared: Path) -> None:
    path = shared / "data" / "tokenizers" / "roberta-base.tokenizer.json"

    encode(both, tmp_path / "tok", tokenizer=str(path), separator=" ")

    assert (tmp_path / "tok" / "tokenizer.json").read_bytes() == path.read_bytes()
    assert texts_of(tmp_path / "tok")[0] == " http://x/Paris http://x/France"
    assert texts_of(tmp_path / "tok")[2] == "Paris is\nnice"


def test_lone_surrogates_and_bytes_that_are_not_utf8_come_back(tmp_path: Path) -> None:
    documents = [b"a\xed\xa0\x80b", b"caf\xe9 \xe2\x82", "naïve".encode()]
    structures = [
        Structure(record_id=str(n), kind=StructureKind.TEXT, document=d, instances=(Instance(label="line"),))
        for n, d in enumerate(documents)
    ]
    write_structures(tmp_path / "lis", structures)

    manifest = encode(tmp_path / "lis", tmp_path / "tok")

    errors = ("surrogatepass", "surrogateescape", "surrogatepass")
    assert [t.encode("utf-8", e) for t, e in zip(texts_of(tmp_path / "tok"), errors, strict=True)] == documents
    assert manifest["report"]["documents_not_utf8"] == 1


def test_a_dataset_without_structures_gives_no_rows(tmp_path: Path) -> None:
    write_structures(tmp_path / "lis", [])

    manifest = encode(tmp_path / "lis", tmp_path / "tok")

    assert manifest["counts"]["rows"] == 0
    assert len(TokenDataset(tmp_path / "tok", verify="full")) == 0


def test_table_2_gives_its_six_endpoints_the_contents_they_share(root: Path, tmp_path: Path) -> None:
    structures, _ = read_examples(root / "schemas" / "examples" / "v1" / "valid" / "table_2.json")
    write_structures(tmp_path / "lis", structures)

    encode(tmp_path / "lis", tmp_path / "tok")

    dataset = TokenDataset(tmp_path / "tok")
    tokenizer = load_tokenizer(tmp_path / "tok" / "characters.json")
    spelled: dict[int, dict[int, list[int]]] = {}  # content -> row -> ids
    for number, row in enumerate(dataset):
        for piece, content in zip(row["input_ids"], row["content"], strict=True):
            if content:
                spelled.setdefault(int(content), {}).setdefault(number, []).append(int(piece))
    shared = [{n: tokenizer.decode(ids) for n, ids in rows.items()} for rows in spelled.values() if len(rows) > 1]
    assert sorted(shared, key=lambda rows: rows[1]) == [
        {0: "Aspirin", 1: "Aspirin"},
        {0: "COX-2", 1: "COX-2"},
        {0: "inflammation", 1: "Inflammation"},
    ]
    assert [dataset.roles[n] for n in dict.fromkeys(dataset[1]["role"].tolist())] == [
        i.role.label for i in structures[1].incidences
    ]


@pytest.fixture(scope="module")
def torture(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All published examples of structures as one dataset."""
    structures = []
    for path in sorted((root / "schemas" / "examples" / "v1" / "valid").glob("*.json")):
        found, _ = read_examples(path)
        structures += [replace(s, record_id=f"{path.stem}/{s.record_id}") for s in found]
    target = tmp_path_factory.mktemp("torture") / "lis"
    write_structures(target, structures)
    return target


@pytest.mark.parametrize("settings", [{}, {"context": 7}, {"view": "sequence"}, {"view": "endpoints"}])
def test_the_torture_set_passes(torture: Path, tmp_path: Path, settings: dict[str, Any]) -> None:
    manifest = encode(torture, tmp_path / "tok", **settings)

    dataset = TokenDataset(tmp_path / "tok", verify="full")
    assert manifest["counts"]["structures"] == len(IncidenceDataset(torture)) > 20
    assert sum(len(dataset[row]["input_ids"]) for row in range(len(dataset))) == manifest["counts"]["tokens"]
    if "context" not in settings:
        ids = [s.record_id for s in IncidenceDataset(torture).iter_structures()]
        assert [dataset.record_id(row) for row in range(len(dataset))] == ids


def test_tiny_shakespeare_decodes_to_its_bytes(tmp_path: Path, shared: Path) -> None:
    data = (shared / "data" / "tinyshakespeare" / "input.txt").read_bytes()
    lines = data.splitlines(keepends=True)
    structures = [
        Structure(record_id=str(n), kind=StructureKind.TEXT, document=line, instances=(Instance(label="line"),))
        for n, line in enumerate(lines[:4000])
    ]
    write_structures(tmp_path / "lis", structures)

    encode(tmp_path / "lis", tmp_path / "tok", context=256, columns=("input_ids", "instance", "position"))

    dataset = TokenDataset(tmp_path / "tok")
    tokenizer = load_tokenizer(tmp_path / "tok" / "characters.json")
    rows = list(dataset)
    assert tokenizer.decode(np.concatenate([row["input_ids"] for row in rows])).encode() == b"".join(lines[:4000])
    assert max(len(row["input_ids"]) for row in rows) <= 256


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"context": 0}, "context of at least 1"),
        ({"max_length": 0}, "max_length of at least 1"),
        ({"context": 9, "max_length": 8}, "exceed"),
        ({"tokenizer": "x.json", "vocabulary": "y"}, "a vocabulary goes with"),
        ({"columns": ("role",)}, "expected input_ids"),
        ({"columns": ("input_ids", "rolle")}, "expected input_ids and others of"),
        ({"label_language": ()}, "at least one label language"),
        ({"label_columns": ("a#b",)}, "ROLE=>ROLE"),
        ({"label_language": ("de",)}, "label_language is for surface = label only, got it with lexical"),
        ({"label_columns": ("a#b=>a#c",)}, "label_columns is for surface = label only"),
        ({"label_predicate": "p"}, "label_predicate is for surface = label only"),
        ({"label_table": "t.csv"}, "label_table is for surface = label only"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EncodeConfig(**settings)


def test_label_columns_are_pairs_of_roles() -> None:
    config = EncodeConfig(surface="label", label_predicate="p", label_columns=("T#id=>T#name",))

    assert config.label_roles == (("p#subject", "p#object"), ("T#id", "T#name"))


@pytest.mark.parametrize(
    ("source", "name", "data"),
    [
        ("csv", "a.csv", b"k,v\n1,x\n2,y\n"),
        ("kgtk", "a.tsv", b"id\tnode1\tlabel\tnode2\ne1\tQ1\tP1\tQ2\ne2\tQ4\tP1\tQ3\n"),
        ("nary", "a.txt", b"a\tr\tb\nb\tr\tc\n"),
    ],
)
def test_what_says_how_a_file_is_written_is_no_row_unless_asked_for(
    source: str, name: str, data: bytes, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    options = {"layout": "triples"} if source == "nary" else {}
    structures = lisdata.convert(source, tmp_path / name, tmp_path / "d", options=options)["counts"]["structures"]

    rows = lisdata.encode(tmp_path / "d", tmp_path / "t")
    with_headers = lisdata.encode(tmp_path / "d", tmp_path / "all", headers=True)

    num_headers = rows["report"]["headers_left_out"]
    assert (rows["counts"]["rows"], num_headers) == (2, structures - 2)
    assert num_headers > 0
    assert (with_headers["counts"]["rows"], with_headers["report"]["headers_left_out"]) == (structures, 0)
