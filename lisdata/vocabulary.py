"""The numbered role vocabulary: append-only, hashed, stored beside the token shards and kept by checkpoints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from lisdata.atomic import write_atomically
from lisdata.contents import Role
from lisdata.errors import LabelError, SchemaError
from lisdata.paths import StrPath
from lisdata.schema import LabelKind
from lisdata.shards.manifest import canonical_json, read_sealed, sealed

if TYPE_CHECKING:
    from lisdata.shards import IncidenceDataset, Part

ROLES_FORMAT = "lisdata-roles"
ROLES_FILE = "roles.json"
NO_ROLE, UNKNOWN_ROLE = "<none>", "<unk>"  # no label of a role equals these: it holds a '#'
CELL_SIDE = "cell"

UnknownRole = Literal["error", "unk", "append"]


@dataclass(frozen=True, slots=True)
class RoleVocabulary:
    """Role labels by number: `roles[n]` has number n, 0 is "<none>", and 1 is "<unk>" where that was asked for.

    A number never changes its label, so that a vocabulary only grows at its end. `origin` names the file in errors.
    """

    roles: tuple[str, ...] = (NO_ROLE,)
    origin: str = field(default="the role vocabulary", compare=False)
    _numbers: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        numbers = {label: number for number, label in enumerate(self.roles)}
        if self.roles[:1] != (NO_ROLE,):
            raise ValueError(f"expected {NO_ROLE!r} as role 0, got {self.roles[:1]}")
        if len(numbers) != len(self.roles):
            repeated = next(label for number, label in enumerate(self.roles) if numbers[label] != number)
            raise ValueError(f"expected distinct roles, got {repeated!r} twice")
        if numbers.get(UNKNOWN_ROLE, 1) != 1:
            raise ValueError(f"expected {UNKNOWN_ROLE!r} as role 1, got it as role {numbers[UNKNOWN_ROLE]}")
        object.__setattr__(self, "_numbers", numbers)

    def __len__(self) -> int:
        return len(self.roles)

    @property
    def hash(self) -> str:
        """The sha256 of the numbered labels, in hex: two vocabularies of one hash number every role alike."""
        return hashlib.sha256(canonical_json(list(self.roles))).hexdigest()

    @property
    def has_unknown(self) -> bool:
        """Whether number 1 stands for roles that the vocabulary does not have."""
        return UNKNOWN_ROLE in self._numbers

    def number(self, label: str, *, unknown: UnknownRole = "error") -> int:
        """Return the number of a role; an unknown one is number 1 under "unk" and raises LabelError otherwise."""
        number = self._numbers.get(label)
        if number is not None:
            return number
        if unknown == "unk" and self.has_unknown:
            return 1
        wanted = f"an {UNKNOWN_ROLE} entry for it" if unknown == "unk" else "only roles of this frozen vocabulary"
        raise LabelError(f"{self.origin}: expected {wanted}, found the role {label!r} (of {len(self.roles)} known)")

    def numbers(self, labels: Iterable[str], *, unknown: UnknownRole = "error") -> npt.NDArray[np.int64]:
        """Return the numbers of several roles."""
        return np.array([self.number(label, unknown=unknown) for label in labels], np.int64)

    def extended_by(self, labels: Iterable[str]) -> RoleVocabulary:
        """Return a vocabulary with the new ones of `labels` after those that are here, in their order."""
        return RoleVocabulary(tuple(dict.fromkeys((*self.roles, *labels))), self.origin)

    def check_same(self, expected_hash: str, holder: str) -> None:
        """Raise LabelError unless this is the vocabulary that `holder` (a checkpoint, a dataset) was made with."""
        if self.hash != expected_hash:
            raise LabelError(f"{holder}: expected roles of hash {expected_hash}, found {self.hash} in {self.origin}")

    @classmethod
    def of_labels(cls, labels: Iterable[str], *, with_unknown: bool = False) -> RoleVocabulary:
        """Number `labels` in their order, after the reserved numbers."""
        reserved = (NO_ROLE, UNKNOWN_ROLE) if with_unknown else (NO_ROLE,)
        return cls(reserved).extended_by(labels)

    @classmethod
    def from_dataset(cls, dataset: IncidenceDataset, *, with_unknown: bool = False) -> RoleVocabulary:
        """Number a dataset's roles by first appearance: parts in order, in each its label list, then its grids'."""
        labels = (label for part in dataset.parts for label in iter_role_labels(part))
        return cls.of_labels(labels, with_unknown=with_unknown)

    @classmethod
    def read(cls, path: StrPath) -> RoleVocabulary:
        """Read a file that `write` made; raise DamagedShardError or SchemaError when it is not one."""
        body = read_sealed(Path(path))
        roles = body.get("roles")
        if body.get("format") != ROLES_FORMAT or not isinstance(roles, list):
            raise SchemaError(
                f"{path}: expected format {ROLES_FORMAT!r} with a list of roles, found {body.get('format')!r}"
            )
        if not all(isinstance(label, str) for label in roles):
            raise SchemaError(f"{path}: expected roles that are strings")
        try:
            return cls(tuple(roles), str(path))
        except ValueError as error:
            raise SchemaError(f"{path}: {error}") from error

    def to_json(self) -> bytes:
        """Return the bytes of the file `roles.json`."""
        return sealed({"format": ROLES_FORMAT, "roles": list(self.roles), "hash": self.hash})

    def write(self, path: StrPath) -> None:
        """Write `to_json` to `path`."""
        write_atomically(Path(path), self.to_json())


def cell_role(instance_label: str) -> str:
    """Return the role of the implied incidences of a grid: its cells, told apart by position."""
    return Role(instance_label, CELL_SIDE).label


def role_codes(part: Part) -> dict[int, str]:
    """Return code -> label of the roles in a part's label list."""
    kinds, labels = part.labels.column("kind").to_pylist(), part.labels.column("label").to_pylist()
    return {code: label for code, (kind, label) in enumerate(zip(kinds, labels, strict=True)) if kind == LabelKind.ROLE}


def grid_labels(part: Part) -> list[int]:
    """Return the codes of the instance labels of a part's grids, by first appearance."""
    rows = part.read("structures", ("instance_label", "shape"))
    codes = rows.column("instance_label").filter(pc.is_valid(rows.column("shape")))
    return list(pc.unique(pc.list_flatten(codes)).to_pylist())


def iter_role_labels(part: Part) -> Iterator[str]:
    """Yield the roles of a part: its label list's in that order, then those that its grids imply."""
    yield from role_codes(part).values()
    names = part.labels.column("label").to_pylist()
    for code in grid_labels(part):
        yield cell_role(names[code])
