"""Inputs that change or are added: what stays as it is is kept, and the bytes are those of a conversion anew."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_conversion import UNIT_BYTES, write_text
from small_units import make_job

import lisdata.conversion.config
from lisdata import inputs
from lisdata.conversion import convert, convert_share, sample
from lisdata.errors import PlanError
from lisdata.runs import commits, replanning, run_job
from lisdata.runs.replanning import describe_changes
from lisdata.shards import verify_dataset
from lisdata.shards.manifest import read_sealed


def bytes_of(directory: Path) -> dict[str, bytes]:
    files = (p for p in directory.rglob("*") if p.is_file())
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in files if p.name != "run.json"}


@pytest.fixture(autouse=True)
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lisdata.conversion.config, "MEBIBYTE", UNIT_BYTES)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files, of about three, three and one small units."""
    (tmp_path / "in").mkdir()
    for name, lines in (("a.txt", 1000), ("b.txt", 1000), ("c.txt", 300)):
        write_text(tmp_path / "in" / name, lines)
        with (tmp_path / "in" / name).open("a") as stream:
            stream.write(f"the end of {name}\n")
    return tmp_path / "in"


def units_run(directory: Path, **settings: Any) -> list[str]:
    """Convert and return the units that had to be run for it."""
    seen: list[str] = []
    convert(to=directory, source="text", unit_mib=1, on_progress=lambda p: seen.append(p.last), **settings)  # type: ignore[arg-type]
    return [last.unit["name"] for last in seen if last is not None]  # type: ignore[attr-defined]


# -- replan ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d: (d / "c.txt").write_text("other\n"), "changed: 'c.txt'; "),
        (lambda d: (d / "d.txt").write_text("more\n" * 5000), "new: 'd.txt'; "),
        (lambda d: (d / "c.txt").unlink(), "gone: 'c.txt'; "),
        (lambda d: (d / "b.txt").rename(d / "d.txt"), "new: 'd.txt'; gone: 'b.txt'; "),
        (lambda d: (d / "a.txt").write_text("short\n"), "changed: 'a.txt'; "),
    ],
)
def test_a_replanned_run_has_the_bytes_of_a_conversion_anew_and_says_what_changed(
    change: Callable[[Path], Any], told: str, folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    convert("text", folder, tmp_path / "d", unit_mib=1)
    change(folder)
    with pytest.raises(PlanError, match="--replan to convert again what changed"):
        convert("text", folder, tmp_path / "d", unit_mib=1)

    convert("text", folder, tmp_path / "d", unit_mib=1, replan=True)

    convert("text", folder, tmp_path / "calm", unit_mib=1)
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")
    assert verify_dataset(tmp_path / "d").problems == ()
    (message,) = caplog.messages
    assert message.startswith(f"{tmp_path / 'd'}: {told}")
    assert message.endswith("units are kept")


def test_only_units_that_read_what_changed_run_again(folder: Path, tmp_path: Path) -> None:
    everything = units_run(tmp_path / "d", paths=folder)
    (folder / "c.txt").write_bytes((folder / "c.txt").read_bytes().replace(b"the end", b"The end"))

    again = units_run(tmp_path / "d", paths=folder, replan=True)

    assert again == everything[-1:]
    assert set(read_sealed(tmp_path / "d" / "run.json")["units"]) == set(everything)
    assert units_run(tmp_path / "d", paths=folder, replan=True) == []
    assert units_run(tmp_path / "d", paths=folder) == []


def test_a_change_where_the_digest_does_not_look_is_converted_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "WHOLE_DIGEST_BYTES", 1 << 20)
    monkeypatch.setattr(lisdata.conversion.config, "MEBIBYTE", 1 << 20)
    path = tmp_path / "a.txt"
    path.write_bytes(b"line %07d\n" % 7 * 800_000)
    everything = units_run(tmp_path / "d", paths=path)
    before = inputs._quick_digest(str(path))
    at = 13 * ((path.stat().st_size * 40 // 63 + path.stat().st_size // 126) // 13)
    with path.open("r+b") as stream:
        stream.seek(at)
        stream.write(b"LINE")
    os.utime(path, (1, 1))
    assert inputs._quick_digest(str(path)) == before

    again = units_run(tmp_path / "d", paths=path, replan=True)

    convert("text", path, tmp_path / "calm", unit_mib=1)
    assert len(again) == 1 < len(everything)
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")


def test_a_replan_of_other_settings_is_refused_and_changes_nothing(folder: Path, tmp_path: Path) -> None:
    convert("text", folder, tmp_path / "d", unit_mib=1)
    before = bytes_of(tmp_path / "d")

    with pytest.raises(PlanError, match="has on_error = 'stop', this one 'skip'; only inputs may change"):
        convert("text", folder, tmp_path / "d", unit_mib=1, replan=True, on_error="skip")

    assert bytes_of(tmp_path / "d") == before


def test_in_a_new_folder_a_replan_is_a_run(folder: Path, tmp_path: Path) -> None:
    convert("text", folder, tmp_path / "d", unit_mib=1, replan=True)

    assert verify_dataset(tmp_path / "d").problems == ()


@pytest.mark.parametrize("killed_at", ["_remove_others", "begin_facts", "write_atomically"])
def test_killed_while_it_replans_the_same_call_goes_on(
    killed_at: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert("text", folder, tmp_path / "d", unit_mib=1)
    (folder / "b.txt").write_text("other\n")

    def stop(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(replanning, killed_at, stop)
        with pytest.raises(KeyboardInterrupt):
            convert("text", folder, tmp_path / "d", unit_mib=1, replan=True)
    convert("text", folder, tmp_path / "d", unit_mib=1, replan=True)

    convert("text", folder, tmp_path / "calm", unit_mib=1)
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")


def test_files_of_a_unit_that_was_killed_before_its_commit_do_not_stay(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(commits, "write_atomically", stop)
        with pytest.raises(KeyboardInterrupt):
            convert("text", folder, tmp_path / "d", unit_mib=1)
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "a.txt").write_text("")

    convert("text", folder, tmp_path / "d", unit_mib=1, replan=True)

    convert("text", folder, tmp_path / "calm", unit_mib=1)
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")


def test_a_run_that_does_not_know_its_units_inputs_keeps_none(tmp_path: Path) -> None:
    run_job(make_job(tmp_path, 2))

    run_job(make_job(tmp_path, 3), replan=True)

    assert len(list((tmp_path / "data").iterdir())) == 3


def test_many_changes_are_counted() -> None:
    new = [{"name": f"{number}.txt", "digest": "d"} for number in range(9)]

    assert describe_changes([], new) == "new: '0.txt', '1.txt', '2.txt', '3.txt', '4.txt' and 4 more"
    assert describe_changes(new, new[::-1]) == "inputs changed inside, or their order did"


# -- append ----------------------------------------------------------------------------------------------------------


@given(
    sizes=st.lists(st.integers(0, 900), min_size=1, max_size=6),
    cut=st.integers(1, 5),
)
@settings(max_examples=8, deadline=None)
def test_appended_files_make_the_dataset_of_one_conversion_of_all(
    sizes: list[int], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("append")
    paths = [write_text(folder / f"{number}.txt", size) for number, size in enumerate(sizes)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lisdata.conversion.config, "MEBIBYTE", UNIT_BYTES)
        convert("text", paths[:cut], folder / "d", unit_mib=1)
        if paths[cut:]:
            convert("text", paths[cut:], folder / "d", unit_mib=1, append=True)
        convert("text", _without_copies(paths, cut), folder / "calm", unit_mib=1)

    assert bytes_of(folder / "d") == bytes_of(folder / "calm")
    shutil.rmtree(folder)


def _without_copies(paths: list[Path], cut: int) -> list[Path]:
    """Leave out appended files that hold the bytes of one that was there: as many as were there."""
    there = [path.read_bytes() for path in paths[:cut]]
    kept = list(paths[:cut])
    for path in paths[cut:]:
        if path.read_bytes() in there:
            there.remove(path.read_bytes())
        else:
            kept.append(path)
    return kept


def test_an_append_runs_only_what_is_new_and_a_second_one_nothing(folder: Path, tmp_path: Path) -> None:
    everything = units_run(tmp_path / "d", paths=[folder / "a.txt", folder / "b.txt"])

    new = units_run(tmp_path / "d", paths=folder, append=True)

    assert 0 < len(new) <= 2
    assert set(new).isdisjoint(everything[:-1])
    assert units_run(tmp_path / "d", paths=folder, append=True) == []
    assert units_run(tmp_path / "d", paths=folder) == []


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of two units whose digest covers only pieces of it, as that of one above 64 MiB does."""
    monkeypatch.setattr(inputs, "WHOLE_DIGEST_BYTES", 1 << 20)
    monkeypatch.setattr(lisdata.conversion.config, "MEBIBYTE", 4 << 20)
    (tmp_path / "large.txt").write_bytes(b"".join(b"line %07d\n" % number for number in range(600_000)))
    return tmp_path / "large.txt"


def change_unseen(path: Path, to: Path, *, piece: int = 40) -> Path:
    """Write `path` with one other line, between two pieces that the digest covers."""
    data = path.read_bytes()
    at = len(data) * (8 * piece + 7) // (8 * 63) // 13 * 13
    to.write_bytes(data[:at] + b"LINE" + data[at + 4 :])
    assert inputs._quick_digest(str(path)) == inputs._quick_digest(str(to))
    return to


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_large_file_of_the_same_digest_and_other_bytes_is_appended(
    is_gone: bool, large: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    convert("text", large, tmp_path / "d", unit_mib=1)
    other = change_unseen(large, tmp_path / "other.txt")
    if is_gone:
        large.unlink()

    manifest = convert("text", other, tmp_path / "d", unit_mib=1, append=True)

    assert [entry["name"] for entry in manifest["inputs"]] == ["large.txt", "other.txt"]
    assert manifest["counts"]["structures"] == 1_200_000
    assert not any("left out" in message for message in caplog.messages)
    assert verify_dataset(tmp_path / "d").problems == ()


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_copy_of_a_large_file_is_left_out_and_named_whether_the_first_is_there_or_not(
    is_gone: bool, large: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    manifest = convert("text", large, tmp_path / "d", unit_mib=1)
    copy = shutil.copy(large, tmp_path / "copy.txt")
    if is_gone:
        large.unlink()

    assert convert("text", copy, tmp_path / "d", unit_mib=1, append=True) == manifest
    assert caplog.messages == [
        f"{tmp_path / 'd'}: the dataset has inputs of the same bytes, so these are left out: {str(copy)!r}"
    ]


def test_a_large_file_whose_unit_is_not_done_is_compared_as_it_is_now(large: Path, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        convert("text", large, tmp_path / "d", unit_mib=1, on_progress=_interrupt_after(1))
    copy, other = shutil.copy(large, tmp_path / "copy.txt"), change_unseen(large, tmp_path / "other.txt", piece=50)

    manifest = convert("text", [copy, other], tmp_path / "d", unit_mib=1, append=True)

    assert [entry["name"] for entry in manifest["inputs"]] == ["large.txt", "other.txt"]


def test_a_large_file_that_changed_where_it_lay_is_not_read_again_for_its_units(large: Path, tmp_path: Path) -> None:
    convert("text", large, tmp_path / "d", unit_mib=1)
    before = [part["name"] for part in read_sealed(tmp_path / "d" / "manifest.json")["parts"]]
    changed = change_unseen(large, tmp_path / "changed.txt", piece=50)
    changed.replace(large)
    (tmp_path / "more.txt").write_text("more\n")

    manifest = convert("text", tmp_path / "more.txt", tmp_path / "d", unit_mib=1, append=True)

    assert [part["name"] for part in manifest["parts"]][:-1] == before
    assert manifest["counts"]["structures"] == 600_001


def test_where_earlier_inputs_are_gone_their_units_stay_and_all_rows_are_there(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("x.txt", "y.txt"):
        (tmp_path / name).write_text(f"a few lines of {name}\n" * 20)
    convert("text", tmp_path / "x.txt", tmp_path / "d", unit_mib=1)
    (tmp_path / "x.txt").unlink()

    manifest = convert("text", tmp_path / "y.txt", tmp_path / "d", unit_mib=1, append=True)

    assert manifest["counts"]["structures"] == 40
    assert [part["name"] for part in manifest["parts"]] == ["part-00000-000", "part-00001-000"]
    assert "inputs of unit 00000 are not as they were where they were: it stays as it is" in caplog.messages[0]
    assert verify_dataset(tmp_path / "d").problems == ()
    assert convert("text", tmp_path / "y.txt", tmp_path / "d", unit_mib=1, append=True) == manifest


def test_a_killed_append_goes_on(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    convert("text", folder / "a.txt", tmp_path / "d", unit_mib=1)
    with pytest.raises(KeyboardInterrupt):
        convert("text", folder, tmp_path / "d", unit_mib=1, append=True, on_progress=_interrupt_after(3))

    convert("text", folder, tmp_path / "d", unit_mib=1, append=True)

    convert("text", folder, tmp_path / "calm", unit_mib=1)
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")


def _interrupt_after(calls: int) -> Callable[[Any], None]:
    left = [calls]

    def count(_: Any) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    return count


def test_names_that_a_dataset_has_are_told_apart(tmp_path: Path) -> None:
    for place in ("here", "there"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "x.txt").write_text(f"{place}\n")
    convert("text", tmp_path / "here" / "x.txt", tmp_path / "d")

    manifest = convert("text", tmp_path / "there" / "x.txt", tmp_path / "d", append=True)

    assert [entry["name"] for entry in manifest["inputs"]] == ["x.txt", "2/x.txt"]


def test_append_needs_a_dataset_that_convert_made_and_the_same_settings(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="expected a dataset that convert made, to append to, found none"):
        convert("text", folder, tmp_path / "nowhere", append=True)
    run_job(make_job(tmp_path / "other", 1))
    with pytest.raises(PlanError, match="found another run's"):
        convert("text", folder, tmp_path / "other", append=True)
    convert("text", folder / "a.txt", tmp_path / "d", unit_mib=1)
    with pytest.raises(PlanError, match="has unit_mib = 1, this one 2; only inputs may change"):
        convert("text", folder, tmp_path / "d", unit_mib=2, append=True)
    (tmp_path / "d" / "run.json").unlink()
    with pytest.raises(PlanError, match=r"run.json: expected where the 1 inputs lay, found 0"):
        convert("text", folder, tmp_path / "d", unit_mib=1, append=True)


def test_only_one_way_to_change_what_is_there_can_be_asked_for(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected one of fresh=True, replan=False, append=True"):
        convert("text", folder, tmp_path / "d", fresh=True, append=True)


def test_ranks_go_on_in_an_appended_dataset(folder: Path, tmp_path: Path) -> None:
    convert("text", folder / "a.txt", tmp_path / "d", unit_mib=1)
    with pytest.raises(KeyboardInterrupt):
        convert("text", folder, tmp_path / "d", unit_mib=1, append=True, on_progress=_interrupt_after(1))

    shares = [convert_share("text", folder, tmp_path / "d", rank=rank, world=2, unit_mib=1) for rank in range(2)]

    convert("text", folder, tmp_path / "calm", unit_mib=1)
    assert shares[-1].manifest is not None
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")


def test_an_append_goes_on_in_units_of_the_size_that_the_dataset_has(folder: Path, tmp_path: Path) -> None:
    convert("text", folder / "a.txt", tmp_path / "d", unit_mib=1)

    convert("text", folder, tmp_path / "d", append=True)

    convert("text", folder, tmp_path / "calm", unit_mib=1)
    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "calm")


def test_a_sample_of_an_append_shows_what_it_would_add_and_no_more(folder: Path, tmp_path: Path) -> None:
    convert("text", folder / "a.txt", tmp_path / "d", unit_mib=1)
    before = bytes_of(tmp_path / "d")

    shown = sample("text", folder, tmp_path / "d", append=True, num_structures=1)

    assert bytes_of(tmp_path / "d") == before
    assert [entry["name"] for entry in shown.plan["inputs"][shown.num_known :]] == ["b.txt", "c.txt"]
    assert [structure.source[0] for structure in shown.structures] == [1]
    ran = units_run(tmp_path / "d", paths=folder, append=True)
    assert [unit["name"] for unit in shown.units] == ran
    again = sample("text", folder, tmp_path / "d", append=True)
    assert (again.structures, again.units, again.num_known) == ((), (), 3)


def test_a_sample_of_an_append_is_refused_where_the_append_would_be(folder: Path, tmp_path: Path) -> None:
    convert("text", folder / "a.txt", tmp_path / "d", unit_mib=1)

    with pytest.raises(PlanError, match="has on_error = 'stop', this one 'skip'; only inputs may change"):
        sample("text", folder, tmp_path / "d", append=True, on_error="skip")
    with pytest.raises(PlanError, match="expected a dataset that convert made, to append to, found none"):
        sample("text", folder, tmp_path / "nowhere", append=True)
