"""Files of formats that are read from any place in them: local ones where they are, others through a temporary copy."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from lisdata.errors import BadRecordError, Place
from lisdata.inputs import MEBIBYTE, InputFile

MAX_COPY_MIB = 4096


@contextmanager
def local_path(file: InputFile, max_copy_mib: int) -> Iterator[str]:
    """Yield the path of a local file that holds the decompressed bytes of `file`.

    A compressed or remote file is copied to a temporary one; BadRecordError where that is more than `max_copy_mib`.
    """
    if file.is_local and file.compression is None:
        yield file.path
        return
    with tempfile.NamedTemporaryFile(prefix="lisdata-") as copy:
        with file.open() as stream:
            while data := stream.read(MEBIBYTE):
                copy.write(data)
                if copy.tell() > max_copy_mib * MEBIBYTE:
                    raise BadRecordError(
                        Place(file.name, offset=0),
                        expected=f"at most {max_copy_mib} MiB when decompressed (--max-copy-mib)",
                        found="more",
                        begin=0,
                        end=copy.tell(),
                    )
        copy.flush()
        yield copy.name
