"""A conversion gives the same bytes whatever happens to it, and never reads what is not its input."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_conversion
from small_conversion import UNIT_BYTES, write_text

import lisdata.conversion
from lisdata import inputs
from lisdata.contents import entity
from lisdata.conversion import ConvertConfig, convert, convert_share, finish, plan_conversion, sample
from lisdata.errors import BadRecordError, PlanError, RunError
from lisdata.runs import Progress
from lisdata.shards import IncidenceDataset, merge_datasets, verify_dataset
from lisdata.shards.manifest import sealed
from lisdata.shards.writer import ShardWriter

OUTSIDE_THE_PROMISE = {"run.json", ".lock"}


def bytes_of(directory: Path) -> dict[str, bytes]:
    files = (p for p in directory.rglob("*") if p.is_file())
    found = {p.relative_to(directory).as_posix(): p.read_bytes() for p in files}
    return {name: data for name, data in found.items() if name not in OUTSIDE_THE_PROMISE}


def documents(dataset: Path) -> list[bytes]:
    return [d for part in IncidenceDataset(dataset).parts for d in part.structures["document"].to_pylist()]


@pytest.fixture
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lisdata.conversion.config, "MEBIBYTE", UNIT_BYTES)


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text of about 14 small units."""
    return write_text(tmp_path_factory.mktemp("text") / "text.txt")


@pytest.fixture(scope="session")
def calm(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of `text`, converted without any disturbance by one worker."""
    directory = tmp_path_factory.mktemp("calm") / "d"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lisdata.conversion.config, "MEBIBYTE", UNIT_BYTES)
        convert("text", text, directory, unit_mib=1)
    return directory


# -- the same bytes --------------------------------------------------------------------------------------------------


def test_the_dataset_is_the_text_in_many_units(calm: Path, text: Path) -> None:
    assert b"".join(documents(calm)) == text.read_bytes()
    assert len(list((calm / "commits").iterdir())) > 10
    assert verify_dataset(calm).problems == ()


@pytest.mark.usefixtures("small_units")
def test_four_workers_write_the_bytes_of_one(calm: Path, text: Path, tmp_path: Path) -> None:
    convert("text", text, tmp_path / "d", workers=4, unit_mib=1)

    assert bytes_of(tmp_path / "d") == bytes_of(calm)


@pytest.mark.usefixtures("small_units")
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_three_ranks_write_the_bytes_of_one_run(order: tuple[int, ...], calm: Path, text: Path, tmp_path: Path) -> None:
    shares = [convert_share("text", text, tmp_path / "d", rank=rank, world=3, unit_mib=1) for rank in order]

    assert [share.manifest is not None for share in shares] == [False, False, True]
    assert bytes_of(tmp_path / "d") == bytes_of(calm)
    assert finish(tmp_path / "d") == shares[-1].manifest


@pytest.mark.parametrize("table", ["structures", "contents", "labels", "handles"])
def test_a_disk_that_is_full_at_any_table_is_told_as_such_and_the_run_goes_on(
    table: str, calm: Path, text: Path, tmp_path: Path, small_units: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: ShardWriter, *arguments: Any) -> None:
        if table in ("structures", arguments[0] if arguments else ""):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, *arguments)

    name = "_write_waiting" if table == "structures" else "_write_table"
    write = getattr(ShardWriter, name)
    with monkeypatch.context() as patch:
        patch.setattr(ShardWriter, name, refuse)
        with pytest.raises(RunError, match=r"unit 00000: \[Errno 28\] No space left on device; what is done is kept"):
            convert("text", text, tmp_path / "d", unit_mib=1)
    assert not list((tmp_path / "d").rglob("*.tmp"))

    convert("text", text, tmp_path / "d", unit_mib=1)

    assert bytes_of(tmp_path / "d") == bytes_of(calm)


def test_killed_at_random_moments_it_ends_with_the_same_bytes(calm: Path, text: Path, tmp_path: Path) -> None:
    program = [sys.executable, small_conversion.__file__, str(text), str(tmp_path / "d"), "2"]
    chance = random.Random(1)

    for _ in range(2):
        process = subprocess.Popen(program, start_new_session=True)
        wanted = chance.randrange(1, 8)
        while len(list((tmp_path / "d" / "commits").glob("*.json"))) < wanted and process.poll() is None:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(program, check=True)

    assert bytes_of(tmp_path / "d") == bytes_of(calm)


@pytest.mark.usefixtures("small_units")
def test_a_compressed_file_is_one_unit_of_several_parts(text: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt.gz").write_bytes(gzip.compress(text.read_bytes() * 20, mtime=0))

    convert("text", tmp_path / "text.txt.gz", tmp_path / "d", unit_mib=1)

    dataset = IncidenceDataset(tmp_path / "d")
    assert [part.name for part in dataset.parts][:2] == ["part-00000-000", "part-00000-001"]
    assert len(list((tmp_path / "d" / "commits").iterdir())) == 1
    assert b"".join(documents(tmp_path / "d")) == text.read_bytes() * 20


def test_the_plan_holds_no_path_time_or_number_of_workers(text: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        shutil.copyfile(text, folder / "text.txt")

    plans = [plan_conversion(ConvertConfig(source="text"), str(folder), tmp_path / "d")[1] for folder in (here, there)]

    assert sealed(plans[0]) == sealed(plans[1])
    assert str(tmp_path).encode() not in sealed(plans[0])


# -- units -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["line", "paragraph", "document"])
def test_units_cover_each_file_once_and_are_cut_where_records_begin(unit: str, tmp_path: Path) -> None:
    data = b"".join(b"%d\n" % i * (1 + i % 3) + b"\n" * (i % 2) for i in range(300_000))
    (tmp_path / "a.txt").write_bytes(data)
    config = ConvertConfig(source="text", options={"unit": unit}, unit_mib=1)

    _, plan = plan_conversion(config, tmp_path / "a.txt", tmp_path / "d")

    slices = [piece for unit in plan["units"] for piece in unit["slices"]]
    bounds = [0] if unit == "document" else [piece["begin"] for piece in slices]
    ends = [*bounds[1:], len(data)]
    assert [piece["end"] or len(data) for piece in slices] == ends
    assert (len(slices) > 2) == (unit != "document")
    if unit != "document":
        assert all(abs(end - begin - (1 << 20)) < 100 for begin, end in zip(bounds[:-1], ends[:-1], strict=True))
        assert all(data[end - 1 : end] == b"\n" for end in ends)
    assert sum(unit["weight"] for unit in plan["units"]) == len(data)


@pytest.mark.usefixtures("small_units")
def test_small_files_share_a_unit_and_come_back_each_for_itself(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(40):
        (tmp_path / "in" / f"{number:02d}.txt").write_bytes(b"x%d\n" % number * 300)

    manifest = convert("text", tmp_path / "in", tmp_path / "d", unit_mib=1)

    assert 1 < len(manifest["parts"]) < 10
    ranges = [part["inputs"] for part in manifest["parts"]]
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 40
    dataset = IncidenceDataset(tmp_path / "d")
    for info in dataset.inputs:
        rows = list(dataset.iter_rows(info.index))
        assert len(rows) == info.records["converted"] == 300
        part, row = rows[-1]
        assert part.structures["document"][row].as_py() == b"x%d\n" % info.index


def test_an_empty_file_is_a_dataset_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"")

    convert("text", tmp_path / "a.txt", tmp_path / "d")

    assert len(IncidenceDataset(tmp_path / "d")) == 0
    assert verify_dataset(tmp_path / "d").problems == ()


# -- inputs that change ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [lambda data: data + b"more\n", lambda data: b"L" + data[1:]])
def test_a_changed_input_is_refused_until_fresh(change: Callable[[bytes], bytes], text: Path, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(text.read_bytes())
    convert("text", path, tmp_path / "d")

    path.write_bytes(change(text.read_bytes()))

    with pytest.raises(PlanError, match=r"the run in this folder has the input text.txt \(.*, this one text.txt \("):
        convert("text", path, tmp_path / "d")
    convert("text", path, tmp_path / "d", fresh=True)
    assert b"".join(documents(tmp_path / "d")) == path.read_bytes()


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file whose digest covers only pieces of it, as that of one above 64 MiB does."""
    monkeypatch.setattr(inputs, "WHOLE_DIGEST_BYTES", 1 << 20)
    path = tmp_path / "in" / "a.txt"
    path.parent.mkdir()
    path.write_bytes(b"".join(b"line %07d\n" % i for i in range(800_000)))
    return path


def change_unseen(path: Path, to: Path, line: int) -> None:
    data = path.read_bytes()
    at = 13 * line
    to.parent.mkdir(exist_ok=True)
    to.write_bytes(data[:at] + b"LINE" + data[at + 4 :])
    os.utime(to, (1, 1))
    assert inputs._quick_digest(str(path)) == inputs._quick_digest(str(to)), "the digest should not see this place"


def unseen_line(path: Path, number: int) -> int:
    """A line between two pieces that the digest covers."""
    size = path.stat().st_size
    return (size * number // 63 + size // 126) // 13


@pytest.mark.parametrize("place", ["in/a.txt", "other/a.txt"])
@pytest.mark.parametrize("is_finished", [True, False])
def test_a_middle_that_changed_is_refused(is_finished: bool, place: str, large: Path, tmp_path: Path) -> None:
    convert("text", large, tmp_path / "d", unit_mib=4)
    if not is_finished:
        for name in ("manifest.json", "commits/00001.json"):
            (tmp_path / "d" / name).unlink()

    line = unseen_line(large, 20 if not is_finished else 40)
    change_unseen(large, tmp_path / "changed" / "a.txt", line)
    target = tmp_path / place
    target.parent.mkdir(exist_ok=True)
    shutil.copy2(tmp_path / "changed" / "a.txt", target)

    with pytest.raises(PlanError, match=r"a.txt: changed since unit 0000\d read it; use --fresh to start over"):
        convert("text", target, tmp_path / "d", unit_mib=4)


@pytest.mark.parametrize("change", [lambda data: data[:-1000], lambda data: data + b"more\n", lambda data: data[::-1]])
def test_an_input_that_changes_while_it_is_converted_is_refused(
    change: Callable[[bytes], bytes], text: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copyfile(text, tmp_path / "a.txt"))

    def change_it(progress: Progress) -> None:
        if progress.num_done == 1:
            path.write_bytes(change(text.read_bytes()))

    with pytest.raises(PlanError, match=r"a\.txt: changed while it was converted; --replan converts it again"):
        convert("text", path, tmp_path / "data", on_progress=change_it)
    with pytest.raises(PlanError, match=r"has the input a\.txt"):
        convert("text", path, tmp_path / "data")
    manifest = convert("text", path, tmp_path / "data", replan=True)
    assert manifest["counts"] == convert("text", path, tmp_path / "anew")["counts"]


def _change_after(name: str, module: Any, path: Path, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a function of a module followed, some times, by a change of a file."""
    function, left = getattr(module, name), [times]

    def call(*arguments: Any, **settings: Any) -> Any:
        found = function(*arguments, **settings)
        if left[0]:
            left[0] -= 1
            path.write_bytes(path.read_bytes() + b"a line more\n")
            os.utime(path, (left[0], left[0]))
        return found

    monkeypatch.setattr(module, name, call)


def test_what_changes_between_its_digest_and_the_look_at_its_time_is_read_as_it_is_then(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copyfile(text, tmp_path / "a.txt"))
    _change_after("_quick_digest", inputs, path, 1, monkeypatch)

    manifest = convert("text", path, tmp_path / "data")

    assert manifest["inputs"][0]["size"] == path.stat().st_size
    assert convert("text", path, tmp_path / "data") == manifest


def test_an_input_that_never_rests_is_refused(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(shutil.copyfile(text, tmp_path / "a.txt"))
    _change_after("_quick_digest", inputs, path, 99, monkeypatch)

    with pytest.raises(PlanError, match=r"a\.txt: changes while it is read; convert it when all of it is written"):
        convert("text", path, tmp_path / "data")


def test_an_input_that_changes_between_its_digest_and_its_units_is_refused(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copyfile(text, tmp_path / "a.txt"))
    _change_after("find_inputs", lisdata.conversion.planning, path, 1, monkeypatch)

    with pytest.raises(PlanError, match=r"a\.txt: changed while it was converted; --replan converts it again"):
        convert("text", path, tmp_path / "data")


def test_an_input_that_is_removed_behind_its_units_is_none_that_changed(text: Path, tmp_path: Path) -> None:
    path = Path(shutil.copyfile(text, tmp_path / "a.txt"))

    def remove_it(progress: Progress) -> None:
        if progress.num_done == progress.num_units:
            path.unlink()

    convert("text", path, tmp_path / "data", on_progress=remove_it)

    assert not verify_dataset(tmp_path / "data").problems


def test_a_touched_input_that_holds_the_same_bytes_is_no_reason_to_start_over(large: Path, tmp_path: Path) -> None:
    manifest = convert("text", large, tmp_path / "d", unit_mib=4)
    os.utime(large, (1, 1))

    assert convert("text", large, tmp_path / "d", unit_mib=4) == manifest


@pytest.mark.usefixtures("small_units")
def test_a_run_goes_on_where_the_input_was_moved_to(calm: Path, text: Path, tmp_path: Path) -> None:
    convert("text", text, tmp_path / "d", unit_mib=1)
    for name in ("manifest.json", "commits/00003.json"):
        (tmp_path / "d" / name).unlink()
    (tmp_path / "elsewhere").mkdir()

    convert("text", shutil.copy(text, tmp_path / "elsewhere"), tmp_path / "d", unit_mib=1)

    assert bytes_of(tmp_path / "d") == bytes_of(calm)


@pytest.mark.parametrize("other", [{"unit_mib": 2}, {"on_error": "skip"}, {"options": {"unit": "document"}}])
def test_other_settings_in_the_same_folder_are_refused(other: dict[str, Any], text: Path, tmp_path: Path) -> None:
    convert("text", text, tmp_path / "d")

    with pytest.raises(PlanError, match="the run in this folder has"):
        convert("text", text, tmp_path / "d", **other)


def test_neither_the_output_nor_an_earlier_dataset_below_the_input_is_read(tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text(json.dumps({"incidences": [{"edge": "e", "node": "n"}]}))

    for name in ("first", "second"):
        manifest = convert("hif", tmp_path, tmp_path / "out" / name)

        assert [entry["name"] for entry in manifest["inputs"]] == ["graph.json"]
    assert len(convert("hif", tmp_path, tmp_path / "out" / "first")["inputs"]) == 1


def test_an_input_below_the_output_is_said_to_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")

    with pytest.raises(PlanError, match=rf"no input found at .*a.txt .*, outside of {tmp_path}"):
        convert("text", tmp_path / "a.txt", tmp_path)


def test_a_local_name_that_means_something_in_a_url_is_just_a_name(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("File::Find.txt", "a#b?.txt", "c[1].txt"):
        (tmp_path / "in" / name).write_text(name)

    convert("text", tmp_path / "in", tmp_path / "d")

    assert sorted(documents(tmp_path / "d")) == [b"File::Find.txt", b"a#b?.txt", b"c[1].txt"]


def test_a_file_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / os.fsdecode(b"\xff.txt")).write_text("a")

    with pytest.raises(PlanError, match="expected a file name in UTF-8"):
        convert("text", tmp_path / "in", tmp_path / "d")


# -- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"on_error": "ignore"}, "convert: on_error: expected one of stop, skip, quarantine, got 'ignore'"),
        ({"compression": "lz4"}, "convert: compression: expected one of zstd, none, got 'lz4'"),
        ({"unit_mib": 0}, "expected units of at least 1 MiB"),
        (
            {"options": {"colour": "red"}},
            "source text has no option colour; it has: hierarchy, max_document_bytes, unit",
        ),
    ],
)
def test_a_setting_that_is_none_is_refused(settings: dict[str, Any], message: str, text: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        convert("text", text, tmp_path / "d", **settings)
    assert not (tmp_path / "d").exists()


def test_an_unknown_source_is_refused_with_the_known_ones(text: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no source is called 'prose': did you mean parsed\? There are .*text"):
        convert("prose", text, tmp_path / "d")


def test_uncompressed_shards_hold_the_same_rows(calm: Path, text: Path, tmp_path: Path) -> None:
    convert("text", text, tmp_path / "d", compression="none")

    assert documents(tmp_path / "d") == documents(calm)


# -- a sample --------------------------------------------------------------------------------------------------------


def test_a_sample_shows_the_first_structures_and_writes_nothing(calm: Path, text: Path, tmp_path: Path) -> None:
    found = sample("text", text, tmp_path / "d", num_structures=2)

    assert [s.document for s in found.structures] == documents(calm)[:2]
    assert found.plan["inputs"][0]["name"] == "text.txt"
    assert list(tmp_path.iterdir()) == []


def test_a_sample_meets_bad_records_as_the_run_would(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\ngood\n")

    with pytest.raises(BadRecordError):
        sample("text", tmp_path / "a.txt", tmp_path / "d")

    for on_error in ("skip", "quarantine"):
        found = sample("text", tmp_path / "a.txt", tmp_path / "d", on_error=on_error)
        assert [s.document for s in found.structures] == [b"good\n"]
    assert not (tmp_path / "d").exists()


# -- identity --------------------------------------------------------------------------------------------------------


def test_an_entity_of_a_text_and_a_node_of_a_hypergraph_are_one_content(root: Path, tmp_path: Path) -> None:
    sentence, interaction = (
        root / "sample_data" / "table2" / name for name in ("sentence.jsonl", "interaction.hif.json")
    )
    convert("jsonl", sentence, tmp_path / "text")
    convert("hif", interaction, tmp_path / "graph")

    merge_datasets([tmp_path / "text", tmp_path / "graph"], tmp_path / "both")

    text, edge = IncidenceDataset(tmp_path / "both").iter_structures()
    shared = {o.content for o in text.occurrences} & {o.content for o in edge.occurrences}
    assert shared == {entity(name) for name in ("Aspirin", "COX-2", "Inflammation")}
    assert [text.surface(v) for v, o in enumerate(text.occurrences) if o.content == entity("Inflammation")] == [
        "inflammation"
    ]
