"""`encode`: an incidence dataset becomes a token dataset, through plan, units and commits."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lisdata.encoding.characters import CharacterTokenizer
from lisdata.encoding.config import EncodeConfig
from lisdata.encoding.counts import EncodeCounts
from lisdata.encoding.deprels import DeprelVocabulary
from lisdata.encoding.label_join import LabelTable, join_dataset_labels, join_file_labels
from lisdata.encoding.part_encoder import PartEncoder
from lisdata.encoding.planning import plan_encoding
from lisdata.encoding.surfaces import LabelSpeller, LexicalSpeller, Speller
from lisdata.encoding.tokenizers import Tokenizer, load_tokenizer
from lisdata.engines import PROCESSES, Engine, EngineName
from lisdata.errors import PlanError, RunError
from lisdata.paths import StrPath
from lisdata.runs import Job, JsonDict, OnProgress, Share, finish_shares, run_job, run_share
from lisdata.settings import build_settings
from lisdata.shards import IncidenceDataset
from lisdata.shards.companions import find_settings
from lisdata.shards.manifest import MANIFEST, file_entry
from lisdata.shards.same_as import SameAs
from lisdata.storage import everywhere
from lisdata.token_shards.schema import TokenSchema
from lisdata.token_shards.writer import TokenShardWriter, token_manifest
from lisdata.vocabulary import ROLES_FILE, RoleVocabulary

_LOG = logging.getLogger("lisdata")
_KEPT = ("lisdata", "config", "dataset", "kinds", "tokenizer", "roles", "deprels")
_TOTALS = ("structures", "rows", "tokens", "endpoints", "words")


def encode(
    source: StrPath,
    to: StrPath,
    *,
    workers: int = 1,
    engine: EngineName = "process",
    ray_address: str | None = None,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> JsonDict:
    """Encode the dataset at `source` as a token dataset at `to`; `settings` are the fields of `EncodeConfig`.

    The rest is as of `encode_dataset`; `engine` and `ray_address` are those of `convert`.
    """
    spread = Engine(name=engine, ray_address=ray_address)
    config = _config(settings)
    return encode_dataset(source, to, config, workers=workers, engine=spread, fresh=fresh, on_progress=on_progress)


def encode_dataset(
    source: StrPath,
    to: StrPath,
    config: EncodeConfig,
    *,
    workers: int = 1,
    engine: Engine = PROCESSES,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
) -> JsonDict:
    """Encode the dataset at `source` as a token dataset at `to`, one unit a part; return the manifest's body.

    The vocabularies (roles.json, and characters.json or tokenizer.json) stand beside the shards. The bytes do not
    depend on `workers` or `engine`. A run that was stopped goes on where it was; a finished one is only planned again.
    """
    with _job(source, to, config, {"workers": workers, "engine": engine.name}) as job:
        body = run_job(job, workers=workers, engine=engine, fresh=fresh, on_progress=on_progress)
    _tell_idle_same_as(source, config, body)
    return body


def encode_share(
    source: StrPath,
    to: StrPath,
    *,
    rank: int,
    world: int,
    workers: int = 1,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> Share:
    """Encode as rank `rank` (from 0) of `world`: each `world`-th part, in a folder `to` that all ranks see.

    Every rank is given the same arguments, and collects the vocabularies for itself. The rank that ends last writes the
    manifest; what came of this one, and which ranks are not done yet, is returned.
    """
    with _job(source, to, _config(settings), {"workers": workers}) as job:
        share = run_share(job, rank=rank, world=world, workers=workers, on_progress=on_progress)
    if share.manifest is not None:
        _tell_idle_same_as(source, _config(settings), share.manifest)
    return share


def _tell_idle_same_as(source: StrPath, config: EncodeConfig, body: JsonDict) -> None:
    """Warn where `same_as` was asked for and changed nothing."""
    if config.same_as and not body["report"].get("contents_shown_as_others"):
        dataset = IncidenceDataset(source, verify="none")
        remedy = "names must be spelled as in the dataset: lisdata align DATASET... --same-as TABLE counts matches"
        if not len(SameAs.of_dataset(dataset)):
            remedy = "the dataset has no such table: lisdata align --same-as TABLE --to DIR, then lisdata merge"
        _LOG.warning("%s: same_as shows no content as another: %s", source, remedy)


def finish(to: StrPath) -> JsonDict:
    """Write the manifest of an encoding by ranks whose parts are all done, and return its body; reads no dataset.

    Raises RunError, naming the ranks that have parts to do, when some are not done.
    """
    return finish_shares(Path(to), partial(fold_encoding, Path(to)))


@contextmanager
def _job(source: StrPath, to: StrPath, config: EncodeConfig, facts: JsonDict) -> Iterator[Job]:
    """Plan the run; the labels that it joins, which its units read, are there as long as the context lasts."""
    dataset, target = IncidenceDataset(source), Path(to)
    here, there = dataset.path.resolve(), target.resolve()
    if here.is_relative_to(there) or there.is_relative_to(here):
        raise PlanError(f"{target}: expected a folder apart from the dataset that is encoded, {source}")
    with ExitStack() as stack:
        join = None
        if config.surface == "label":
            target.parent.mkdir(parents=True, exist_ok=True)
            folder = stack.enter_context(TemporaryDirectory(prefix=f".{target.name}.labels.", dir=target.parent))
            join = join_labels(dataset, config, Path(folder).absolute())
        plan, sidecars = plan_encoding(dataset, config, make_speller(join))
        yield Job(
            directory=target,
            plan=plan,
            run_unit=partial(encode_unit, UnitInputs(source=everywhere(source), labels=join)),
            fold=partial(fold_encoding, target),
            facts={"inputs": [{"path": str(dataset.path)}]} | facts,
            sidecars=sidecars,
        )


def join_labels(dataset: IncidenceDataset, config: EncodeConfig, folder: Path) -> Path:
    """Write the labels that surfaces are spelled by into `folder`; return the file, for `make_speller`."""
    if config.label_table is not None:
        return join_file_labels(config.label_table, folder)
    return join_dataset_labels(dataset, config.label_roles, config.label_language, folder)


def make_speller(labels: Path | None) -> Speller:
    """Return what spells contents: by the joined labels in a file, or as they were written."""
    return LexicalSpeller() if labels is None else LabelSpeller(LabelTable(labels))


# -- unit ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitInputs:
    """Where a unit reads from: the incidence dataset, and the file of joined labels where surfaces are labels."""

    source: str
    labels: Path | None


def encode_unit(inputs: UnitInputs, directory: Path, plan: JsonDict, unit: JsonDict) -> JsonDict:
    """Encode one part and return its commit; the same bytes each time."""
    dataset = IncidenceDataset(inputs.source, verify="none")
    if file_entry(dataset.path / MANIFEST)["sha256"] != plan["dataset"]:
        raise PlanError(f"{inputs.source}: changed since this run began", remedies=("use --fresh to start over",))
    if inputs.labels is not None and not inputs.labels.exists():
        raise RunError(f"{inputs.labels}: the labels that were joined are not seen by this machine; use workers there")
    part = next(part for part in dataset.parts if part.name == unit["part"])
    config = _config(plan["config"])
    schema = TokenSchema.from_json(plan["schema"], "plan.json")
    tokenizer = _load_sidecar(directory / plan["tokenizer"]["file"], config)
    roles = RoleVocabulary.read(directory / ROLES_FILE)
    same_as = _same_as_of(inputs.source, plan["dataset"]) if config.same_as else None
    left_out = None if config.headers else find_settings(dataset, part)
    deprels = DeprelVocabulary.read(directory / plan["deprels"]["file"]) if "deprels" in plan else None
    speller = make_speller(inputs.labels)
    encoder = PartEncoder(part, config, tokenizer, roles, speller, same_as, left_out, deprels)
    with TokenShardWriter(directory, f"part-{unit['name']}", schema) as writer:
        for rows in encoder:
            writer.append_batch(
                rows.offsets,
                {name: rows.columns[name] for name in schema.names},
                kind=rows.kinds if schema.kind is None else None,
                record_ids=rows.record_ids if schema.has_record_id else None,
            )
        commit = writer.close()
    return commit | {"unit": unit["name"], "counts": encoder.counts.to_dict()}


@lru_cache(maxsize=1)
def _same_as_of(source: str, digest: str) -> SameAs:
    """Return the closure of a dataset's `same_as` rows, read once a process; `digest` tells datasets there apart."""
    return SameAs.of_dataset(IncidenceDataset(source, verify="none"))


def _config(settings: JsonDict) -> EncodeConfig:
    return build_settings(EncodeConfig, settings, "encode")


def _load_sidecar(path: Path, config: EncodeConfig) -> Tokenizer:
    tokenizer = load_tokenizer(path)
    if isinstance(tokenizer, CharacterTokenizer):
        return replace(tokenizer, refuses_unknown=config.unknown_character == "error")
    return tokenizer


# -- fold ------------------------------------------------------------------------------------------------------------


def fold_encoding(directory: Path, plan: JsonDict, commits: list[JsonDict]) -> JsonDict:
    """Return the manifest's body: what the plan says, the commits' sums, and in `report` what was not written whole."""
    counts = EncodeCounts()
    for commit in commits:
        counts.add(commit["counts"])
    found = counts.to_dict()
    body = {name: plan[name] for name in _KEPT if name in plan}
    body |= {
        "counts": {name: found[name] for name in _TOTALS},
        "report": {name: count for name, count in found.items() if name not in _TOTALS},
    }
    return token_manifest(directory, commits, body)
