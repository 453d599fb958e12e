"""Reads an input as one document, in memory only when it is no longer than allowed."""

from __future__ import annotations

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import InputSlice
from lisdata.registry import Reject


def read_document(piece: InputSlice, limit: int, reject: Reject) -> bytes | None:
    """Return the bytes of `piece`; where they are more than `limit`, reject them and return None."""
    parts: list[bytes] = []
    size = 0
    for _, data in piece.chunks():
        size += len(data)
        if size > limit:
            parts.clear()
        else:
            parts.append(data)
    if size <= limit:
        return b"".join(parts)
    error = BadRecordError(
        Place(piece.file.name, offset=piece.begin + limit),
        expected=f"a document of at most {limit} bytes (max_document_bytes)",
        found=f"{size} bytes",
        begin=piece.begin,
        end=piece.begin + size,
    )
    reject(error)
    return None
