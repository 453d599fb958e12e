"""The column `deprel`: each word's dependency relation on its first piece, numbered by a list beside the shards."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lisdata.conversion import convert
from lisdata.encoding import EncodeConfig, encode
from lisdata.encoding.deprels import DEPRELS_FILE, DeprelVocabulary
from lisdata.encoding.frozen_tags import freeze_tags
from lisdata.encoding.tokenizer_training import TokenizerSettings, train_tokenizer
from lisdata.errors import DamagedShardError, SchemaError
from lisdata.schema import UNTAGGED
from lisdata.shards.manifest import sealed
from lisdata.token_shards import TokenDataset

RULE = "python:rule_parser:parse"  # the first word of a sentence is "root", all others "dep"
COLUMNS = ("input_ids", "terminal", "nonterminal", "deprel")


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sentences")
    (folder / "text.txt").write_text("the cats see dogs.\nno one barks. it purrs\n", encoding="utf-8")
    convert("parsed", [str(folder / "text.txt")], folder / "lis", options={"parser": RULE, "unit": "line"})
    train_tokenizer(str(folder / "text.txt"), folder / "tokenizer.json", TokenizerSettings(vocabulary_size=270))
    return folder


def write(sentences: Path, to: Path, **settings: object) -> TokenDataset:
    chosen = {"tokenizer": str(sentences / "tokenizer.json"), "special_tokens": True, "columns": COLUMNS}
    encode(sentences / "lis", to, **(chosen | settings))
    return TokenDataset(to)


def test_a_relation_stands_where_its_word_s_tags_stand(sentences: Path, tmp_path: Path) -> None:
    dataset = write(sentences, tmp_path / "tok")
    known = DeprelVocabulary.read(tmp_path / "tok" / DEPRELS_FILE)
    batch = dataset.gather(np.arange(len(dataset))).columns

    is_tagged = batch["terminal"] != UNTAGGED
    names = [known.deprels[number] for number in batch["deprel"][is_tagged].tolist()]

    assert np.array_equal(is_tagged, batch["deprel"] != UNTAGGED)
    assert not is_tagged.all()
    assert names.count("root") == 3  # one a sentence
    assert names.count("dep") == is_tagged.sum() - 3
    assert dataset.manifest["deprels"] == {"file": DEPRELS_FILE, "hash": known.hash, "num_deprels": 2}
    assert dataset.schema.column("deprel").type == "int8"


def test_without_the_column_the_rows_and_the_manifest_are_as_ever(sentences: Path, tmp_path: Path) -> None:
    with_it = write(sentences, tmp_path / "with")
    without = write(sentences, tmp_path / "without", columns=COLUMNS[:-1])

    assert "deprels" not in without.manifest
    assert not (tmp_path / "without" / DEPRELS_FILE).exists()
    for name in COLUMNS[:-1]:
        rows = [dataset.gather(np.arange(len(dataset))).columns[name] for dataset in (with_it, without)]
        assert np.array_equal(*rows)


def test_a_frozen_list_numbers_the_relations_of_other_data_and_counts_those_it_lacks(
    sentences: Path, tmp_path: Path
) -> None:
    frozen = tmp_path / "frozen.json"
    frozen.write_bytes(DeprelVocabulary(("nsubj", "dep")).to_json())

    dataset = write(sentences, tmp_path / "tok", deprels=str(frozen))

    batch = dataset.gather(np.arange(len(dataset))).columns
    assert set(batch["deprel"].tolist()) == {UNTAGGED, 1}
    assert dataset.manifest["report"]["unknown_deprels"] == 3
    assert (tmp_path / "tok" / DEPRELS_FILE).read_bytes() == frozen.read_bytes()


@pytest.mark.parametrize("view", ["endpoints", "mixed", "text-first", "auto"])
def test_every_view_has_the_column_and_only_running_text_fills_it(sentences: Path, tmp_path: Path, view: str) -> None:
    dataset = write(sentences, tmp_path / "tok", view=view, text_separator=" ")

    batch = dataset.gather(np.arange(len(dataset))).columns

    assert len(batch["deprel"]) == len(batch["input_ids"])
    assert (batch["deprel"] != UNTAGGED).any() == (view != "endpoints")
    assert np.array_equal(batch["deprel"] != UNTAGGED, batch["terminal"] != UNTAGGED)


def test_frozen_tags_leave_no_relation_of_the_whole_parse(sentences: Path, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("the cats see dogs.\n", encoding="utf-8")
    convert("parsed", [str(tmp_path / "one.txt")], tmp_path / "lis", options={"parser": RULE, "unit": "line"})
    encode(tmp_path / "lis", tmp_path / "tok", tokenizer=str(sentences / "tokenizer.json"), columns=COLUMNS)

    freeze_tags(tmp_path / "tok", tmp_path / "frozen", RULE)

    batch = TokenDataset(tmp_path / "frozen").gather([0]).columns
    assert (batch["terminal"] != UNTAGGED).any()
    assert (batch["deprel"] == UNTAGGED).all()


def test_a_file_that_is_no_list_of_relations_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deprels.json"
    path.write_text(json.dumps({"deprels": ["dep"]}))
    with pytest.raises(DamagedShardError, match="self_sha256"):
        DeprelVocabulary.read(path)
    for body in ({"format": "other", "deprels": ["dep"]}, {"format": "lisdata-deprels", "deprels": [1]}):
        path.write_bytes(sealed(body))
        with pytest.raises(SchemaError, match="expected format 'lisdata-deprels'"):
            DeprelVocabulary.read(path)
    path.write_bytes(sealed({"format": "lisdata-deprels", "deprels": ["dep", "dep"]}))
    with pytest.raises(SchemaError, match="expected distinct relations"):
        DeprelVocabulary.read(path)


def test_a_list_for_a_column_that_is_not_written_is_refused() -> None:
    with pytest.raises(ValueError, match="for the column deprel, which is not written"):
        EncodeConfig(deprels="deprels.json")
