"""A big compressed file is converted in units, which give what reading it from its begin gives."""

from __future__ import annotations

import bz2
import gzip
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zstandard

import lisdata.conversion
from lisdata.conversion import convert, convert_share, plan_conversion, slices
from lisdata.conversion.config import ConvertConfig
from lisdata.errors import BadRecordError, PlanError
from lisdata.exporters.text import TEXT
from lisdata.inputs import InputFile, InputSlice
from lisdata.registry import load_source
from lisdata.runs import Progress
from lisdata.seek_points import find_seek_points
from lisdata.shards import IncidenceDataset, verify_dataset
from lisdata.shards.manifest import read_sealed

UNIT_BYTES = 32 << 10
LINES = [b'{"text": "line %d of a small text, number %d"}\n' % (i, i * i % 7919) for i in range(6_000)]
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": partial(gzip.compress, mtime=0),
    "bz2": partial(bz2.compress, compresslevel=1),
    "zst": zstandard.ZstdCompressor().compress,
}
MEMBER_BYTES = 20_000  # which end in the midst of lines


def write_members(path: Path, text: bytes, size: int = MEMBER_BYTES) -> Path:
    compress = COMPRESS[path.suffix[1:]]
    path.write_bytes(b"".join(compress(text[i : i + size]) for i in range(0, len(text), size)))
    return path


def bytes_of(directory: Path) -> dict[str, bytes]:
    files = (p for p in directory.rglob("*") if p.is_file() and p.name != "run.json")
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in files}


def texts_of(directory: Path) -> list[bytes]:
    return [d for part in IncidenceDataset(directory).parts for d in part.structures["document"].to_pylist()]


@pytest.fixture(autouse=True)
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lisdata.conversion.config, "MEBIBYTE", UNIT_BYTES)
    monkeypatch.setattr(slices, "_LEAST_SPACING", 1 << 10)
    slices.find_points.cache_clear()


@pytest.fixture(params=COMPRESS)
def compressed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write_members(tmp_path / f"lines.jsonl.{request.param}", b"".join(LINES))


def test_units_give_what_reading_from_the_begin_gives(
    compressed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert("jsonl", compressed, tmp_path / "fast", unit_mib=1)
    opened = InputFile.open
    monkeypatch.setattr(InputFile, "open", lambda self, *_: opened(self))  # the sequential road
    monkeypatch.setattr(slices.InputSlice, "point_before", lambda *_: slices.SeekPoint(0, 0, 0, 0))
    convert("jsonl", compressed, tmp_path / "slow", unit_mib=1)

    assert len(read_sealed(tmp_path / "fast" / "plan.json")["units"]) > 5
    assert {name: data for name, data in bytes_of(tmp_path / "fast").items() if name.endswith(".arrow")} == {
        name: data for name, data in bytes_of(tmp_path / "slow").items() if name.endswith(".arrow")
    }
    verify_dataset(tmp_path / "fast")


@pytest.mark.parametrize("name", COMPRESS)
def test_a_compressed_text_has_the_units_and_structures_of_the_plain_one(name: str, tmp_path: Path) -> None:
    text = b"".join(b"line %d\n" % i for i in range(15_000))
    (tmp_path / "plain.txt").write_bytes(text)
    convert("text", write_members(tmp_path / f"plain.txt.{name}", text), tmp_path / "d", unit_mib=1)
    convert("text", tmp_path / "plain.txt", tmp_path / "plain", unit_mib=1)

    units, plain = (read_sealed(tmp_path / d / "plan.json")["units"] for d in ("d", "plain"))
    assert [unit["slices"][0]["begin"] for unit in units] == [unit["slices"][0]["begin"] for unit in plain]
    assert texts_of(tmp_path / "d") == texts_of(tmp_path / "plain")
    assert TEXT.export(
        IncidenceDataset(tmp_path / "d"), tmp_path / "back.txt", IncidenceDataset(tmp_path / "d").inputs
    ).num_records == len(texts_of(tmp_path / "plain"))
    assert (tmp_path / "back.txt").read_bytes() == text


@pytest.mark.parametrize(
    ("source", "sample", "copies"),
    [
        ("ntriples", "triples/garden.nt", 60),
        ("conllu", "treebank/workshop.conllu", 30),
        ("wikidata", "wikidata/harbour.ndjson", 20),
        ("fact-text", "fact_text/harbour.jsonl", 60),
    ],
)
def test_sources_cut_a_compressed_file_where_they_cut_the_plain_one(
    source: str, sample: str, copies: int, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lisdata.conversion.config, "MEBIBYTE", 8 << 10)
    plain = tmp_path / Path(sample).name
    plain.write_bytes((root / "sample_data" / sample).read_bytes() * copies)
    packed = write_members(plain.with_name(f"{plain.name}.gz"), plain.read_bytes(), 3000)

    manifests = [convert(source, path, tmp_path / path.suffix, unit_mib=1) for path in (plain, packed)]
    units = [read_sealed(tmp_path / path.suffix / "plan.json")["units"] for path in (plain, packed)]

    begins = [[unit["slices"][0]["begin"] for unit in one] for one in units]
    assert begins[0] == begins[1]
    assert len(begins[0]) > 3
    assert manifests[0]["counts"] == manifests[1]["counts"]
    assert manifests[0]["inputs"][0]["records"] == manifests[1]["inputs"][0]["records"]


@pytest.mark.parametrize("compressed", ["zst"], indirect=True)
def test_workers_and_ranks_write_the_same_bytes(compressed: Path, tmp_path: Path) -> None:
    convert("jsonl", compressed, tmp_path / "calm", unit_mib=4)
    for rank in (1, 0):
        convert_share("jsonl", compressed, tmp_path / "ranks", rank=rank, world=2, unit_mib=4)

    assert bytes_of(tmp_path / "ranks") == bytes_of(tmp_path / "calm")


def test_a_bad_record_of_a_later_unit_is_named_by_its_line(compressed: Path, tmp_path: Path) -> None:
    lines = [*LINES[:4500], b"no JSON\n", *LINES[4500:]]
    path = write_members(tmp_path / f"bad{compressed.suffix}", b"".join(lines))

    with pytest.raises(BadRecordError, match=r"bad\.\w+:4501:1: expected"):
        convert("jsonl", path, tmp_path / "d", unit_mib=1)
    manifest = convert("jsonl", path, tmp_path / "kept", unit_mib=1, on_error="quarantine")

    assert manifest["inputs"][0]["records"] == {"seen": 6_001, "converted": 6_000, "rejected": 1}
    assert b"".join(p.read_bytes() for p in (tmp_path / "kept/rejects").glob("*.bin")) == b"no JSON\n"


def test_a_damaged_file_is_refused_or_quarantined_as_it_is_in_one_unit(
    compressed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = bytearray(compressed.read_bytes())
    data[len(data) * 3 // 4] ^= 0x55
    compressed.write_bytes(data)

    with pytest.raises(BadRecordError, match="expected a whole"):
        convert("jsonl", compressed, tmp_path / "stopped", unit_mib=1)
    cut = convert("jsonl", compressed, tmp_path / "cut", unit_mib=1, on_error="quarantine")
    monkeypatch.setattr(slices, "find_points", lambda *_: None)
    whole = convert("jsonl", compressed, tmp_path / "whole", unit_mib=1, on_error="quarantine")

    assert len(read_sealed(tmp_path / "cut" / "plan.json")["units"]) > 3
    assert len(read_sealed(tmp_path / "whole" / "plan.json")["units"]) == 1
    assert cut["inputs"][0]["records"] == whole["inputs"][0]["records"]
    assert cut["inputs"][0]["records"]["rejected"] == 1
    rejects = [b"".join(p.read_bytes() for p in (tmp_path / d / "rejects").glob("*.jsonl")) for d in ("cut", "whole")]
    assert rejects[0] == rejects[1]


@pytest.mark.parametrize("compressed", ["bz2"], indirect=True)
def test_a_run_that_goes_on_does_not_decompress_all_again_unless_the_file_changed(
    compressed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def count(*arguments: Any, **settings: Any) -> Any:
        calls.append(1)
        return find_seek_points(*arguments, **settings)

    monkeypatch.setattr(lisdata.inputs, "find_seek_points", count)
    convert("jsonl", compressed, tmp_path / "d", unit_mib=1)
    calm = bytes_of(tmp_path / "d")
    next((tmp_path / "d/commits").iterdir()).unlink()
    (tmp_path / "d/manifest.json").unlink()
    slices.find_points.cache_clear()  # as in another process
    convert("jsonl", compressed, tmp_path / "d", unit_mib=1)
    assert len(calls) == 1
    assert bytes_of(tmp_path / "d") == calm

    os.utime(compressed, (1, 1))
    convert("jsonl", compressed, tmp_path / "d", unit_mib=1)
    assert len(calls) == 2
    slices.find_points.cache_clear()
    convert("jsonl", compressed, tmp_path / "d", unit_mib=1, fresh=True)
    assert len(calls) == 3
    assert bytes_of(tmp_path / "d") == calm


@pytest.mark.parametrize("compressed", ["gz"], indirect=True)
def test_a_changed_file_is_refused_and_appended_files_are_as_of_one_conversion(
    compressed: Path, tmp_path: Path
) -> None:
    other = write_members(tmp_path / f"other{compressed.suffix}", b"".join(reversed(LINES)))
    convert("jsonl", [compressed, other], tmp_path / "both", unit_mib=1)
    convert("jsonl", compressed, tmp_path / "d", unit_mib=1)
    convert("jsonl", [compressed, other], tmp_path / "d", unit_mib=1, append=True)

    assert bytes_of(tmp_path / "d") == bytes_of(tmp_path / "both")
    write_members(compressed, b"".join(LINES[1:]))
    with pytest.raises(PlanError, match="--replan"):
        convert("jsonl", [compressed, other], tmp_path / "d", unit_mib=1)


@pytest.mark.parametrize("compressed", ["zst"], indirect=True)
def test_a_large_file_that_is_read_to_be_cut_is_told(
    compressed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(slices, "_LARGE_BYTES", 1)
    caplog.set_level("INFO")

    for _ in range(2):
        plan_conversion(ConvertConfig(source="jsonl", unit_mib=1), compressed, tmp_path / "d")

    assert caplog.messages == [f"{compressed.name}: reading it once to see where it can be cut"]


def test_parquet_in_gzip_is_never_cut(tmp_path: Path) -> None:
    file = InputFile(index=0, path="gone", name="gone", size=9, digest="", scope="", compression="gzip")
    source = load_source("parquet")

    assert source.find_cut(InputSlice(file=file, end=99), 50, source.options_type()) == 99


@pytest.mark.parametrize("compressed", ["gz"], indirect=True)
def test_a_source_that_reads_files_whole_and_a_small_file_are_not_looked_at(
    compressed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(InputFile, "find_seek_points")
    (tmp_path / "table.csv.gz").write_bytes(gzip.compress(b"a,b\n" * 45_000) * 2)
    _, plan = plan_conversion(ConvertConfig(source="csv", unit_mib=1), tmp_path / "table.csv.gz", tmp_path / "d")
    small = plan_conversion(ConvertConfig(source="jsonl", unit_mib=64), compressed, tmp_path / "d")[1]

    assert [unit["slices"] for unit in plan["units"] + small["units"]] == [[{"file": 0, "begin": 0, "end": None}]] * 2


@pytest.mark.parametrize("other", ["cut", "another", "plain"])
@pytest.mark.parametrize("on_error", ["stop", "quarantine"])
def test_a_file_that_is_replaced_while_it_is_converted_is_told_as_that_not_as_damage(
    compressed: Path, other: str, on_error: str, tmp_path: Path
) -> None:
    data = compressed.read_bytes()
    written = write_members(tmp_path / f"b{compressed.suffix}", b"".join(reversed(LINES))).read_bytes()
    found = {"cut": data[: len(data) // 2], "another": written, "plain": b"".join(LINES)}[other]

    def replace_it(progress: Progress) -> None:
        if progress.num_done == 1:
            compressed.write_bytes(found)

    with pytest.raises(PlanError, match=rf"lines\.jsonl\{compressed.suffix}: changed while it was converted"):
        convert("jsonl", compressed, tmp_path / "d", unit_mib=1, on_progress=replace_it, on_error=on_error)


def test_reading_a_large_file_ahead_is_told_as_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compressed = write_members(tmp_path / "lines.jsonl.bz2", b"".join(LINES))
    for name, value in (("_LARGE_BYTES", 1), ("_SECONDS_BETWEEN_NOTES", 0)):
        monkeypatch.setattr(slices, name, value)

    with caplog.at_level("INFO", logger="lisdata.conversion"):
        plan_conversion(ConvertConfig(source="jsonl", unit_mib=1), compressed, tmp_path / "d")

    told = [record.getMessage() for record in caplog.records]
    assert told[0] == "lines.jsonl.bz2: reading it once to see where it can be cut"
    assert len(told) > 5
    later = re.compile(r"lines.jsonl.bz2: read \d+ of \d+ MB to see where .*, \d+ s left")
    assert all(later.fullmatch(line) for line in told[1:])
