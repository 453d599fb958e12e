"""`audit`: what one dataset has and another has not, or what an export did not bring back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lisdata.alignment.audit_report import AuditReport, LevelReport
from lisdata.alignment.examples import describe_place
from lisdata.alignment.fact_files import FactFiles, Origins, Place
from lisdata.alignment.facts import LEVELS, iter_facts
from lisdata.alignment.rereading import read_export
from lisdata.alignment.token_audit import audit_tokens, is_token_dataset
from lisdata.paths import StrPath
from lisdata.shards import IncidenceDataset, Part
from lisdata.shards.companions import file_numbers, find_headers, find_notes
from lisdata.shards.joined_inputs import JoinedDataset, join_inputs
from lisdata.shards.manifest import MANIFEST

_RECORDS = ("seen", "converted", "rejected")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """Datasets that are compared as one, and what each scope of an input counts as."""

    name: str
    datasets: tuple[IncidenceDataset, ...]
    scopes: Mapping[str, str]

    @property
    def parts(self) -> list[tuple[IncidenceDataset, Part]]:
        return [(dataset, part) for dataset in self.datasets for part in dataset.parts]

    @property
    def records(self) -> dict[str, int]:
        return {name: sum(i.records[name] for d in self.datasets for i in d.inputs) for name in _RECORDS}


def audit(
    before: StrPath,
    after: StrPath,
    *,
    match_scopes: bool = False,
    ordinals: bool = False,
    options: Mapping[str, Any] | None = None,
    num_examples: int = 5,
) -> AuditReport:
    """Compare the dataset `before` with another, or with an export of it: a file, or a folder of files.

    An export is converted again by the sources and options of the dataset, into a temporary one; `options` are those
    that a manifest cannot give back, such as the path of a schema. With `match_scopes` names local to a file (blank
    nodes) are compared as if input n of both datasets were one file; for an export that is always so. With `ordinals`
    the place of each instance in its source counts too. Memory is bounded; digests are kept in temporary files.

    A token dataset is compared row by row, with another or its export for another loader: see `audit_tokens`.
    """
    if is_token_dataset(before):
        if match_scopes or ordinals or options:
            raise ValueError("match_scopes, ordinals and options are for datasets of structures, not for tokens")
        return audit_tokens(before, after, num_examples=num_examples)
    first, path = join_inputs(IncidenceDataset(before)), Path(after)  # shares of one input count as it
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="lisdata-audit.")))
        if is_token_dataset(path):
            raise ValueError(f"{path} holds rows of tokens, {first.path} structures: compare what is of one kind")
        if (path / MANIFEST).exists():
            if options:
                raise ValueError(f"options are for an export that is converted again; {path} is a dataset")
            second: tuple[IncidenceDataset, ...] = (join_inputs(IncidenceDataset(path)),)
            places = list(range(len(second[0].inputs)))
        else:
            second, numbers = read_export(first, path, folder / "again", options or {})
            place_of = {info.index: place for place, info in enumerate(first.inputs)}
            places = [place_of[number] for number in numbers]
            match_scopes = True
        inputs = [info for dataset in second for info in dataset.inputs]
        sides = (
            _Side(name=str(first.path), datasets=(first,), scopes=_scopes(first.inputs, match_scopes)),
            _Side(
                name=str(path),
                datasets=second,
                scopes={i.scope: _scope_name(n) for i, n in zip(inputs, places, strict=True)} if match_scopes else {},
            ),
        )
        return _compare(sides, folder, ordinals, num_examples)


def _scopes(inputs: Any, match_scopes: bool) -> dict[str, str]:
    return {info.scope: _scope_name(place) for place, info in enumerate(inputs)} if match_scopes else {}


def _scope_name(number: int) -> str:
    return f"input {number}"


def _compare(sides: tuple[_Side, _Side], folder: Path, ordinals: bool, num_examples: int) -> AuditReport:
    num_facts = max(
        dataset.manifest["counts"].get(name, 0)
        for side in sides
        for dataset in side.datasets
        for name in ("incidences", "contents")
    )
    (folder / "facts").mkdir()
    files = FactFiles(folder / "facts", 2 * num_facts)
    for number, side in enumerate(sides):
        first = _first_inputs(side)
        for index, (dataset, part) in enumerate(side.parts):
            origins = _origins(dataset, part, first[id(dataset)])
            for facts in iter_facts(part, side.scopes, ordinals=ordinals, notes=find_notes(dataset, part)):
                files.add(number, index, facts, origins)
            part.release()
    levels = []
    for level in LEVELS:
        found = files.compare(level, num_examples)
        levels.append(
            LevelReport(
                level=level,
                totals=found.totals,
                duplicates=found.duplicates,
                lost=found.lost,
                added=found.added,
                lost_examples=tuple(_examples(sides[0], level, found.lost_places)),
                added_examples=tuple(_examples(sides[1], level, found.added_places)),
            )
        )
    return AuditReport(
        names=(sides[0].name, sides[1].name),
        counts=(sum(map(len, sides[0].datasets)), sum(map(len, sides[1].datasets))),
        levels=tuple(levels),
        records=(sides[0].records, sides[1].records),
    )


def _first_inputs(side: _Side) -> dict[int, int]:
    """Return by id of each dataset of a side the number of its first input among those of all."""
    sizes = [1 + len(dataset.manifest["inputs"]) for dataset in side.datasets]  # one for what has no input
    return {id(dataset): sum(sizes[:place]) for place, dataset in enumerate(side.datasets)}


def _origins(dataset: IncidenceDataset, part: Part, first: int) -> Origins:
    """Return what FactFiles is to know of the structures of a part; shares of one input are that input."""
    numbers = file_numbers(part)
    if not isinstance(dataset, JoinedDataset):
        return Origins(input=first + 1 + numbers, is_header=find_headers(dataset, part))
    return Origins(input=first + 1 + dataset.first_members(numbers), is_header=dataset.find_repeats(part))


def _examples(side: _Side, level: str, places: tuple[Place, ...]) -> Iterator[str]:
    parts = side.parts
    for part, row, item in places:
        yield describe_place(*parts[part], level, row, item)
