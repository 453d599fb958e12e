"""One numbering of roles and characters for several datasets, which are then encoded each by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lisdata.atomic import write_atomically
from lisdata.encoding.characters import CharacterTokenizer, collect_characters
from lisdata.encoding.config import EncodeConfig
from lisdata.encoding.encoder import join_labels, make_speller
from lisdata.encoding.mixed_view import role_markers
from lisdata.encoding.planning import iter_dataset_texts
from lisdata.encoding.tokenizers import CHARACTERS, load_tokenizer
from lisdata.errors import PlanError
from lisdata.paths import StrPath
from lisdata.settings import build_settings
from lisdata.shards import IncidenceDataset
from lisdata.vocabulary import ROLES_FILE, RoleVocabulary, iter_role_labels


def collect_vocabulary(datasets: Sequence[StrPath], to: StrPath, **settings: Any) -> dict[str, int]:
    """Number the roles of all `datasets`, and with characters as tokens these too, into files of the folder `to`.

    `settings` are the fields of `EncodeConfig` that the datasets are to be encoded with: they decide which text there
    is. `encode` then takes roles.json as `labels` and characters.json as `vocabulary`, so that the tokens of all can be
    mixed (`lisdata.loader.Mixture`). Returns the number of entries of each file. Raises PlanError where a file is there
    that says something else, SchemaError and ValueError for a `tokenizer` that is none, and ValueError for `labels` and
    `vocabulary`, which this makes.
    """
    config = build_settings(EncodeConfig, settings, "vocabulary")
    if config.labels is not None or config.vocabulary is not None:
        raise ValueError("labels and vocabulary are what is made here: give them to encode")
    if config.tokenizer != CHARACTERS:
        load_tokenizer(config.tokenizer)  # which `encode` will be given: it must be one
    opened = [IncidenceDataset(path) for path in datasets]
    roles = _roles(opened, config)
    files = {ROLES_FILE: (roles.to_json(), len(roles))}
    if config.tokenizer == CHARACTERS:
        characters = CharacterTokenizer(
            collect_characters(_iter_texts(opened, config, roles)), config.unknown_character == "unk"
        )
        files[characters.file_name] = characters.to_json(), characters.vocab_size
    target = Path(to)
    for name, (data, _) in files.items():
        if (target / name).exists() and (target / name).read_bytes() != data:
            raise PlanError(f"{target / name}: expected no file here yet, or the same one; choose another folder")
    target.mkdir(parents=True, exist_ok=True)
    for name, (data, _) in files.items():
        write_atomically(target / name, data)
    return {name: count for name, (_, count) in files.items()}


def _roles(datasets: Sequence[IncidenceDataset], config: EncodeConfig) -> RoleVocabulary:
    labels = (label for dataset in datasets for part in dataset.parts for label in iter_role_labels(part))
    return RoleVocabulary.of_labels(labels, with_unknown=config.unknown_role == "unk")


def _iter_texts(datasets: Sequence[IncidenceDataset], config: EncodeConfig, roles: RoleVocabulary) -> Iterator[str]:
    """Yield all text that the datasets are encoded from; markers of roles stand in each that is serialized."""
    if config.facts == "serialized":
        yield from role_markers(roles, is_character=True)
    for dataset in datasets:
        with ExitStack() as stack:
            join = None
            if config.surface == "label":
                folder = stack.enter_context(TemporaryDirectory(prefix="lisdata-labels."))
                join = join_labels(dataset, config, Path(folder))
            yield from iter_dataset_texts(dataset, config, make_speller(join))
