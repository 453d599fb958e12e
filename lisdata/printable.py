"""Streams that a terminal is sent: text that it shows and never obeys, wherever the text came from.

Labels, names of columns and files, arguments and error messages may hold escape sequences. `printable_streams` stands
between the whole program (click, logging and warnings included) and its standard streams.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO, cast

# C0 controls but the newline, DEL and C1 controls; marks that change the direction of text; line and paragraph
# separators; lone surrogates, which no stream can be sent.
_COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escape_commands(text: str) -> str:
    r"""Return `text` with \u001b in place of each character that a terminal would obey; newlines stay.

    The escapes are JSON's, and such characters stand in JSON only inside its texts: so JSON still says the same.
    """
    return _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str) -> str:
    """Return `text` as one line: newlines are escaped too, so that no name can pass for another line of output."""
    return escape_commands(text).replace("\n", "\\n")


class PrintableStream(io.TextIOBase):
    """A text stream that escapes what a terminal would obey, and what the encoding of `target` cannot hold."""

    def __init__(self, target: TextIO) -> None:
        self.target = target

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the stream behind; UTF-8 where it says none."""
        return self.target.encoding or "utf-8"

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """That of the stream behind."""
        return self.target.errors

    def write(self, text: str) -> int:
        """Write `text`, escaped, and return its own length."""
        shown = escape_commands(text)
        self.target.write(shown.encode(self.encoding, "backslashreplace").decode(self.encoding))
        return len(text)

    def flush(self) -> None:
        """Flush the stream behind."""
        self.target.flush()

    def fileno(self) -> int:
        """Return that of the stream behind."""
        return self.target.fileno()

    def isatty(self) -> bool:
        """Tell whether the stream behind is a terminal."""
        return self.target.isatty()

    def writable(self) -> bool:
        """Return True."""
        return True


def guard_streams() -> tuple[TextIO, TextIO]:
    """Put a `PrintableStream` before stdout and stderr, for good, and return the two; a closed stream stays None."""
    guards = (_guarded(sys.stdout), _guarded(sys.stderr))
    sys.stdout, sys.stderr = guards
    return guards


def _guarded(stream: TextIO) -> TextIO:
    return stream and cast(TextIO, PrintableStream(raw_stream(stream)))


@contextmanager
def printable_streams() -> Iterator[None]:
    """Let nothing through to stdout and stderr but what a `PrintableStream` does."""
    before = sys.stdout, sys.stderr
    guards = guard_streams()
    try:
        yield
    finally:  # click has put in a stream of its own where the reader of one went away
        sys.stdout, sys.stderr = (
            stream if found is guard else found
            for stream, guard, found in zip(before, guards, (sys.stdout, sys.stderr), strict=True)
        )


def raw_stream(stream: TextIO) -> TextIO:
    """Return the stream behind a `PrintableStream`, for what draws on a terminal by its commands."""
    return stream.target if isinstance(stream, PrintableStream) else stream


def print_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an error that nothing caught as Python does (this is a `sys.excepthook`), through a `PrintableStream`."""
    with printable_streams():
        sys.__excepthook__(kind, error, trace)


def is_guarded() -> bool:
    """Tell whether what this process prints goes through a `PrintableStream`."""
    return isinstance(sys.stderr, PrintableStream)
