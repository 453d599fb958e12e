"""What each format can hold, asked before anything is written: a file without the facts would pass for one with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lisdata.schema import StructureKind
from lisdata.shards import IncidenceDataset, InputInfo
from lisdata.shards.companions import file_numbers

_MAX_SHOWN = 3
_Origin = tuple[StructureKind, str | None, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatScope:
    """The kinds of structures that a format holds; where named, only those of these sources or of these converters."""

    kinds: frozenset[StructureKind]
    sources: tuple[str, ...] | None = None
    converters: tuple[str, ...] | None = None

    def holds(self, kind: StructureKind, source: str | None, converter: str | None) -> bool:
        """Tell whether facts of structures are written; source and converter are None where they are not known."""
        if kind not in self.kinds:
            return False
        if source is None:
            return True
        of_source = self.sources is None or source in self.sources
        return of_source and (self.converters is None or converter is None or converter in self.converters)


def _scope(*kinds: StructureKind, source: str | None = None, converter: str | None = None) -> FormatScope:
    return FormatScope(
        kinds=frozenset(kinds),
        sources=None if source is None else (source,),
        converters=None if converter is None else (converter,),
    )


_TRIPLES = _scope(StructureKind.TRIPLES)
_TABLES = _scope(StructureKind.TABLE)
_SENTENCES = _scope(StructureKind.TEXT, converter="sentences")
_WIKIDATA = _scope(StructureKind.HYPEREDGES, source="wikidata")
SCOPES = {
    **dict.fromkeys(("hext", "jsonld", "nquads", "ntriples", "rdfxml", "trig", "turtle"), _TRIPLES),
    **dict.fromkeys(("arrow", "csv", "parquet", "sqlite"), _TABLES),
    **dict.fromkeys(("conllu", "conllu-plain"), _SENTENCES),
    **dict.fromkeys(("wikidata", "wikidata-rdf"), _WIKIDATA),
    **{name: _scope(StructureKind.HYPEREDGES, source=name) for name in ("graph", "kgtk", "nary")},
    **{name: _scope(StructureKind.TREE, source=name) for name in ("brackets", "code", "html", "json", "xml")},
    "fact-text": _scope(StructureKind.MIXED),
    "hif": _scope(StructureKind.HYPEREDGES, source="hif"),
    "image": _scope(StructureKind.GRID),
    "jsonl": _scope(StructureKind.TEXT),
    "markdown": _scope(StructureKind.TEXT, source="markdown"),
    "npy": _scope(StructureKind.GRID),
    "npz": _scope(StructureKind.GRID),
    "text": _scope(StructureKind.TEXT, StructureKind.TREE, StructureKind.MIXED),
}
"""By format; one that is not here, as `structures` or a third party's, may be given anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotHeld:
    """Structures of which a format holds nothing: how many of which kind and source, and formats that hold them."""

    format: str
    kinds: dict[str, int]
    keeping: tuple[str, ...]

    def __str__(self) -> str:
        """Return the structures in words."""
        most = sorted(self.kinds.items(), key=lambda found: -found[1])[:_MAX_SHOWN]
        rest = ", ..." if len(self.kinds) > _MAX_SHOWN else ""
        return ", ".join(f"{count:,} {kind}" for kind, count in most) + rest

    @property
    def advice(self) -> str:
        """What to do instead."""
        return f"choose one of {', '.join(self.keeping)}"


def find_not_held(dataset: IncidenceDataset, name: str, files: Sequence[InputInfo]) -> NotHeld | None:
    """Return what there is where the format would hold nothing of any of `files`; None where it holds something."""
    scope = SCOPES.get(name)
    if scope is None or any(info.exporter == name for info in files):
        return None
    found = _count_kinds(dataset, files)
    if not found or any(scope.holds(*found_kind) for found_kind in found):
        return None
    kinds: Counter[str] = Counter()
    for (kind, source, _), count in found.items():
        kinds[f"structures of kind {kind.label}" + (f" from source {source}" if source else "")] += count
    keeping = sorted(
        {info.exporter for info in files}
        | {other for other, held in SCOPES.items() if all(held.holds(*found_kind) for found_kind in found)}
    )
    return NotHeld(format=name, kinds=dict(kinds), keeping=(*keeping, "structures"))


def refuse_lossy(not_held: NotHeld) -> None:
    """Raise ValueError, which names formats that keep more."""
    raise ValueError(
        f"format {not_held.format} would hold nothing of {not_held}: {not_held.advice}, or say --allow-losses for what "
        "little there is"
    )


def _count_kinds(dataset: IncidenceDataset, files: Sequence[InputInfo]) -> Counter[_Origin]:
    """Count the structures of `files`, all where there are no files, by kind, source and converter."""
    origins = dataset.manifest["origins"]
    converters = [origins[entry["origin"]].get("converter") for entry in dataset.manifest["inputs"]]
    sources = {info.index: (info.source, converters[info.index]) for info in files}
    found: Counter[_Origin] = Counter()
    for part in dataset.parts:
        if sources and not any(number in sources for number in part.inputs):
            continue
        kinds = np.asarray(part.read("structures", ("kind",)).column("kind"))
        pairs, counts = np.unique(np.stack((file_numbers(part), kinds)), axis=1, return_counts=True)
        for (number, kind), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
            if number in sources or not sources:
                found[StructureKind(kind), *sources.get(number, (None, None))] += count
    return found
