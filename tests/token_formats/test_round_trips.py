"""What another format holds of a token dataset comes back equal, and the rest is told as lost, by name."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from drawn_tokens import rows_of, small_dataset, token_rows, write
from hypothesis import HealthCheck, assume, given, settings

import lisdata
from lisdata.errors import DamagedShardError, ExportError, LisDataError, PlanError, SchemaError
from lisdata.shards.manifest import file_entry, read_sealed, sealed
from lisdata.storage.staging import staged_folder
from lisdata.token_formats import EXPORTED, IMPORTED, export_tokens, import_tokens
from lisdata.token_formats.notes import NOTES_FOLDER
from lisdata.token_shards import TokenDataset, TokenSchema

LIBRARIES = {"hf": "datasets", "lance": "lance"}
WHOLE = ("hf", "mds", "parquet")


def needing_its_library(names: tuple[str, ...]) -> list[Any]:
    """Return the formats as parameters; those whose library is not there are skipped."""
    return [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                name in LIBRARIES and importlib.util.find_spec(LIBRARIES[name]) is None,
                reason=f"needs the library {LIBRARIES.get(name)}",
            ),
        )
        for name in names
    ]


@pytest.mark.parametrize("name", needing_its_library(WHOLE))
@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=token_rows())
def test_what_was_exported_is_imported_as_it_was(name: str, drawn: tuple[TokenSchema, list[dict[str, Any]]]) -> None:
    assume(name != "hf" or drawn[1])
    with tempfile.TemporaryDirectory() as folder:
        before = write(Path(folder, "before"), drawn)

        report = export_tokens(before, Path(folder, "there"), name)
        import_tokens(name, Path(folder, "there"), Path(folder, "after"))

        after = TokenDataset(Path(folder, "after"), verify="full")
        assert report.losses == {}
        assert after.fingerprint == before.fingerprint


@pytest.mark.parametrize("name", needing_its_library(WHOLE))
@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=token_rows())
def test_rows_come_back_without_the_notes_too(name: str, drawn: tuple[TokenSchema, list[dict[str, Any]]]) -> None:
    assume(name != "hf" or drawn[1])
    with tempfile.TemporaryDirectory() as folder:
        before = write(Path(folder, "before"), drawn)
        export_tokens(before, Path(folder, "there"), name)
        shutil.rmtree(Path(folder, "there", NOTES_FOLDER))

        import_tokens(name, Path(folder, "there"), Path(folder, "after"))

        after = TokenDataset(Path(folder, "after"), verify="full")
        assert rows_of(after, before.schema.names) == rows_of(before, before.schema.names)
        assert set(after.schema.names) == set(before.schema.names)
        assert after.schema.has_record_id == before.schema.has_record_id


@pytest.mark.parametrize("rows", ["sequence", "document"])
@settings(deadline=None, max_examples=15)
@given(drawn=token_rows())
def test_megatron_gives_back_the_ids_and_names_the_rest(
    rows: str, drawn: tuple[TokenSchema, list[dict[str, Any]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        before = write(Path(folder, "before"), drawn)

        report = export_tokens(before, Path(folder, "there"), "megatron")
        manifest = import_tokens("megatron", Path(folder, "there"), Path(folder, "after"), rows=rows)

        after = TokenDataset(Path(folder, "after"), verify="full")
        assert rows_of(after, ("input_ids",)) == rows_of(before, ("input_ids",))
        assert after.schema.column("input_ids") == before.schema.column("input_ids")
        assert manifest["report"] == {}
        expected = {f"column {name}": before.num_tokens for name in before.schema.names if name != "input_ids"}
        expected |= {"kinds": len(before)} if before.schema.kind is None else {}
        expected |= {"record ids": len(before)} if before.schema.has_record_id else {}
        assert report.losses == {name: count for name, count in expected.items() if count}


@pytest.fixture
def encoded(root: Path, tmp_path: Path) -> Path:
    """Rows with roles and a tokenizer, as `encode` makes them."""
    lisdata.convert("ntriples", root / "sample_data" / "triples" / "garden.nt", tmp_path / "garden.lis")
    lisdata.encode(tmp_path / "garden.lis", tmp_path / "garden.tok", tokenizer="chars")
    return tmp_path / "garden.tok"


@pytest.mark.parametrize("name", needing_its_library(tuple(IMPORTED)))
def test_roles_and_tokenizer_come_along(name: str, encoded: Path, tmp_path: Path) -> None:
    lisdata.export(encoded, tmp_path / "there", format=name)

    manifest = lisdata.import_tokens(name, tmp_path / "there", tmp_path / "after")

    before, after = TokenDataset(encoded), TokenDataset(tmp_path / "after", verify="full")
    assert after.roles == before.roles
    assert manifest["tokenizer"] == before.manifest["tokenizer"]
    assert lisdata.verify(tmp_path / "after").ok
    batch = next(iter(lisdata.Loader(after, batch_size=2)))
    assert batch["input_ids"].shape[0] == 2


@pytest.mark.parametrize("name", needing_its_library(tuple(sorted(set(EXPORTED) - {"lance"}))))
def test_an_export_has_the_same_bytes_each_time(name: str, tmp_path: Path) -> None:
    dataset = small_dataset(tmp_path / "before")

    for folder in ("one", "two"):
        export_tokens(dataset, tmp_path / folder, name)

    one, two = (
        {path.relative_to(tmp_path / folder): path.read_bytes() for path in (tmp_path / folder).rglob("*.*")}
        for folder in ("one", "two")
    )
    assert one == two


@pytest.mark.parametrize("name", needing_its_library(tuple(IMPORTED)))
def test_a_part_of_what_was_exported_is_not_taken_for_the_whole(name: str, tmp_path: Path) -> None:
    export_tokens(small_dataset(tmp_path / "many"), tmp_path / "there", name)
    export_tokens(small_dataset(tmp_path / "few", num_rows=20), tmp_path / "part", name)
    shutil.rmtree(tmp_path / "part" / NOTES_FOLDER)
    shutil.copytree(tmp_path / "there" / NOTES_FOLDER, tmp_path / "part" / NOTES_FOLDER)

    with pytest.raises(DamagedShardError, match=r"expected 25 rows .* found 20"):
        import_tokens(name, tmp_path / "part", tmp_path / "after")

    assert not (tmp_path / "after").exists()
    assert not list(tmp_path.glob(".after*"))


def test_notes_that_were_changed_are_refused(tmp_path: Path) -> None:
    export_tokens(small_dataset(tmp_path / "before"), tmp_path / "there", "megatron")
    notes = tmp_path / "there" / NOTES_FOLDER / "export.json"
    notes.write_bytes(notes.read_bytes().replace(b"299", b"298"))

    with pytest.raises(DamagedShardError, match=r"export\.json"):
        import_tokens("megatron", tmp_path / "there", tmp_path / "after")


BAD_NOTES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "report": (lambda body: body["manifest"].update(report=5), r"manifest\.report: expected an object"),
    "counts": (lambda body: body["manifest"].update(counts=[3]), r"manifest\.counts: expected an object"),
    "other counts": (lambda body: body["manifest"]["counts"].update(rows=3), r"counts\.rows: expected num_rows"),
    "tokenizer": (lambda body: body["manifest"]["tokenizer"].update(sha256="00"), r"tokenizer\.sha256"),
    "no vocabulary": (lambda body: body["files"].pop("characters.json"), r"tokenizer\.file: expected one of the files"),
    "layout": (lambda body: body["manifest"].update(self_sha256="00"), "found 'self_sha256'"),
    "manifest": (lambda body: rename_vocabulary(body, "manifest.json"), "found 'manifest.json'"),
    "plan": (lambda body: rename_vocabulary(body, "Plan.json"), "found 'Plan.json'"),
    "shard": (lambda body: rename_vocabulary(body, "tokens/part-00000.arrow"), "found 'tokens/part-00000.arrow'"),
    "folder": (lambda body: rename_vocabulary(body, "sub/x.json"), "found 'sub/x.json'"),
    "parts": (lambda body: rename_vocabulary(body, "tokens"), "found 'tokens'"),
    "stranger": (lambda body: body["files"].update({"x.json": body["files"]["roles.json"]}), "found 'x.json'"),
}


def rename_vocabulary(body: dict[str, Any], name: str) -> None:
    body["files"][name] = body["files"].pop("characters.json")
    body["manifest"]["tokenizer"]["file"] = name


@pytest.mark.parametrize("name", BAD_NOTES)
def test_notes_that_make_no_dataset_are_refused_and_leave_none(name: str, encoded: Path, tmp_path: Path) -> None:
    change, message = BAD_NOTES[name]
    lisdata.export(encoded, tmp_path / "there", format="parquet")
    change_notes(tmp_path / "there", change)

    with pytest.raises(DamagedShardError, match=rf"export\.json: .*{message}"):
        import_tokens("parquet", tmp_path / "there", tmp_path / "after")

    assert not (tmp_path / "after").exists()


def change_notes(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the notes, and seal them anew."""
    path = folder / NOTES_FOLDER / "export.json"
    body = read_sealed(path)
    change(body)
    path.write_bytes(sealed(body))


def test_roles_that_are_none_leave_no_dataset(encoded: Path, tmp_path: Path) -> None:
    lisdata.export(encoded, tmp_path / "there", format="parquet")
    roles = tmp_path / "there" / NOTES_FOLDER / "roles.json"
    roles.write_text("{}")
    change_notes(tmp_path / "there", lambda body: body["files"].update({"roles.json": file_entry(roles)}))

    with pytest.raises(LisDataError, match=r"roles\.json"):
        import_tokens("parquet", tmp_path / "there", tmp_path / "after")

    assert not (tmp_path / "after").exists()


def test_a_vocabulary_that_was_changed_is_refused(encoded: Path, tmp_path: Path) -> None:
    lisdata.export(encoded, tmp_path / "there", format="parquet")
    (tmp_path / "there" / NOTES_FOLDER / "roles.json").write_text("{}")

    with pytest.raises(DamagedShardError, match=r"roles\.json"):
        import_tokens("parquet", tmp_path / "there", tmp_path / "after")


def test_an_export_is_replaced_only_if_asked_for(tmp_path: Path) -> None:
    few, many = small_dataset(tmp_path / "few", num_rows=3), small_dataset(tmp_path / "many")
    export_tokens(few, tmp_path / "there", "megatron")

    with pytest.raises(ExportError, match="--force"):
        export_tokens(many, tmp_path / "there", "parquet")
    export_tokens(many, tmp_path / "there", "parquet", force=True)

    assert not (tmp_path / "there" / "tokens.bin").exists()
    assert len(list((tmp_path / "there").glob("*.parquet"))) == len(many.manifest["parts"])


def test_a_folder_with_other_files_is_never_replaced(tmp_path: Path) -> None:
    dataset = small_dataset(tmp_path / "before")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine.txt").write_text("mine")

    with pytest.raises(ExportError, match="choose another place"):
        export_tokens(dataset, tmp_path / "there", "megatron", force=True)
    with pytest.raises(ExportError, match="outside the dataset"):
        export_tokens(dataset, tmp_path / "before" / "there", "megatron")
    with pytest.raises(ExportError, match="found a file"):
        export_tokens(dataset, tmp_path / "there" / "mine.txt", "megatron")

    assert (tmp_path / "there" / "mine.txt").read_text() == "mine"


def test_an_import_needs_an_empty_place(tmp_path: Path) -> None:
    export_tokens(small_dataset(tmp_path / "before"), tmp_path / "there", "megatron")

    with pytest.raises(PlanError, match="new or empty"):
        import_tokens("megatron", tmp_path / "there", tmp_path / "before")


def test_rows_of_tokens_need_the_name_of_a_format(tmp_path: Path) -> None:
    small_dataset(tmp_path / "before")

    with pytest.raises(ExportError, match="name a format of hf"):
        lisdata.export(tmp_path / "before", tmp_path / "there")
    with pytest.raises(ValueError, match="inputs"):
        lisdata.export(tmp_path / "before", tmp_path / "there", format="mds", inputs=0)
    with pytest.raises(ValueError, match="expected one of hf"):
        lisdata.export(tmp_path / "before", tmp_path / "there", format="hif")
    with pytest.raises(ValueError, match="expected one of hf, mds"):
        import_tokens("webdataset", tmp_path, tmp_path / "after")


def test_ids_outside_the_vocabulary_that_is_named_are_refused(tmp_path: Path) -> None:
    export_tokens(small_dataset(tmp_path / "before"), tmp_path / "there", "parquet")

    with pytest.raises(SchemaError, match="expected 0 to 9"):
        import_tokens("parquet", tmp_path / "there", tmp_path / "after", vocab_size=10)


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_library_that_is_not_there_is_told_with_its_extra(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = small_dataset(tmp_path / "before")
    monkeypatch.setitem(sys.modules, LIBRARIES[name], None)

    with pytest.raises(PlanError, match=rf"pip install \"lisdata\[{name}\]\""):
        export_tokens(dataset, tmp_path / "there", name)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["before"]


def test_two_exports_to_one_place_do_not_mix(tmp_path: Path) -> None:
    dataset = small_dataset(tmp_path / "before")

    with (
        staged_folder(tmp_path / "there", "another export"),
        pytest.raises(PlanError, match="another export is writing here"),
    ):
        export_tokens(dataset, tmp_path / "there", "megatron")

    assert (tmp_path / "there").is_dir()


def test_what_a_killed_export_left_is_swept_by_the_next(tmp_path: Path) -> None:
    dataset = small_dataset(tmp_path / "before")
    export_tokens(dataset, tmp_path / "there", "megatron")
    staging = tmp_path / ".there.staged"
    (staging / "new").mkdir(parents=True)
    (staging / "new" / "tokens.bin").write_bytes(b"half")
    (tmp_path / "there").rename(staging / "old")  # killed between the two renames

    with pytest.raises(FileNotFoundError):
        (tmp_path / "there").stat()
    export_tokens(dataset, tmp_path / "there", "parquet", force=True)

    assert not staging.exists()
    assert (tmp_path / "there" / NOTES_FOLDER).is_dir()
