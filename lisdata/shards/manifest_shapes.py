"""What a manifest holds, field by field, and which of its fields must agree: checked whenever one is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from lisdata.errors import DamagedShardError
from lisdata.json_shape import COUNT, MapOf, Shape, find_mismatch
from lisdata.paths import StrPath

COUNTED = ("structures", "occurrences", "instances", "incidences", "cells", "contents", "labels")

_COUNTS = MapOf(COUNT)
_ANY_FORMAT = {"format": str, "schema_version": COUNT, "files": MapOf({"size": COUNT, "sha256": str})}
_RECORDS = {"seen": COUNT, "converted": COUNT, "rejected": COUNT}
_INCIDENCE = {
    "origins": [{"source": str, "exporter": str, "options": dict, "converter?": str, "converter_options?": dict}],
    "inputs": [
        {
            "name": str,
            "size": COUNT,
            "digest": str,
            "scope": str,
            "compression": (str, None),
            "origin": COUNT,
            "records": _RECORDS,
            "of_records?": COUNT,
            "report?": _COUNTS,
            "prefixes?": MapOf(str),
        }
    ],
    "parts": [
        {
            "name": str,
            "first_file": COUNT,
            "inputs": [COUNT],
            "counts": dict.fromkeys(COUNTED, COUNT),
            "kinds": _COUNTS,
        }
    ],
    "counts": _COUNTS,
    "kinds": _COUNTS,
    "report?": _COUNTS,
    "on_error?": str,
    "lisdata?": str,
}
_COLUMN = {"name": str, "minimum": int, "maximum": int, "type": str}
TOKEN_FACTS = {
    "tokenizer?": {"file": str, "sha256": str, "vocab_size": COUNT, "pad_id": (COUNT, None), "unk_id": (COUNT, None)},
    "roles?": {"file": str, "hash": str, "num_roles": COUNT},
    "counts?": _COUNTS,
    "kinds?": _COUNTS,
    "report?": _COUNTS,
    "config?": dict,
    "compression?": str,
    "dataset?": str,
    "lisdata?": str,
}
"""What the manifest of a token dataset tells beside how its rows lie in files."""
_TOKENS = TOKEN_FACTS | {
    "schema": {"columns": [_COLUMN], "max_length": (COUNT, None), "kind": (COUNT, None), "has_record_id": bool},
    "num_rows": COUNT,
    "num_tokens": COUNT,
    "parts": [{"name": str, "num_rows": COUNT, "num_tokens": COUNT, "files": [str]}],
}
Find = Callable[[dict[str, Any]], Iterator[str]]


def check_any_manifest(what: StrPath, body: dict[str, Any]) -> None:
    """Raise DamagedShardError, naming file and field, unless `body` has what every manifest has."""
    _refuse_first(what, body, _ANY_FORMAT, lambda _: iter(()))


def check_incidence_manifest(what: StrPath, body: dict[str, Any]) -> None:
    """Raise DamagedShardError unless `body` is that of a dataset of structures: its types, numbers and sums."""
    _refuse_first(what, body, _INCIDENCE, _incidence_conflicts)


def check_token_manifest(what: StrPath, body: dict[str, Any]) -> None:
    """Raise DamagedShardError unless `body` is that of a token dataset: its types, numbers and sums."""
    _refuse_first(what, body, _TOKENS, _token_conflicts)


def _refuse_first(what: StrPath, body: dict[str, Any], shape: Shape, find_conflicts: Find) -> None:
    problem = find_mismatch(body, shape) or next(find_conflicts(body), None)
    if problem is not None:
        raise DamagedShardError(f"{what}: {problem}")


def _incidence_conflicts(body: dict[str, Any]) -> Iterator[str]:
    parts, num_inputs = body["parts"], len(body["inputs"])
    for number, entry in enumerate(body["inputs"]):
        if entry["origin"] >= len(body["origins"]):
            yield f"inputs[{number}].origin: expected one of {len(body['origins'])} origins, found {entry['origin']}"
    for number, part in enumerate(parts):
        bounds = part["inputs"]
        if len(bounds) != 2 or not bounds[0] <= bounds[1] <= num_inputs:
            yield f"parts[{number}].inputs: expected a range of the {num_inputs} inputs, found {bounds}"
    yield from _repeated_names(parts)
    for name in ("counts", "kinds"):
        yield from _wrong_sums(name, body[name], [part[name] for part in parts], "the parts")
    reports = [entry["report"] for entry in body["inputs"] if "report" in entry]
    if len(reports) == num_inputs:  # older manifests have only the report on all inputs together
        of_inputs = {name for report in reports for name in report}
        total = {name: count for name, count in body.get("report", {}).items() if name in of_inputs}
        yield from _wrong_sums("report", total, reports, "the inputs")


def _token_conflicts(body: dict[str, Any]) -> Iterator[str]:
    parts, files = body["parts"], body["files"]
    for number, part in enumerate(parts):
        for name in part["files"]:
            if name not in files:
                yield f"parts[{number}].files: expected names among the files, found {name!r}"
    yield from _repeated_names(parts)
    totals = {name: body[name] for name in ("num_rows", "num_tokens")}
    yield from _wrong_sums("", totals, [{name: part[name] for name in totals} for part in parts], "the parts")
    for name, count in body.get("counts", {}).items():
        if body.get(f"num_{name}", count) != count:
            yield f"counts.{name}: expected num_{name}, {body[f'num_{name}']}, found {count}"
    for name in ("tokenizer", "roles"):
        found = body.get(name)
        if found is not None and found["file"] not in files:
            yield f"{name}.file: expected one of the files, found {found['file']!r}"
    tokenizer = body.get("tokenizer")
    if tokenizer is not None and files[tokenizer["file"]]["sha256"] != tokenizer["sha256"]:
        yield f"tokenizer.sha256: expected that of {tokenizer['file']}, found {tokenizer['sha256']}"


def _repeated_names(parts: list[dict[str, Any]]) -> Iterator[str]:
    seen = Counter(part["name"] for part in parts)
    yield from (f"parts: expected each name once, found {name!r} {n} times" for name, n in seen.items() if n > 1)


def _wrong_sums(field: str, totals: dict[str, int], addends: list[dict[str, int]], of: str) -> Iterator[str]:
    sums: Counter[str] = Counter()
    for counts in addends:
        sums.update(counts)
    for name in sorted({*totals, *sums}):
        if totals.get(name, 0) != sums[name]:
            where = f"{field}.{name}" if field else name
            yield f"{where}: expected the sum over {of}, {sums[name]}, found {totals.get(name, 0)}"
