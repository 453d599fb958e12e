"""What LIS Tables 5 to 7 share: frozen vocabularies, tokens in both forms, the models, the scores (appendix F.3).

The paper trains two models once each, here "serialized" and "LIS"; the others are controls that it lacks:

* serialized: role markers among the names, continuous RoPE.
* LIS: a fact's characters are turned by their place in the name and by their slot, a role of a relation.
* LIS-added: LIS's slot vectors added to the embeddings instead of turned by, as many parameters.
* serialized-wide: serialized with more parameters than LIS has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from torch import nn

from lisdata.atomic import write_atomically
from lisdata.conversion import convert
from lisdata.diagnostics.windows import list_role_labels
from lisdata.encoding.characters import CharacterTokenizer
from lisdata.encoding.mixed_view import FIRST_MARKER
from lisdata.evaluation.entity_spelling import entity_contents, score_entities
from lisdata.reproduce.preparation import OnStep
from lisdata.reproduce.row_training import (
    BETWEEN_FACTS_AND_TEXT,
    COLUMNS,
    EVALUATED_COLUMNS,
    TEXT_ROLE,
    RowScale,
    RowVariant,
    encode_rows,
    iter_evaluated,
)
from lisdata.reproduce.runner import JsonDict
from lisdata.shards import IncidenceDataset
from lisdata.shards.manifest import file_entry
from lisdata.token_shards import TokenDataset
from lisdata.vocabulary import RoleVocabulary

TRAINING, EVALUATION = "training", "evaluation"
NUM_PLAIN_ROLES = 2  # none, and the text's
_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789 .,'-" + BETWEEN_FACTS_AND_TEXT


def slot_settings(scale: RowScale) -> JsonDict:
    """Return the settings of a model of slots: no address of the fact itself, and none of the text."""
    return {"instance_addresses": False, "num_plain_roles": NUM_PLAIN_ROLES}


VARIANTS: dict[str, RowVariant] = {
    "serialized": RowVariant(model="rope", facts="serialized"),
    "LIS": RowVariant(model="lisformer", settings=slot_settings),
    "LIS-added": RowVariant(model="added-addresses", settings=slot_settings),
    "serialized-wide": RowVariant(model="rope", facts="serialized", settings=lambda scale: {"width": scale.width + 2}),
}


def training_file(directory: Path) -> Path:
    """Return where the lines for training go."""
    return directory / "data" / f"{TRAINING}.jsonl"


def evaluation_file(directory: Path, name: str) -> Path:
    """Return where the lines of a row of the table go."""
    return directory / "data" / EVALUATION / f"{name}.jsonl"


def make_tokens(
    directory: Path, names: Iterable[str], vocabulary_size: int, views: Mapping[str, str], on_step: OnStep
) -> JsonDict:
    """Convert the lines for training and those of the rows `names`, encode them in both forms; return their hashes.

    `views` are the encoder's, by the names that token folders have for them. What is done is not done again.
    """
    evaluated = {name: evaluation_file(directory, name) for name in sorted(names)}
    roles, characters = write_vocabularies(directory / "data", vocabulary_size)
    for name, paths, columns in (
        (TRAINING, [training_file(directory)], COLUMNS),
        (EVALUATION, list(evaluated.values()), EVALUATED_COLUMNS),
    ):
        source = directory / "incidence" / name
        convert("fact-text", [str(path) for path in paths], source, on_progress=on_step(f"convert {name}"))
        for view_name, view in views.items():
            for facts in ("endpoints", "serialized"):
                target = token_folder(directory, name, view_name, facts)
                encode_rows(
                    source,
                    target,
                    facts=facts,
                    columns=columns,
                    labels=roles,
                    vocabulary=characters,
                    view=view,
                    on_progress=on_step(f"encode {target.name}"),
                )
    files = {TRAINING: training_file(directory)} | evaluated
    return {name: file_entry(path)["sha256"] for name, path in files.items()}


def token_folder(directory: Path, name: str, view_name: str, facts: str) -> Path:
    """Return where the tokens of `TRAINING` or `EVALUATION` are in a view and a form of facts."""
    return directory / "tokens" / f"{name}-{view_name}-{facts}"


def write_vocabularies(directory: Path, vocabulary_size: int) -> tuple[Path, Path]:
    """Write roles.json and characters.json; return their paths.

    They are as large as the paper's, whatever the data shows. Of the roles the first two are none and the text's, the
    others are 57 x 4 slots. Characters are letters, digits, a few signs and, as many as are left, role markers.
    """
    roles = RoleVocabulary.of_labels([TEXT_ROLE, *list_role_labels()])
    num_markers = vocabulary_size - len(_CHARACTERS)
    if num_markers < 1:
        raise ValueError(f"expected a vocabulary of more than {len(_CHARACTERS)} characters, got {vocabulary_size=}")
    characters = CharacterTokenizer((*map(ord, _CHARACTERS), *range(FIRST_MARKER, FIRST_MARKER + num_markers)))
    paths = directory / "roles.json", directory / "characters.json"
    roles.write(paths[0])
    write_atomically(paths[1], characters.to_json())
    return paths


def score_rows(model: nn.Module, directory: Path, view_name: str, facts: str, batch_size: int) -> JsonDict:
    """Return the figures of a model by row of the table and by reading."""
    incidence = directory / "incidence" / EVALUATION
    tokens = TokenDataset(token_folder(directory, EVALUATION, view_name, facts))
    contents, text_role = entity_contents(IncidenceDataset(incidence)), tokens.roles.index(TEXT_ROLE)
    return {
        name: {
            reading: sums.figures()
            for reading, sums in score_entities(model, batches, contents=contents, text_role=text_role).items()
        }
        for name, batches in iter_evaluated(incidence, tokens, batch_size)
    }
