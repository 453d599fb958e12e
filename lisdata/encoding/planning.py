"""The plan of an encoding: vocabularies, column types and units, all fixed before the first row."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import lisdata
from lisdata.encoding.characters import CharacterTokenizer, collect_characters
from lisdata.encoding.config import EncodeConfig
from lisdata.encoding.deprels import DEPRELS_FILE, DeprelVocabulary
from lisdata.encoding.mixed_view import role_markers
from lisdata.encoding.part_encoder import iter_texts
from lisdata.encoding.surfaces import Speller
from lisdata.encoding.tokenizers import CHARACTERS, Tokenizer, load_tokenizer
from lisdata.errors import LisDataError
from lisdata.runs import JsonDict
from lisdata.schema import DEPREL_COLUMN, UNTAGGED, StructureKind
from lisdata.shards import IncidenceDataset, Part
from lisdata.shards.manifest import MANIFEST, TOKEN_FORMAT, file_entry
from lisdata.token_shards.schema import INT32_MAX, TokenSchema
from lisdata.vocabulary import ROLES_FILE, RoleVocabulary, iter_role_labels

PACKED_COLUMNS = ("document", "token_kind")
# the plan holds what these files say, not where they are
_PATHS = ("tokenizer", "vocabulary", "labels", "label_table", "deprels")


def plan_encoding(
    dataset: IncidenceDataset, config: EncodeConfig, speller: Speller
) -> tuple[JsonDict, dict[str, bytes]]:
    """Return the plan and the vocabulary files; the plan holds all that decides the output, and no path or time."""
    if not dataset.parts:
        raise LisDataError(f"{dataset.path}: expected structures to encode, found no part")
    roles = plan_roles(dataset, config)
    tokenizer = plan_tokenizer(dataset, config, speller, roles)
    files = {ROLES_FILE: roles.to_json(), tokenizer.file_name: tokenizer.to_json()}
    plan = {
        "format": TOKEN_FORMAT,
        "lisdata": lisdata.__version__,
        "dataset": file_entry(dataset.path / MANIFEST)["sha256"],
        "config": {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(config).items() if k not in _PATHS},
        "label_table": None if config.label_table is None else file_entry(Path(config.label_table))["sha256"],
        "kinds": dataset.manifest["kinds"],
        "tokenizer": {
            "file": tokenizer.file_name,
            "sha256": hashlib.sha256(files[tokenizer.file_name]).hexdigest(),
            "vocab_size": tokenizer.vocab_size,
            "pad_id": tokenizer.pad_id,
            "unk_id": tokenizer.unk_id,
        },
        "roles": {"file": ROLES_FILE, "hash": roles.hash, "num_roles": len(roles)},
    }
    deprels = plan_deprels(dataset, config)
    if deprels is not None:
        files[DEPRELS_FILE] = deprels.to_json()
        plan["deprels"] = {"file": DEPRELS_FILE, "hash": deprels.hash, "num_deprels": len(deprels)}
    schema = plan_schema(dataset, config, tokenizer, roles, num_deprels=len(deprels or ()))
    return plan | {"schema": schema.to_json(), "units": list(_units(dataset))}, files


def plan_deprels(dataset: IncidenceDataset, config: EncodeConfig) -> DeprelVocabulary | None:
    """Return the frozen relations or the dataset's, None where the column is not written."""
    if DEPREL_COLUMN not in config.columns:
        return None
    return DeprelVocabulary.from_dataset(dataset) if config.deprels is None else DeprelVocabulary.read(config.deprels)


def plan_roles(dataset: IncidenceDataset, config: EncodeConfig) -> RoleVocabulary:
    """Return the frozen role vocabulary, or the dataset's; raises LabelError at a role that may not be there."""
    if config.labels is None:
        return RoleVocabulary.from_dataset(dataset, with_unknown=config.unknown_role == "unk")
    frozen = RoleVocabulary.read(Path(config.labels))
    labels = [label for part in dataset.parts for label in iter_role_labels(part)]
    if config.unknown_role == "append":
        return frozen.extended_by(labels)
    for label in labels:
        frozen.number(label, unknown=config.unknown_role)
    return frozen


def plan_tokenizer(
    dataset: IncidenceDataset, config: EncodeConfig, speller: Speller, roles: RoleVocabulary
) -> Tokenizer:
    """Return the tokenizer; the vocabulary of characters is frozen, or collected from all that is to be encoded."""
    if config.tokenizer != CHARACTERS:
        return load_tokenizer(config.tokenizer)
    has_unknown = config.unknown_character == "unk"
    if config.vocabulary is None:
        markers = role_markers(roles, is_character=True) if config.facts == "serialized" else []
        characters = collect_characters(chain(iter_dataset_texts(dataset, config, speller), markers))
        return CharacterTokenizer(characters, has_unknown)
    frozen = load_tokenizer(config.vocabulary)
    if not isinstance(frozen, CharacterTokenizer):
        raise LisDataError(f"{config.vocabulary}: expected the characters.json of a dataset, found another tokenizer")
    return replace(frozen, has_unknown=frozen.has_unknown or has_unknown)


def iter_dataset_texts(dataset: IncidenceDataset, config: EncodeConfig, speller: Speller) -> Iterator[str]:
    """Yield all the text of a dataset that is tokenised."""
    for part in dataset.parts:
        yield from iter_texts(part, config, speller)
        part.release()


def plan_schema(
    dataset: IncidenceDataset,
    config: EncodeConfig,
    tokenizer: Tokenizer,
    roles: RoleVocabulary,
    *,
    num_deprels: int = 0,
) -> TokenSchema:
    """Choose the columns' types from the vocabularies, the limits of length and the sizes of the structures."""
    sizes = [StructureSizes.of_part(part) for part in dataset.parts]
    max_length = config.context if config.max_length is None else config.max_length
    num_instances = max(size.instances for size in sizes) * (config.context or 1)
    has_grids = any(size.cells for size in sizes)
    # a window of a long structure keeps its positions, and a grid's are further apart than its pieces
    is_bound = max_length is not None and config.context is None and not has_grids
    limits = {
        "instance": (-1, min(INT32_MAX, max(0, num_instances - 1))),
        "occurrence": (-1, max(0, *(max(size.occurrences, size.cells) - 1 for size in sizes))),
        DEPREL_COLUMN: (UNTAGGED, max(0, num_deprels - 1)),
        "position": (0, max_length - 1 if is_bound and max_length is not None else INT32_MAX),
    }
    kinds = [kind for kind in StructureKind if dataset.manifest["kinds"].get(kind.label)]
    return TokenSchema.choose(
        max(1, tokenizer.vocab_size),
        columns=(*config.columns, *(() if config.context is None else PACKED_COLUMNS)),
        num_roles=len(roles),
        max_length=max_length,
        limits=limits,
        kind=int(kinds[0]) if len(kinds) == 1 else None,
        has_record_id=config.record_ids,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureSizes:
    """The most occurrences, instances and cells that a structure of a part has."""

    occurrences: int
    instances: int
    cells: int

    @classmethod
    def of_part(cls, part: Part) -> StructureSizes:
        """Read only the columns that say it."""
        occurrences = instances = cells = 0
        for batch in part.iter_batches("structures", ("tau", "instance_label", "shape")):
            occurrences = max(occurrences, _longest(batch.column("tau")))
            instances = max(instances, _longest(batch.column("instance_label")))
            cells = max([cells, *map(math.prod, batch.column("shape").drop_null().to_pylist())])
        return cls(occurrences=occurrences, instances=instances, cells=cells)


def _longest(lists: pa.Array) -> int:
    return int(np.max(np.asarray(pc.fill_null(pc.list_value_length(lists), 0)), initial=0))


def _units(dataset: IncidenceDataset) -> Iterator[JsonDict]:
    for number, part in enumerate(dataset.parts):
        weight = sum(
            dataset.manifest["files"][f"{table}/{part.name}.arrow"]["size"] for table in ("structures", "contents")
        )
        yield {"name": f"{number:05d}", "part": part.name, "weight": weight}
