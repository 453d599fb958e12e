"""Bad records: stop at the first, skip and count, or keep each byte for byte beside the shards with its reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from lisdata.atomic import sync_path
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice
from lisdata.records import ParsedDocument, Records
from lisdata.shards.manifest import file_entry


class RejectWriter:
    """Takes the bad records of one unit.

    Under "quarantine" `rejects/unit-NAME.bin` holds their bytes one after another, and `rejects/unit-NAME.jsonl` for
    each the place, what was expected and found, and where its bytes lie in the .bin file.
    """

    def __init__(self, directory: Path, unit: str, on_error: str) -> None:
        self._folder, self._unit, self._on_error = directory / "rejects", unit, on_error
        self._piece: InputSlice | None = None
        self._done = 0  # where the last record ends that was converted or rejected
        self._counts: dict[int, int] = {}
        self._streams: dict[str, BinaryIO] = {}

    @contextmanager
    def reading(self, piece: InputSlice) -> Iterator[None]:
        """Say which slice is read.

        Where a compressed stream is damaged, all that follows the last record counts as one bad record.
        """
        self._piece, self._done = piece, piece.begin
        try:
            yield
        except BadRecordError as error:
            if self._on_error == "stop":
                raise
            if self._done < error.begin:
                error.begin, error.data = self._done, None
            self.reject(error)
        finally:
            self._piece = None

    def note_converted(self, records: Records | ParsedDocument) -> None:
        """Say that these records of the slice were converted."""
        if len(records.end):
            self._done = max(self._done, int(records.end.max()))

    def reject(self, error: BadRecordError) -> None:
        """Raise `error` under "stop"; else count its record, and keep it under "quarantine"."""
        if self._on_error == "stop":
            raise error
        if self._piece is None:
            raise ValueError("no slice is being read")
        self._done = max(self._done, error.end)
        index = self._piece.file.index
        self._counts[index] = self._counts.get(index, 0) + 1
        if self._on_error == "quarantine":
            self._keep(error, self._piece)

    def _keep(self, error: BadRecordError, piece: InputSlice) -> None:
        if not self._streams:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._streams = {suffix: self._path(suffix).open("wb") for suffix in ("bin", "jsonl")}
        stream = self._streams["bin"]
        at = stream.tell()
        if error.data is not None:
            stream.write(error.data)
        elif error.end > error.begin:  # it may be too long to be held in memory
            record = replace(piece, begin=error.begin, end=error.end)
            stream.writelines(block for _, block in record.chunks())
        row = {
            "file": piece.file.name,
            "place": str(error.place),
            "expected": error.expected,
            "found": error.found.encode(errors="backslashreplace").decode(),
            "begin": error.begin,
            "end": error.end,
            "at": at,
            "size": stream.tell() - at,
        }
        self._streams["jsonl"].write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))

    def close(self) -> tuple[dict[int, int], dict[str, Any]]:
        """Put the files in place; return the count for each input and the files' entries."""
        entries = {}
        for suffix, stream in self._streams.items():
            stream.flush()
            os.fsync(stream.fileno())
            stream.close()
            final = self._folder / f"unit-{self._unit}.{suffix}"
            self._path(suffix).replace(final)
            entries[f"rejects/{final.name}"] = file_entry(final)
        if entries:
            sync_path(self._folder)
        return self._counts, entries

    def abort(self) -> None:
        """Remove the temporary files."""
        for suffix, stream in self._streams.items():
            with suppress(OSError):  # a full disk: the error that led here is the one to report
                stream.close()
            self._path(suffix).unlink(missing_ok=True)

    def _path(self, suffix: str) -> Path:
        return self._folder / f".unit-{self._unit}.{suffix}.{os.getpid()}.tmp"
