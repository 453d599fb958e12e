"""`audit`: what one dataset has and another has not, or what an export did not bring back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lisdata.alignment.examples import describe_place
from lisdata.alignment.fact_files import FactFiles, Place
from lisdata.alignment.facts import LEVELS, iter_facts
from lisdata.alignment.rereading import read_export
from lisdata.paths import StrPath
from lisdata.shards import IncidenceDataset, Part
from lisdata.shards.manifest import MANIFEST

_RECORDS = ("seen", "converted", "rejected")


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelReport:
    """How the facts of one level (see `lisdata.alignment.facts`) differ: counts of both sides, what is on one alone.

    `duplicates` are facts that repeat an earlier one of their side. Examples say where a fact is in its source.
    """

    level: str
    totals: tuple[int, int]
    duplicates: tuple[int, int]
    lost: int
    added: int
    lost_examples: tuple[str, ...]
    added_examples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """What was compared, level by level; `structures` and `records` (seen, converted, rejected) are for information."""

    names: tuple[str, str]
    structures: tuple[int, int]
    records: tuple[dict[str, int], dict[str, int]]
    levels: tuple[LevelReport, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is lost and nothing added."""
        return not any(level.lost or level.added for level in self.levels)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            "equal": self.ok,
            "datasets": [
                {"name": name, "structures": count, "records": records}
                for name, count, records in zip(self.names, self.structures, self.records, strict=True)
            ],
            "levels": {
                level.level: {
                    "facts": list(level.totals),
                    "duplicates": list(level.duplicates),
                    "lost": level.lost,
                    "added": level.added,
                    "lost_examples": list(level.lost_examples),
                    "added_examples": list(level.added_examples),
                }
                for level in self.levels
            },
        }


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
    """
    first, path = IncidenceDataset(before), Path(after)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="lisdata-audit.")))
        if (path / MANIFEST).exists():
            if options:
                raise ValueError(f"options are for an export that is converted again; {path} is a dataset")
            second: tuple[IncidenceDataset, ...] = (IncidenceDataset(path),)
            numbers = [info.index for info in second[0].inputs]
        else:
            second, numbers = read_export(first, path, folder / "again", options or {})
            match_scopes = True
        inputs = [info for dataset in second for info in dataset.inputs]
        sides = (
            _Side(name=str(first.path), datasets=(first,), scopes=_scopes(first.inputs, match_scopes)),
            _Side(
                name=str(path),
                datasets=second,
                scopes={i.scope: _scope_name(n) for i, n in zip(inputs, numbers, strict=True)} if match_scopes else {},
            ),
        )
        return _compare(sides, folder, ordinals, num_examples)


def _scopes(inputs: Any, match_scopes: bool) -> dict[str, str]:
    return {info.scope: _scope_name(info.index) for info in inputs} if match_scopes else {}


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
        for index, (_, part) in enumerate(side.parts):
            for facts in iter_facts(part, side.scopes, ordinals=ordinals):
                files.add(number, index, facts)
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
        structures=(sum(map(len, sides[0].datasets)), sum(map(len, sides[1].datasets))),
        records=(sides[0].records, sides[1].records),
        levels=tuple(levels),
    )


def _examples(side: _Side, level: str, places: tuple[Place, ...]) -> Iterator[str]:
    parts = side.parts
    for part, row, item in places:
        yield describe_place(*parts[part], level, row, item)
