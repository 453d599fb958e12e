"""Errors of wrong data: each names the place, what was expected and what was found."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

_MAX_SHOWN = 500  # characters of what was found: a message is read by people
_OPTION = re.compile(r"--[\w-]+")


class LisDataError(Exception):
    """Data, a file or a dataset is wrong; the command line exits with 1."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file: a byte offset, and line and column (both from 1) where lines make sense."""

    file: str
    offset: int | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        if self.line is not None:
            column = "" if self.column is None else f":{self.column}"
            return f"{self.file}:{self.line}{column}"
        return self.file if self.offset is None else f"{self.file}@{self.offset}"


class BadRecordError(LisDataError):
    """One record of a source cannot be converted.

    `begin` and `end` are the record's place in the decompressed file, `data` its bytes when the source has them at
    hand: so it can be quarantined byte for byte. `is_all` where it is all that the run was to read.
    """

    def __init__(
        self, place: Place, *, expected: str, found: str, begin: int, end: int, data: bytes | None = None
    ) -> None:
        self.place, self.expected, self.found, self.begin, self.end = place, expected, found, begin, end
        self.data, self.is_all = data, False
        shown = found if len(found) <= _MAX_SHOWN else f"{found[:_MAX_SHOWN]}... ({len(found)} characters)"
        super().__init__(f"{place}: expected {expected}, found {shown}")

    def __reduce__(self) -> tuple[object, ...]:
        return _bad_record, (self.place, self.expected, self.found, self.begin, self.end, self.data, self.is_all)


def _bad_record(
    place: Place, expected: str, found: str, begin: int, end: int, data: bytes | None, is_all: bool
) -> BadRecordError:
    error = BadRecordError(place, expected=expected, found=found, begin=begin, end=end, data=data)
    error.is_all = is_all
    return error


class SchemaError(LisDataError):
    """A table, label list or JSON file does not have the published form or version."""


class DamagedShardError(LisDataError):
    """A file of a dataset is missing, cut short or changed."""


class KeyCollisionError(LisDataError):
    """Two different contents meet under one key."""


class LabelError(LisDataError):
    """A role is not in the frozen vocabulary, or two vocabularies do not agree."""


class TreeError(LisDataError):
    """The heads of a sentence are no projective tree with one root."""


class TagError(LisDataError):
    """The hexatags of a sentence stand for no tree."""


class PlanError(LisDataError):
    """The inputs of a run are missing or changed, or its folder belongs to another run.

    `remedies` say what helps; one that names an option (--fresh) does only where there is such an option.
    """

    def __init__(self, problem: str, *, remedies: Sequence[str] = ()) -> None:
        self.problem, self.remedies = problem, tuple(remedies)
        super().__init__(_with_remedies(problem, self.remedies))

    def describe(self, options: Collection[str]) -> str:
        """Return the message for a command that has just these options."""
        named = [remedy for remedy in self.remedies if set(_OPTION.findall(remedy)) <= set(options)]
        return _with_remedies(self.problem, named)


def _with_remedies(problem: str, remedies: Sequence[str]) -> str:
    return f"{problem}; {', or '.join(remedies)}" if remedies else problem


class RunError(LisDataError):
    """A run could not be finished, for example because its worker processes keep dying."""


class ExportError(LisDataError):
    """A dataset cannot be written in the asked format."""


class RecipeError(LisDataError):
    """A recipe has an unknown key, lacks one, or names a missing path."""
