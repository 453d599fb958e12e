"""Decodes HTML documents as the HTML and Encoding standards say: byte order mark, else <meta>, else UTF-8."""

from __future__ import annotations

import re

import numpy as np

from lisdata.sources.character_encodings import encoding_name

_MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_PRESCAN_BYTES = 1024
_ANY_CHARSET = re.compile(rb"charset", re.IGNORECASE)
_UTF8_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*utf-8[\s"'/>;]""", re.IGNORECASE)
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([^\s"';]+)""", re.IGNORECASE)
# Python's name of an encoding -> the one that browsers read it as.
_READ_AS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-8",
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
}
_ON_THE_WEB = re.compile(
    r"utf-8|cp866|cp874|cp125[0-8]|iso8859-(2|3|4|5|6|7|8|10|13|14|15|16)|koi8-[ru]|mac-(roman|cyrillic)|gb18030"
    r"|big5hkscs|euc_jp|iso2022_jp|cp932|cp949"
)
# Bytes that Python's cp1252 leaves undefined are control characters in the standard.
_WINDOWS_1252 = {byte: text for byte in range(0x80, 0xA0) if (text := bytes((byte,)).decode("cp1252", errors="ignore"))}


def decode_html(data: bytes, encoding: str | None = None) -> str:
    """Return the text of a document in `encoding`, or in the one that it tells; what is no text becomes U+FFFD."""
    return _decode(data, encoding_of(data) if encoding is None else _read_as(encoding))


def html_to_utf8(data: bytes, encoding: str | None = None) -> bytes:
    """Return what `decode_html` does as UTF-8, without lone surrogates: the same bytes where they are that."""
    name = encoding_of(data) if encoding is None else _read_as(encoding)
    if name == "utf-8" and not data.startswith(tuple(_MARKS)) and _is_utf8(data):
        return data
    return _decode(data, name).encode("utf-8", "ignore")


def _is_utf8(data: bytes) -> bool:
    import pyarrow as pa

    from lisdata.kernels.arrays import binary_array

    try:  # several times as fast as to decode
        binary_array(np.array([0, len(data)]), np.frombuffer(data, np.uint8), pa.large_string()).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _decode(data: bytes, name: str) -> str:
    if name == "cp1252":
        return data.decode("latin-1").translate(_WINDOWS_1252)
    mark = next((m for m, marked in _MARKS.items() if marked == name and data.startswith(m)), b"")
    return data[len(mark) :].decode(name, errors="replace")


def encoding_of(data: bytes) -> str:
    """Return Python's name of the encoding that a document tells, "utf-8" where it tells none that browsers know."""
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            return name
    head = data[:_PRESCAN_BYTES]
    for label in () if _tells_utf8(head) else _declared_labels(head):
        try:
            name = _read_as(label)
        except ValueError:
            continue
        if _ON_THE_WEB.fullmatch(name):
            return name
    return "utf-8"


def _tells_utf8(head: bytes) -> bool:
    """Tell, without a look at its tags, whether a document can declare no encoding but UTF-8."""
    return b"&#" not in head and len(_ANY_CHARSET.findall(head)) == len(_UTF8_CHARSET.findall(head))


def _read_as(label: str) -> str:
    name = encoding_name(label)
    return _READ_AS.get(name, name)


def _declared_labels(head: bytes) -> list[str]:
    """Return the encodings that <meta charset> and <meta http-equiv=content-type> name, in order."""
    from selectolax.lexbor import LexborHTMLParser

    labels: list[str] = []
    for meta in LexborHTMLParser(head.decode("latin-1")).css("meta"):
        attributes = meta.attributes
        charset = attributes.get("charset")
        if charset is None and (attributes.get("http-equiv") or "").lower() == "content-type":
            found = _CHARSET.search(attributes.get("content") or "")
            charset = found[1] if found else None
        if charset:
            labels.append(charset.strip())
    return labels
