"""Names of character encodings, as users and documents write them."""

from __future__ import annotations

import codecs

# What Python calls text encodings and no document is written in.
_PYTHON_S_OWN = ("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "mbcs", "oem")


def encoding_name(label: str) -> str:
    """Return Python's name of a character encoding; ValueError for a label of none, such as "rot13" or "hex"."""
    try:
        b"x".decode(label, "replace")  # refuses codecs that do not give text
        name = codecs.lookup(label).name
    except (LookupError, ValueError):  # the latter where no name can be so, or where it decodes nothing
        raise ValueError(f"unknown encoding {label!r}") from None
    if name in _PYTHON_S_OWN:
        raise ValueError(f"expected the encoding of a document, got Python's own {label!r}")
    return name
