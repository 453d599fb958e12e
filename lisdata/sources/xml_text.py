"""The characters of an XML document: its encoding found as the standard says, and the document as UTF-8."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lisdata.sources.character_encodings import encoding_name

_UTF8 = "utf-8"
# Longer marks first: that of UTF-32 begins as that of UTF-16 does.
_MARKS = (
    (b"\xef\xbb\xbf", _UTF8),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_UNMARKED = ((b"<\x00?\x00", "utf-16-le"), (b"\x00<\x00?", "utf-16-be"))
_DECLARED = re.compile(rb"""<\?xml\s[^>]*?\bencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']""")


class XmlError(ValueError):
    """A document is not XML, or none that is read; `at` is the byte where."""

    def __init__(self, at: int, expected: str, found: str) -> None:
        self.at, self.expected, self.found = at, expected, found
        super().__init__(f"byte {at}: expected {expected}, found {found}")


@dataclass(frozen=True, slots=True, kw_only=True)
class XmlText:
    """A document in UTF-8, without its byte order mark, and how it is written in the file."""

    data: bytes
    mark: bytes
    encoding: str

    def offset(self, at: int) -> int:
        """Return the byte of the file that byte `at` of `data` comes from."""
        if self.encoding == _UTF8:
            return len(self.mark) + at
        return len(self.mark) + len(self.data[:at].decode(errors="ignore").encode(self.encoding, errors="replace"))


def encoding_of(head: bytes) -> tuple[bytes, str]:
    """Return the byte order mark and Python's name of the encoding of a document that begins with `head`.

    XmlError for an encoding that is unknown, or whose code units are not of one byte though the document's are.
    """
    for mark, name in _MARKS:
        if head.startswith(mark):
            return mark, name
    for begin, name in _UNMARKED:
        if head.startswith(begin):
            return b"", name
    declared = _DECLARED.match(head)
    if declared is None:
        return b"", _UTF8
    label = declared[1].decode()
    try:
        name = encoding_name(label)
    except ValueError as error:
        raise XmlError(declared.start(1), "a known encoding", label) from error
    if name.startswith(("utf-16", "utf-32")):
        raise XmlError(declared.start(1), "the encoding that the document is in", f"{label}, but units of one byte")
    return b"", _UTF8 if name in ("ascii", _UTF8) else name


def decode_xml(data: bytes) -> XmlText:
    """Return the document that `data` is; XmlError, with the byte of `data`, where it is not in its encoding."""
    mark, encoding = encoding_of(data[:1024])
    rest = data[len(mark) :]
    try:
        text = rest.decode(encoding)
        return XmlText(data=rest if encoding == _UTF8 else text.encode(), mark=mark, encoding=encoding)
    except UnicodeDecodeError as error:
        found = f"byte 0x{rest[error.start]:02x} ({error.reason})"
        raise XmlError(len(mark) + error.start, encoding.upper(), found) from error
    except UnicodeEncodeError as error:  # some codecs of Python let lone surrogates through
        before = len(text[: error.start].encode(encoding, errors="replace"))
        raise XmlError(len(mark) + before, encoding.upper(), error.reason) from error
