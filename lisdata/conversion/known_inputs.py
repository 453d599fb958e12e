"""The inputs of a dataset by all of their bytes, as its units read them: the files may be gone, or changed, by now."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from lisdata.conversion.slices import planned_slice
from lisdata.inputs import InputFile, is_unchanged
from lisdata.runs import JsonDict
from lisdata.runs.commits import read_commit


@dataclass(slots=True)
class KnownInputs:
    """Tells which files hold the bytes of `inputs`, which `units` of the dataset at `directory` have read or are to.

    The digests of a plan don't cover all of a large file; those that a unit's commit has of what it read do.
    """

    directory: Path
    units: list[JsonDict]
    inputs: list[InputFile]
    taken: list[InputFile] = field(default_factory=list)
    _left: dict[str, list[InputFile]] = field(init=False)

    def __post_init__(self) -> None:
        self._left = {}
        for file in self.inputs:
            self._left.setdefault(file.digest, []).append(file)

    def take(self, file: InputFile) -> bool:
        """Tell whether a file holds all bytes of an input that no file was taken for yet; then add it to `taken`."""
        left = self._left.get(file.digest, [])
        known = next((known for known in left if self._is_copy(file, known)), None)
        if known is None:
            return False
        left.remove(known)
        self.taken.append(file)
        return True

    def holds(self, file: InputFile, unit: JsonDict, piece: JsonDict) -> bool:
        """Tell whether an input is where it was and still has the bytes of a slice of a unit."""
        return is_unchanged(file) and (file.is_digest_of_all or self._has_read(unit, piece, file, file))

    def _is_copy(self, file: InputFile, known: InputFile) -> bool:
        pieces = ((unit, piece) for unit in self.units for piece in unit["slices"] if piece["file"] == known.index)
        return file.is_digest_of_all or all(self._has_read(unit, piece, known, file) for unit, piece in pieces)

    def _has_read(self, unit: JsonDict, piece: JsonDict, known: InputFile, file: InputFile) -> bool:
        """Tell whether `file` has the bytes that a unit read of `known`; or is to read, or read from a URL, as now."""
        commit = read_commit(self.directory, unit)
        entries = [] if commit is None else [entry for entry in commit["read"] if piece.items() <= entry.items()]
        digest = entries[0]["digest"] if entries else None
        if digest is None and is_unchanged(known):
            digest = _digest(known, piece)
        return digest is not None and _digest(file, piece) == digest


def _digest(file: InputFile, piece: JsonDict) -> str:
    return planned_slice(file, piece).digest()
