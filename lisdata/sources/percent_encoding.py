"""Text as it stands in IRIs: bytes that may not are a percent sign and two hexadecimal digits."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")


def percent_encode(text: str, kept: str = "") -> str:
    """Return `text` with an escape for each character that is neither unreserved (RFC 3986) nor one of `kept`."""
    stays = _UNRESERVED.union(kept)
    return "".join(c if c in stays else "".join(f"%{byte:02X}" for byte in c.encode()) for c in text)


def percent_decode(text: str) -> str:
    """Return `text` with what its escapes stand for; those that are no UTF-8 stay."""
    return _ESCAPES.sub(lambda match: _decode(match[0]), text)


def _decode(escapes: str) -> str:
    try:
        return bytes.fromhex(escapes.replace("%", "")).decode()
    except UnicodeDecodeError:
        return escapes
