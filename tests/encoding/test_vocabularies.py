"""One numbering for several datasets: each is encoded by itself, and the tokens mix."""

from __future__ import annotations

from pathlib import Path

import pytest

import lisdata
from lisdata.encoding import collect_vocabulary
from lisdata.errors import LabelError, PlanError, SchemaError
from lisdata.loader import Mixture


@pytest.fixture(scope="module")
def datasets(root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Triples and text, which have no role and not all characters in common."""
    folder, sample = tmp_path_factory.mktemp("datasets"), root / "sample_data"
    lisdata.convert("ntriples", [sample / "triples"], folder / "garden.lis")
    lisdata.convert("text", [sample / "text"], folder / "prose.lis")
    return [folder / "garden.lis", folder / "prose.lis"]


def test_datasets_encoded_apart_by_one_numbering_mix_and_without_do_not(datasets: list[Path], tmp_path: Path) -> None:
    counts = collect_vocabulary(datasets, tmp_path / "numbers")
    numbers = {"labels": str(tmp_path / "numbers/roles.json"), "vocabulary": str(tmp_path / "numbers/characters.json")}

    for path in datasets:
        lisdata.encode(path, tmp_path / path.stem, **numbers)
        lisdata.encode(path, tmp_path / f"{path.stem}.alone")

    mixture = Mixture([tmp_path / path.stem for path in datasets])
    assert {len(dataset.roles) for dataset in mixture.datasets} == {counts["roles.json"]}
    with pytest.raises(LabelError):
        Mixture([tmp_path / f"{path.stem}.alone" for path in datasets])


def test_the_numbers_are_those_of_the_merged_dataset(datasets: list[Path], tmp_path: Path) -> None:
    lisdata.merge(datasets, tmp_path / "both.lis")
    lisdata.encode(tmp_path / "both.lis", tmp_path / "both.tok")

    collect_vocabulary(datasets, tmp_path / "numbers")

    for name in ("roles.json", "characters.json"):
        assert (tmp_path / "numbers" / name).read_bytes() == (tmp_path / "both.tok" / name).read_bytes()


def test_with_subwords_only_roles_are_numbered(datasets: list[Path], root: Path, tmp_path: Path) -> None:
    tokenizer = str(root / "sample_data" / "tokenizer" / "bpe.json")

    collect_vocabulary(datasets, tmp_path, tokenizer=tokenizer, unknown_role="unk")

    assert [path.name for path in tmp_path.iterdir()] == ["roles.json"]


def test_labels_and_markers_are_among_the_characters(datasets: list[Path], tmp_path: Path) -> None:
    settings = {"surface": "label", "facts": "serialized"}
    collect_vocabulary(datasets, tmp_path / "numbers", **settings)
    numbers = {"labels": str(tmp_path / "numbers/roles.json"), "vocabulary": str(tmp_path / "numbers/characters.json")}

    for path in datasets:  # which refuses any other character
        lisdata.encode(path, tmp_path / path.stem, **settings, **numbers)


def test_files_that_say_something_else_stay(datasets: list[Path], tmp_path: Path) -> None:
    collect_vocabulary(datasets[:1], tmp_path)
    collect_vocabulary(datasets[:1], tmp_path)

    with pytest.raises(PlanError, match=r"expected no file here yet, or the same one"):
        collect_vocabulary(datasets, tmp_path)
    with pytest.raises(ValueError, match="are what is made here"):
        collect_vocabulary(datasets, tmp_path, labels=str(tmp_path / "roles.json"))


def test_a_tokenizer_that_is_none_is_refused_before_anything_is_written(datasets: list[Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "t.json").write_text("{}")

    with pytest.raises(SchemaError, match=r"expected tokenizer.json, or vocab.json and merges.txt, in this folder"):
        collect_vocabulary(datasets, tmp_path / "numbers", tokenizer=str(tmp_path / "empty"))
    with pytest.raises(SchemaError, match="or a tokenizer with a 'model', found"):
        collect_vocabulary(datasets, tmp_path / "numbers", tokenizer=str(tmp_path / "t.json"))
    with pytest.raises(ValueError, match="no tokenizer is called 'absent': expected 'chars', or a local file"):
        collect_vocabulary(datasets, tmp_path / "numbers", tokenizer="absent")
    assert not (tmp_path / "numbers").exists()
