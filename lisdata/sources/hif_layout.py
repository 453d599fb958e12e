"""How a HIF document stands in roles: the grammar of sides, and what its structures do not say by themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lisdata.sources.json_contents import is_side

NETWORK, NODE, HYPEREDGE = "network", "node", "hyperedge"  # labels of instances; any other is an edge's own
MEMBER, HEAD, TAIL = "member", "head", "tail"
ATTR, ATTRS, WEIGHT, DIRECTION, ID = "attr:", "attrs", "weight", "direction", "id"
NETWORK_TYPE, LAYOUT = "network-type", "layout"
_DETAILS = (ATTRS, WEIGHT, DIRECTION, ID)


@dataclass(frozen=True, slots=True, kw_only=True)
class HifOptions:
    """Options of source hif."""

    scope: Literal["global", "file"] = field(
        default="global",
        metadata={"help": "Whether a node is the entity of its name everywhere, or one of this file alone."},
    )
    role_attr: str = field(
        default="role", metadata={"help": "Attribute of an incidence that names the node's role in the edge."}
    )
    label_attr: str = field(default="relation", metadata={"help": "Attribute of an edge that gives its label."})
    id_prefix: tuple[str, ...] = field(
        default=(),
        metadata={"help": "PREFIX=IRI: a node of PREFIX and digits is IRI with the id behind it (repeatable)."},
    )
    max_document_bytes: int = field(
        default=256 << 20, metadata={"help": "Refuse a longer document: its edges take many times its bytes."}
    )

    def __post_init__(self) -> None:
        if self.max_document_bytes < 1:
            raise ValueError(f"expected a limit of at least 1 byte, got {self.max_document_bytes=}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HifLayout:
    """What a document says beyond its edges, nodes and incidences; the defaults are what most documents have.

    `edge_entries` counts the entries of array edges where not every edge has one. `empty` names arrays that are there
    without an entry, `attrs` those whose entries without attributes have an empty object. `order` is the number of the
    edge for each incidence, where the array is not in the order of edges.
    """

    edge_entries: int | None = None
    empty: tuple[str, ...] = ()
    attrs: tuple[str, ...] = ()
    order: tuple[int, ...] = ()


def split_side(side: str) -> tuple[str, str]:
    """Return the participant's side ("" for the edge, node or network itself) and the detail ("" for the participant).

    Details are weight, direction, id, attrs (all attributes as one JSON object) and attr:NAME.
    """
    if side in _DETAILS or side.startswith(ATTR):
        return "", side
    participant, dot, name = side.partition(f".{ATTR}")
    if dot:
        return participant, ATTR + name
    participant, dot, detail = side.rpartition(".")
    return (participant, detail) if dot and detail in _DETAILS else (side, "")


def is_role(side: str) -> bool:
    """Tell whether the value of a role attribute may be the side of a participant; else it stays an attribute."""
    return side not in ("", MEMBER, HEAD, TAIL) and is_side(side) and split_side(side) == (side, "")


def is_label(label: str) -> bool:
    """Tell whether the value of a label attribute may be the label of an edge; else it stays an attribute."""
    return label not in ("", NETWORK, NODE, HYPEREDGE) and is_side(label.replace("#", ""))
