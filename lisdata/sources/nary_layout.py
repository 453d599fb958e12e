"""How n-ary facts stand on lines and in roles: the layouts, and the grammar that source and exporter share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lisdata.contents import Role
from lisdata.sources import wikidata_layout

SUBJECT, VALUE, QUALIFIER = wikidata_layout.SUBJECT, wikidata_layout.VALUE, wikidata_layout.QUALIFIER
"""Sides: those of Wikidata's own statements, so that a statement is the same whichever file it comes from."""

LAYOUT, LINE, FACT = "layout", "line", "fact"  # labels of instances; any other is a fact's own relation
LAYOUT_TEXT = Role(LAYOUT, "text")
LINE_TEXT = Role(LINE, "text")
LINE_ENDING = Role(LINE, "ending")
LINE_RELATION = Role(LINE, "relation")
WRITTEN, RELATION = ".written", ".relation"
TIME = "nary:time"
HEAD_KEY, TAIL_KEY, ARITY_KEY = "_h", "_t", "N"


@dataclass(frozen=True, slots=True, kw_only=True)
class NaryOptions:
    """Options of source nary."""

    layout: Literal["auto", "wd50k", "jf17k", "triples", "hype", "wikipeople"] = field(
        default="auto",
        metadata={
            "help": "wd50k (and jf17k, as StarE gives it): s,r,o,(qr,qv)*; triples: head relation tail; "
            "hype: r e1 e2 ...; wikipeople: a JSON object a line; auto: what the file begins with, refused where "
            "its columns do not tell which is the relation."
        },
    )
    leading_id: bool = field(default=False, metadata={"help": "In layout hype, an id of the fact comes first."})
    id_prefix: tuple[str, ...] = field(
        default=(),
        metadata={"help": "PREFIX=IRI: a name of PREFIX and digits is IRI with it behind, as Q42 is (repeatable)."},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NaryLayout:
    """How a file is written; `style` is that of its JSON, `ending` of most lines, `mark` its first character."""

    layout: str = "wd50k"
    separator: str = ","
    ending: str = "\n"
    style: str = "spaced"
    mark: str = ""


def argument(relation: str, number: int) -> Role:
    """Return the role of an argument that has no name but its number, from 1."""
    return Role(relation, str(number))


def written(role: Role) -> Role:
    """Return the role of how a participant's name is written, where it would come back shorter."""
    return Role(role.relation, role.side + WRITTEN)


def qualifier_written(role: Role) -> Role:
    """Return the role of how the relation of a qualifier is written, where it would come back shorter."""
    return Role(role.relation, role.side + RELATION)
