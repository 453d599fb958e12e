"""Token datasets in another order, in parts of another size: rows that are read one after another come at random."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import lisdata
from lisdata.loader.order import permute
from lisdata.runs import Job, JsonDict, OnProgress, run_job
from lisdata.selection.selecting import check_target
from lisdata.shards.manifest import MANIFEST, TOKEN_FORMAT, file_entry
from lisdata.token_shards import TokenDataset
from lisdata.token_shards.writer import TokenShardWriter, token_manifest

Int64 = npt.NDArray[np.int64]

TOKENS_A_PART = 1 << 27
_TOKENS_AT_ONCE = 1 << 22
_OF_PARTS = ("format", "schema", "num_rows", "num_tokens", "parts", "files")


def reshard(
    tokens: str | Path,
    to: str | Path,
    *,
    shuffle: bool = True,
    seed: int = 0,
    tokens_per_part: int = TOKENS_A_PART,
    workers: int = 1,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
) -> JsonDict:
    """Write the rows of a token dataset in random order (or as they are) as one at `to`; return its manifest's body.

    Row n is then row permute(n) of the dataset under `seed`: what is near in a shard was anywhere before, so that a
    reader which takes shards as they come, or shuffles in a window, mixes well. Parts hold about `tokens_per_part`
    tokens. Rows are read where they lie, in memory that is bounded by a few million tokens.
    """
    if tokens_per_part < 1:
        raise ValueError(f"expected at least 1 token a part, got {tokens_per_part=}")
    source, target = TokenDataset(tokens), Path(to)
    check_target(source.path, target)
    num_parts = max(1, min(len(source), round(source.num_tokens / tokens_per_part)))
    bounds = [len(source) * number // num_parts for number in range(num_parts + 1)]
    beside = {name: e for name, e in source.manifest["files"].items() if "/" not in name and name != "plan.json"}
    weight = sum(entry["size"] for entry in source.manifest["files"].values()) // num_parts
    plan = {
        "format": TOKEN_FORMAT,
        "lisdata": lisdata.__version__,
        "tokens": file_entry(source.path / MANIFEST)["sha256"],
        "shuffle": shuffle,
        "seed": seed,
        "units": [
            {"name": f"{number:05d}", "weight": weight, "rows": bounds[number : number + 2]}
            for number in range(num_parts)
        ],
    }
    job = Job(
        directory=target,
        plan=plan,
        run_unit=partial(_write_part, source.path),
        fold=partial(_fold, target, source.manifest),
        facts={"tokens": str(source.path), "workers": workers},
        sidecars={name: (source.path / name).read_bytes() for name in beside},
    )
    return run_job(job, workers=workers, fresh=fresh, on_progress=on_progress)


def _write_part(source: Path, directory: Path, plan: JsonDict, unit: JsonDict) -> JsonDict:
    dataset = TokenDataset(source)
    rows = np.arange(*unit["rows"])
    if plan["shuffle"]:
        rows = permute(rows, len(dataset), seed=plan["seed"], epoch=0)
    with TokenShardWriter(directory, f"part-{unit['name']}", dataset.schema) as writer:
        for some in _cut(rows, dataset):
            batch = dataset.gather(some)
            ids = [dataset.record_id(row) for row in some.tolist()] if dataset.schema.has_record_id else None
            kind = batch.kind if dataset.schema.kind is None else None
            writer.append_batch(batch.offsets, batch.columns, kind=kind, record_ids=ids)
        return {"unit": unit["name"], **writer.close()}


def _cut(rows: Int64, dataset: TokenDataset) -> list[Int64]:
    """Return the rows in runs of about _TOKENS_AT_ONCE tokens."""
    if not len(rows):
        return []
    run = np.cumsum(dataset.lengths(rows)) // _TOKENS_AT_ONCE
    return np.split(rows, np.flatnonzero(np.diff(run)) + 1)


def _fold(directory: Path, manifest: dict[str, Any], plan: JsonDict, commits: list[JsonDict]) -> JsonDict:
    """Return the new manifest's body: parts and files anew, all else (vocabularies, view, counts) as it was."""
    kept = {name: value for name, value in manifest.items() if name not in _OF_PARTS}
    order = {name: plan[name] for name in ("tokens", "shuffle", "seed")}
    return token_manifest(directory, commits, kept | {"lisdata": plan["lisdata"], "resharded": order})
