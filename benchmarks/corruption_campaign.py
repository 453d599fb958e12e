"""Damages every file of datasets of every form, byte by byte and cut by cut, and counts what goes unnoticed.

    python benchmarks/corruption_campaign.py --to results/corruption_campaign

* A byte is flipped in every stretch of 64 bytes of every file, so in every buffer of every column (they are aligned to
  as much), in each message's metadata, in footers, in the manifest and all other JSON: `verify` must find it.
* Every Arrow file is cut at each boundary of its messages and before its footer, every other file at every 64 bytes:
  opening the dataset must fail. Each file is taken away: the same.

run.json is outside what opening looks at: it says when and where a run was, and `verify` alone checks its seal.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import lisdata
from lisdata.errors import LisDataError
from lisdata.shards import IncidenceDataset, verify_dataset
from lisdata.token_shards import TokenDataset
from lisdata.token_shards.archive import archive_tokens

SAMPLES = Path(__file__).resolve().parents[1] / "sample_data"
SOURCES = {
    "text": "text",
    "conllu": "treebank",
    "ntriples": "triples",
    "hif": "hif",
    "html": "html",
    "csv": "tables/books.csv",
    "npy": "grids/heat.npy",
    "fact-text": "fact_text/harbour.jsonl",
    "wikidata": "wikidata",
}
STRIDE = 64
NOT_OPENED = ("run.json",)


def make_datasets(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield datasets of every form: merged ones of all kinds of structures, tokens, and archived tokens."""
    for compression in ("zstd", "none"):
        parts = []
        for source, name in SOURCES.items():
            to = folder / f"{source}-{compression}"
            lisdata.convert(source, SAMPLES / name, to, compression=compression)
            parts.append(to)
        merged = folder / f"structures-{compression}"
        lisdata.merge(parts, merged)
        yield f"all kinds of structures, {compression}", merged
    yield "a conversion with its plan and commits", folder / "conllu-none"
    bad = folder / "bad.nt"
    bad.write_text("<urn:a> <urn:b> <urn:c> .\nnot a triple\n", encoding="ascii")
    lisdata.convert("ntriples", bad, folder / "rejects", on_error="quarantine")
    yield "rejected records", folder / "rejects"
    lisdata.encode(folder / "conllu-none", folder / "tokens")
    yield "token rows", folder / "tokens"
    archive_tokens(folder / "tokens", folder / "archive")
    yield "archived token rows", folder / "archive"


def flips(size: int, chance: random.Random) -> list[int]:
    """Return a byte of every stretch of STRIDE bytes."""
    return [min(size - 1, begin + chance.randrange(STRIDE)) for begin in range(0, size, STRIDE)]


def cuts(path: Path) -> list[int]:
    """Return where a file is cut: an Arrow file between its messages, others every STRIDE bytes."""
    data = path.read_bytes()
    if path.suffix != ".arrow":
        return list(range(0, len(data), STRIDE))
    places = [0, 4, 8, len(data) - 10, len(data) - 6, len(data) - 1]
    reader = pa.BufferReader(data)
    reader.seek(8)
    while True:
        try:
            pa.ipc.read_message(reader)
        except (EOFError, pa.ArrowInvalid):  # the mark of the end, or the footer behind it
            break
        places.append(reader.tell())
    return sorted({place for place in places if 0 <= place < len(data)})


def fails_to_open(dataset: Path) -> bool:
    """Tell whether opening finds the damage."""
    form = json.loads((dataset / "manifest.json").read_bytes())["format"] if _has_json(dataset) else ""
    try:
        (TokenDataset if "token" in form else IncidenceDataset)(dataset)
    except LisDataError:
        return True
    return False


def _has_json(dataset: Path) -> bool:
    try:
        return isinstance(json.loads((dataset / "manifest.json").read_bytes()), dict)
    except (OSError, ValueError):
        return False


def is_found(dataset: Path) -> bool:
    """Tell whether `verify` finds the damage."""
    return not verify_dataset(dataset).ok


def damage(dataset: Path, path: Path, kind: str, counts: Counter[str], chance: random.Random) -> Iterator[str]:
    """Damage one file in every way, each time put right again; yield what went unnoticed."""
    good = path.read_bytes()
    name = path.relative_to(dataset).as_posix()

    def attempt(what: str, change: Callable[[], object], finds: Callable[[Path], bool]) -> Iterator[str]:
        change()
        counts[what] += 1
        if not finds(dataset):
            yield f"{kind}: {what} of {name}"
        path.write_bytes(good)

    for at in flips(len(good), chance) if good else ():
        flipped = bytearray(good)
        flipped[at] ^= 1 << chance.randrange(8)
        yield from attempt("byte flipped", lambda data=flipped: path.write_bytes(data), is_found)  # type: ignore[misc]
    if name in NOT_OPENED:
        return
    for at in cuts(path):
        yield from attempt("file cut", lambda at=at: path.write_bytes(good[:at]), fails_to_open)  # type: ignore[misc]
    yield from attempt("file missing", path.unlink, fails_to_open)


def main() -> int:
    """Damage, count, write the report, and return 1 where anything went unnoticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, help="folder of the report, campaign.json")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    rows: list[dict[str, Any]] = []
    unnoticed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, dataset in make_datasets(Path(folder)):
            counts: Counter[str] = Counter()
            files = sorted(path for path in dataset.rglob("*") if path.is_file() and path.name != ".lock")
            for path in files:
                unnoticed += damage(dataset, path, kind, counts, chance)
            assert verify_dataset(dataset).ok, "a file was not put right"
            rows.append({"dataset": kind, "files": len(files), **counts})
            print(json.dumps(rows[-1]), flush=True)
    report = {"seed": arguments.seed, "lisdata": lisdata.__version__, "rows": rows, "unnoticed": unnoticed}
    print(f"{len(unnoticed)} unnoticed", *unnoticed[:20], sep="\n")
    if arguments.to:
        arguments.to.mkdir(parents=True, exist_ok=True)
        (arguments.to / "campaign.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return bool(unnoticed)


if __name__ == "__main__":
    raise SystemExit(main())
