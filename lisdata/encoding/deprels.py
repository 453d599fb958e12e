"""Dependency relations as numbers: the list that a token dataset with the column `deprel` keeps beside its shards."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lisdata.encoding.pieces import Int64
from lisdata.errors import SchemaError
from lisdata.paths import StrPath
from lisdata.schema import UNTAGGED, LabelKind
from lisdata.shards import IncidenceDataset, Part
from lisdata.shards.manifest import canonical_json, read_sealed, sealed

DEPRELS_FILE = "deprels.json"
_FORMAT = "lisdata-deprels"


@dataclass(frozen=True, slots=True)
class DeprelVocabulary:
    """Relations by number: `deprels[n]` has number n. One that is not among them is untagged."""

    deprels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.deprels)) != len(self.deprels):
            raise ValueError(f"expected distinct relations, got {', '.join(self.deprels)}")

    def __len__(self) -> int:
        return len(self.deprels)

    @property
    def hash(self) -> str:
        """The sha256 of the numbered relations, in hex."""
        return hashlib.sha256(canonical_json(list(self.deprels))).hexdigest()

    @classmethod
    def from_dataset(cls, dataset: IncidenceDataset) -> DeprelVocabulary:
        """Number a dataset's relations by first appearance: parts in order, in each its label list."""
        return cls(tuple(dict.fromkeys(label for part in dataset.parts for label in _labels(part).values())))

    @classmethod
    def read(cls, path: StrPath) -> DeprelVocabulary:
        """Read the file of a token dataset; raise DamagedShardError or SchemaError when it is not one."""
        body = read_sealed(Path(path))
        deprels = body.get("deprels")
        is_list = isinstance(deprels, list) and all(isinstance(name, str) for name in deprels)
        if body.get("format") != _FORMAT or not is_list:
            raise SchemaError(f"{path}: expected format {_FORMAT!r} with a list of relations, found {str(body)[:80]!r}")
        try:
            return cls(tuple(body["deprels"]))
        except ValueError as error:
            raise SchemaError(f"{path}: {error}") from error

    def to_json(self) -> bytes:
        """Return the bytes of the file `deprels.json`."""
        return sealed({"format": _FORMAT, "deprels": list(self.deprels), "hash": self.hash})

    def numbers(self, names: tuple[str, ...]) -> Int64:
        """Return the number of each relation, UNTAGGED where it is unknown."""
        number = {name: number for number, name in enumerate(self.deprels)}
        return np.array([number.get(name, UNTAGGED) for name in names], np.int64)

    def numbers_of_part(self, part: Part) -> Int64:
        """Return by label code of a part the relation's number; UNTAGGED of other labels, and at the end, for none."""
        labels = _labels(part)
        table = np.full(part.labels.num_rows + 1, UNTAGGED, np.int64)
        table[list(labels)] = self.numbers(tuple(labels.values()))
        return table


def _labels(part: Part) -> dict[int, str]:
    """Return code -> name of the relations in a part's label list."""
    kinds, labels = part.labels.column("kind").to_pylist(), part.labels.column("label").to_pylist()
    rows = enumerate(zip(kinds, labels, strict=True))
    return {code: label for code, (kind, label) in rows if kind == LabelKind.DEPREL}
