"""Structural indices of endpoints: what an address is made of, for any structure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from lisdata.contents import Content, Role
from lisdata.journeys.arrays import Int64
from lisdata.structure import Instance, Structure
from lisdata.vocabulary import CELL_SIDE, RoleVocabulary

NO_CONTENT = -1
_TOKEN_SIDE = "token"

ThingT = TypeVar("ThingT", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StructureAddresses:
    """The structural index of each endpoint, columns (T,) in the order in which incidences are listed.

    Endpoint i = (v, e) has the role `roles[role[i]]`, takes part in `instances[instance[i]]`, stands at `position[i]`
    of its role, is the occurrence `occurrence[i]` and shows `contents[content[i]]` (NO_CONTENT for a grid's cell, whose
    value is in the tensor). Its address is A(p, s, e) = R_pos^p R_s R_e: `RoleInstanceAssignment.address` takes
    `role`, `instance` and `position` as they are.

    A grid's cells are its endpoints, row-major, in one role; their coordinates are made on demand. `shapes[e]` is the
    shape of the grid whose cells are in instance e, None for an instance of listed incidences.
    """

    roles: tuple[Role, ...]
    instances: tuple[Instance, ...]
    contents: tuple[Content, ...]
    shapes: tuple[tuple[int, ...] | None, ...]
    role: Int64
    instance: Int64
    position: Int64
    occurrence: Int64
    content: Int64

    def __len__(self) -> int:
        return len(self.role)

    def role_numbers(self, vocabulary: RoleVocabulary) -> Int64:
        """Return each endpoint's role as a dataset's vocabulary numbers it; LabelError for one that it lacks."""
        return vocabulary.numbers(role.label for role in self.roles)[self.role]

    def coordinates(self, endpoints: npt.ArrayLike) -> Int64:
        """Return the coordinates (i_1, ..., i_N) of a grid's cells, shape (number of endpoints, N).

        Raise ValueError where the endpoints are not cells of one grid.
        """
        chosen = np.asarray(endpoints, np.int64)
        instances = np.unique(self.instance[chosen])
        shape = self.shapes[instances[0]] if len(instances) == 1 else None
        if shape is None:
            raise ValueError(f"expected cells of one grid, got endpoints of the instances {instances.tolist()}")
        cells = np.unravel_index(self.position[chosen], shape) if shape else ()
        return np.stack(cells, axis=-1) if cells else np.zeros((len(chosen), 0), np.int64)

    def factors(self, endpoint: int) -> tuple[str, ...]:
        """Return the names of the operators whose product is A(i), leftmost first, without those to the power 0.

        R_pos^p R_s R_e, with roles by their label and instances numbered from 1; for a grid's cell R_pos^p is
        R_1^{i_1} ... R_N^{i_N}.
        """
        instance = int(self.instance[endpoint])
        if self.shapes[instance] is None:
            powers = [("pos", int(self.position[endpoint]))]
        else:
            powers = [(str(n), int(i)) for n, i in enumerate(self.coordinates([endpoint])[0], 1)]
        moved = [f"R_{name}^{power}" for name, power in powers if power]
        return (*moved, f"R_{self.roles[self.role[endpoint]].label}", f"R_e{instance + 1}")

    def folded_factors(self) -> list[tuple[str, str]]:
        """Return the two factors of each address as LIS Table 2 writes them, for people: positions folded into roles.

        A token's role is POS_1, POS_2 ...; another is its side, with the position where the instance repeats it; a
        cell's is its coordinates.
        """
        repeated = Counter(zip(self.instance.tolist(), self.role.tolist(), strict=True))
        names = []
        for i, (instance, role, p) in enumerate(zip(self.instance, self.role, self.position, strict=True)):
            side = self.roles[role].side
            if self.shapes[instance] is not None:
                side = "(" + ",".join(map(str, self.coordinates([i])[0].tolist())) + ")"
            elif side == _TOKEN_SIDE:
                side = f"POS_{p + 1}"
            elif repeated[int(instance), int(role)] > 1:
                side = f"{side}[{p}]"
            names.append((f"R_{side}", f"R_e{instance + 1}"))
        return names


def addresses(*structures: Structure) -> StructureAddresses:
    """Return the structural index of every endpoint of the structures, one after another.

    Instances and occurrences are numbered on from structure to structure; roles and contents are numbered by first
    appearance, so that what two structures share has one number (LIS Table 2). Raise ValueError for a grid without an
    instance.

    >>> from lisdata.contents import Role, entity
    >>> from lisdata.schema import StructureKind
    >>> from lisdata.structure import Incidence, Instance, Occurrence, Structure
    >>> fact = Structure(
    ...     record_id="paris",
    ...     kind=StructureKind.TRIPLES,
    ...     occurrences=(Occurrence(content=entity("Paris")), Occurrence(content=entity("France"))),
    ...     instances=(Instance(label="capital_of"),),
    ...     incidences=(
    ...         Incidence(occurrence=0, instance=0, role=Role("capital_of", "subject")),
    ...         Incidence(occurrence=1, instance=0, role=Role("capital_of", "object")),
    ...     ),
    ... )
    >>> [addresses(fact).factors(endpoint) for endpoint in range(2)]
    [('R_capital_of#subject', 'R_e1'), ('R_capital_of#object', 'R_e1')]

    A 1 x 2 grid of one instance:

    >>> grid = Structure(record_id="g", kind=StructureKind.GRID, instances=(Instance(label="map"),),
    ...                  tensor=np.zeros((1, 2)))
    >>> addresses(grid).coordinates([0, 1]).tolist()
    [[0, 0], [0, 1]]
    >>> addresses(grid).factors(1)
    ('R_2^1', 'R_map#cell', 'R_e1')
    """
    roles: dict[Role, int] = {}
    contents: dict[Content, int] = {}
    instances: list[Instance] = []
    shapes: list[tuple[int, ...] | None] = []
    columns: dict[str, list[Int64]] = {name: [] for name in ("role", "instance", "position", "occurrence", "content")}
    first_occurrence = 0
    for structure in structures:
        first = (first_occurrence, len(instances))
        if structure.tensor is None:
            rows = _listed_rows(structure, roles, contents, first)
            shapes.extend([None] * len(structure.instances))
            first_occurrence += len(structure.occurrences)
        else:
            rows = _cell_rows(structure, structure.tensor.size, roles, first)
            shapes.extend([structure.tensor.shape, *[None] * (len(structure.instances) - 1)])
            first_occurrence += structure.tensor.size
        instances.extend(structure.instances)
        for name, parts in columns.items():
            parts.append(rows[name])
    return StructureAddresses(
        roles=tuple(roles),
        instances=tuple(instances),
        contents=tuple(contents),
        shapes=tuple(shapes),
        **{name: _joined(parts) for name, parts in columns.items()},
    )


def _listed_rows(
    structure: Structure, roles: dict[Role, int], contents: dict[Content, int], first: tuple[int, int]
) -> dict[str, Int64]:
    """Return the columns of listed incidences; `first` are the numbers of occurrence 0 and instance 0."""
    shown = [_number(contents, occurrence.content) for occurrence in structure.occurrences]
    listed = structure.incidences
    return {
        "role": _column(_number(roles, i.role) for i in listed),
        "instance": _column(first[1] + i.instance for i in listed),
        "position": _column(i.position for i in listed),
        "occurrence": _column(first[0] + i.occurrence for i in listed),
        "content": _column(shown[i.occurrence] for i in listed),
    }


def _cell_rows(structure: Structure, size: int, roles: dict[Role, int], first: tuple[int, int]) -> dict[str, Int64]:
    """Return the columns of a grid's cells; those that are one number for all cells take no memory."""
    if not structure.instances:
        raise ValueError(f"{structure.record_id}: expected an instance that holds the grid's cells, got none")
    role = _number(roles, Role(structure.instances[0].label, CELL_SIDE))
    cell = np.arange(size)
    return {
        "role": np.broadcast_to(np.int64(role), size),
        "instance": np.broadcast_to(np.int64(first[1]), size),
        "position": cell,
        "occurrence": cell + first[0],
        "content": np.broadcast_to(np.int64(NO_CONTENT), size),
    }


def _number(numbers: dict[ThingT, int], thing: ThingT) -> int:
    return numbers.setdefault(thing, len(numbers))


def _column(numbers: Iterable[int]) -> Int64:
    return np.fromiter(numbers, np.int64)


def _joined(parts: list[Int64]) -> Int64:
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])
