"""Conversions whose triples are sorted: convert and regroup in one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from scattered_triples import bytes_of, write_scattered

import lisdata
from lisdata.cli import main
from lisdata.errors import BadRecordError, PlanError
from lisdata.regrouping import convert_sorted, regroup


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_scattered(tmp_path / "x.nt", 2000)


def test_it_is_convert_and_regroup(file: Path, tmp_path: Path) -> None:
    lisdata.convert("ntriples", file, tmp_path / "plain")
    regroup(tmp_path / "plain", tmp_path / "two")

    convert_sorted("ntriples", file, tmp_path / "one")

    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "two")


def test_again_it_returns_what_is_there(file: Path, tmp_path: Path) -> None:
    body = convert_sorted("ntriples", file, tmp_path / "d")

    assert convert_sorted("ntriples", file, tmp_path / "d") == body


def test_another_input_or_setting_is_refused(file: Path, tmp_path: Path) -> None:
    convert_sorted("ntriples", file, tmp_path / "d")

    with pytest.raises(PlanError, match="holds another dataset"):
        convert_sorted("ntriples", file, tmp_path / "d", sort_by="graph")
    write_scattered(file, 100)
    with pytest.raises(PlanError, match="holds another dataset"):
        convert_sorted("ntriples", file, tmp_path / "d")
    assert convert_sorted("ntriples", file, tmp_path / "d", fresh=True)["counts"]["instances"] == 102


def test_after_a_bad_record_a_fresh_one_may_skip_it(file: Path, tmp_path: Path) -> None:
    file.write_text(file.read_text() + "no triple\n")

    with pytest.raises(BadRecordError, match=r"x\.nt:2041"):
        convert_sorted("ntriples", file, tmp_path / "d")
    body = convert_sorted("ntriples", file, tmp_path / "d", on_error="skip", fresh=True)

    assert body["inputs"][0]["records"]["rejected"] == 1


def test_what_makes_no_triples_is_not_sorted(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("words\n")

    with pytest.raises(ValueError, match="source text makes no triples, so they cannot be sorted by subject"):
        convert_sorted("text", tmp_path / "x.txt", tmp_path / "d")


def test_the_command_line_sorts(file: Path, tmp_path: Path) -> None:
    def call(*arguments: object) -> str:
        done = CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    sorted_, plain, again = (tmp_path / name for name in ("sorted", "plain", "again"))
    assert "491 structures" in call("convert", "ntriples", file, "--to", sorted_, "--sort-by", "subject")
    call("convert", "ntriples", file, "--to", plain)
    assert "491 structures" in call("regroup", plain, "--to", again, "--by", "subject")
    assert "lossless" in call("export", sorted_, "--to", tmp_path / "back.nt")

    assert bytes_of(sorted_) == bytes_of(again)
    assert (tmp_path / "back.nt").read_bytes() == file.read_bytes()


def test_a_dry_run_writes_nothing(file: Path, tmp_path: Path) -> None:
    arguments = ["convert", "ntriples", str(file), "--to", str(tmp_path / "d"), "--sort-by", "subject", "--dry-run"]

    assert "nothing was written" in CliRunner().invoke(main, arguments, catch_exceptions=False).stdout
    assert not (tmp_path / "d").exists()
