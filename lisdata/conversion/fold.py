"""The manifest of a conversion, from its plan and the commits of its units."""

from __future__ import annotations

from lisdata.registry import load_source
from lisdata.runs import JsonDict
from lisdata.shards.manifest import INCIDENCE_FORMAT


def fold_conversion(plan: JsonDict, commits: list[JsonDict]) -> JsonDict:
    """Return the manifest's body: what the plan says and the sums of the commits."""
    inputs = [
        {key: entry[key] for key in ("name", "size", "digest", "scope", "compression")}
        | {"origin": 0, "records": {"seen": 0, "converted": 0, "rejected": 0}, "report": {}}
        for entry in plan["inputs"]
    ]
    totals: dict[str, dict[str, int]] = {"counts": {}, "kinds": {}, "report": {}}
    parts = []
    for commit in commits:
        for file, records in commit["records"].items():
            add_counts(inputs[int(file)]["records"], records)
        for file, report in commit["reports"].items():
            add_counts(inputs[int(file)]["report"], report)
            add_counts(totals["report"], report)
        for file, prefixes in commit.get("prefixes", {}).items():
            inputs[int(file)].setdefault("prefixes", {}).update(prefixes)
        files = sorted(map(int, commit["records"]))
        for part in commit["parts"]:
            parts.append(part | {"inputs": [files[0], files[-1] + 1]})
            add_counts(totals["counts"], part["counts"])
            add_counts(totals["kinds"], part["kinds"])
    origin = {
        "source": plan["source"],
        "exporter": load_source(plan["source"]).exporter,
        "options": plan["options"],
        "converter": plan["converter"],
        "converter_options": plan["converter_options"],
    }
    return {
        "format": INCIDENCE_FORMAT,
        "lisdata": plan["lisdata"],
        "origins": [origin],
        "inputs": inputs,
        "parts": parts,
        "on_error": plan["on_error"],
        **totals,
    }


def add_counts(total: dict[str, int], more: dict[str, int]) -> None:
    """Add the counts of `more` to those of `total`."""
    for name, count in more.items():
        total[name] = total.get(name, 0) + count
