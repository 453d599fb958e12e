"""Wikidata's JSON to shards: MB/s of CPU time a core, beside orjson alone and a plain walk in Python, in one run.

python benchmarks/wikidata.py --entities 2000
python benchmarks/wikidata.py --file dump_head.json
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_TEXT = "river stone market Straße Zürich forêt château señor 東京 大阪 Москва река museum painter"
_WORDS = _TEXT.split()
_LANGUAGES = ("en", "de", "fr", "es", "ru", "ja", "zh", "ar", "it", "nl", "pl", "sv", "pt", "uk", "ca", "tr")
_CALENDAR = "http://www.wikidata.org/entity/Q1985727"


def write_dump(path: Path, num_entities: int, *, seed: int = 0) -> None:
    """Write a dump of items, an array with one a line, escaped as Wikidata's are."""
    rng = random.Random(seed)
    lines = (json.dumps(_item(number, rng), separators=(",", ":")) for number in range(1, num_entities + 1))
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8", newline="\n")


def _item(number: int, rng: random.Random) -> dict[str, Any]:
    name = f"Q{number}"
    languages = rng.sample(_LANGUAGES, rng.randrange(1, len(_LANGUAGES)))
    texts = {code: {"language": code, "value": _text(rng)} for code in languages}
    claims: dict[str, Any] = {}
    for count in range(rng.randrange(2, 60)):
        property_ = f"P{rng.randrange(1, 400)}"
        claims.setdefault(property_, []).append(_statement(f"{name}${count:036x}", property_, rng))
    sites = {f"{code}wiki": {"site": f"{code}wiki", "title": _text(rng), "badges": []} for code in languages}
    return {"type": "item", "id": name, "labels": texts, "descriptions": {}, "aliases": {}, "claims": claims,
            "sitelinks": sites, "lastrevid": number}  # fmt: skip


def _statement(name: str, property_: str, rng: random.Random) -> dict[str, Any]:
    qualifiers = {"P585": [_snak("P585", 1, rng) | {"hash": f"{rng.getrandbits(160):040x}"}]}
    reference = {
        "hash": f"{rng.randrange(1 << 12):040x}",
        "snaks": {"P143": [_snak("P143", 0, random.Random(0))]},
        "snaks-order": ["P143"],
    }
    return {"mainsnak": _snak(property_, int(property_[1:]) % 4, rng), "type": "statement"} | (
        {"qualifiers": qualifiers, "qualifiers-order": ["P585"]} if rng.random() < 0.4 else {}
    ) | {"id": name, "rank": "normal"} | ({"references": [reference]} if rng.random() < 0.6 else {})  # fmt: skip


def _snak(property_: str, kind: int, rng: random.Random) -> dict[str, Any]:
    number = int(rng.paretovariate(0.5)) % 10**8 + 1
    time_ = {"time": f"+{rng.randrange(1000, 2025)}-00-00T00:00:00Z", "timezone": 0, "before": 0, "after": 0,
             "precision": 9, "calendarmodel": _CALENDAR}  # fmt: skip
    type_, datatype, value = (
        ("wikibase-entityid", "wikibase-item", {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}),
        ("time", "time", time_),
        ("string", "external-id", f"n{rng.randrange(10**8)}"),
        ("quantity", "quantity", {"amount": f"+{number}", "unit": "1"}),
    )[kind]
    datavalue = {"value": value, "type": type_}
    return {"snaktype": "value", "property": property_, "datavalue": datavalue, "datatype": datatype}


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, k=3))


def convert_whole(path: Path, folder: Path, options: dict[str, Any]) -> int:
    """Convert the file to shards as `lisdata convert` does and return its facts."""
    from lisdata.conversion import convert

    manifest = convert("wikidata", [str(path)], folder / "data", fresh=True, options=options)
    return int(manifest["counts"]["instances"])


def _iter_entities(path: Path) -> Iterator[Any]:
    import orjson

    with path.open("rb") as stream:
        for line in stream:
            record = line.strip().rstrip(b",")
            if record.startswith(b"{"):
                yield orjson.loads(record)


def parse_with_orjson(path: Path) -> int:
    """Parse the lines and drop the entities."""
    return sum(1 for _ in _iter_entities(path))


def walk_in_python(path: Path) -> int:
    """Parse the lines and visit every snak, which is the least that a reader in Python has to do."""
    num_snaks = 0
    for entity in _iter_entities(path):
        for listed in (entity.get("claims") or {}).values():
            for statement in listed:
                maps = [reference["snaks"] for reference in statement.get("references", ())]
                maps += [statement.get("qualifiers") or {}, {"": [statement["mainsnak"]]}]
                for snaks in maps:
                    for snak in (snak for same in (snaks or {}).values() for snak in same):
                        num_snaks += snak["snaktype"] == "value" and snak["datavalue"]["type"] != ""
    return num_snaks


def measure(run: Callable[[], int], size: int, repeats: int) -> tuple[float, int]:
    """Return MB/s of CPU time, all threads together, at the best of `repeats`, and what `run` returned."""
    best, result = float("inf"), 0
    for _ in range(repeats):
        begin = time.process_time()
        result = run()
        best = min(best, time.process_time() - begin)
    return size / 1e6 / best, result


def main() -> None:
    """Print a table of roads, their speed and what of the whole conversion's speed that is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="a dump, instead of one that is made")
    parser.add_argument("--entities", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, small = arguments.file or folder / "dump.json", folder / "small.json"
        write_dump(small, 20)
        if arguments.file is None:
            write_dump(path, arguments.entities)
        terms = dict.fromkeys(("labels", "descriptions", "aliases", "sitelinks", "hashes"), False)
        roads: dict[str, Callable[[], int]] = {
            "lisdata: dump to shards, facts": lambda: convert_whole(path, folder, {}),
            "lisdata: statements without hashes": lambda: convert_whole(path, folder, terms),
            "orjson: parse, entities": lambda: parse_with_orjson(path),
            "orjson and a walk in Python, snaks": lambda: walk_in_python(path),
        }
        convert_whole(small, folder, {})  # compiles the kernels
        size = path.stat().st_size
        print(f"{size / 1e6:.1f} MB; CPU time of one process")
        first: float | None = None
        for label, run in roads.items():
            speed, result = measure(run, size, arguments.repeats)
            first = first or speed
            print(f"{label:40} {speed:8.1f} MB/s {speed / first:7.2f} x  {result:>10,}")


if __name__ == "__main__":
    main()
