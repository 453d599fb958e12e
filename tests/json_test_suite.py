"""JSONTestSuite: which of its files the source json accepts."""

from __future__ import annotations

import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.sources.json_document import JSON, JsonOptions

# Of the files that a parser may accept or refuse (i_), those refused: bytes that are not UTF-8, UTF-16.
REFUSED = frozenset(
    f"i_string_{name}.json"
    for name in (
        "UTF-16LE_with_BOM", "UTF-8_invalid_sequence", "UTF8_surrogate_U+D800", "invalid_utf-8", "iso_latin_1",
        "lone_utf8_continuation_byte", "not_in_unicode_range", "overlong_sequence_2_bytes",
        "overlong_sequence_6_bytes", "overlong_sequence_6_bytes_null", "truncated-utf-8", "utf16BE_no_BOM",
        "utf16LE_no_BOM",
    )
)  # fmt: skip


def iter_suite(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of each file of the suite."""
    with tarfile.open(archive) as files:
        for member in sorted(files.getmembers(), key=lambda m: m.name):
            stream = files.extractfile(member)
            name = Path(member.name).name
            if stream is not None and name.endswith(".json"):
                yield name, stream.read()


def refusal_of(path: Path) -> BadRecordError | None:
    """Return why the source json refuses a file, None where it does not."""
    errors: list[BadRecordError] = []
    trees = list(JSON.read(InputSlice(file=find_inputs([str(path)], suffixes=())[0]), JsonOptions(), errors.append))
    assert len(trees) + len(errors) == 1
    return errors[0] if errors else None


def accepted_files(archive: Path) -> dict[str, bool]:
    """Tell of each file of the suite, by name, whether it is accepted."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "document.json"
        accepted: dict[str, bool] = {}
        for name, data in iter_suite(archive):
            path.write_bytes(data)
            accepted[name] = refusal_of(path) is None
    return accepted


def count_suite(archive: Path) -> dict[str, int]:
    """Count the files by what must be done with them and what is done, as in "y accepted" and "n refused"."""
    return dict(Counter(f"{n[0]} {'accepted' if ok else 'refused'}" for n, ok in accepted_files(archive).items()))
