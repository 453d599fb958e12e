"""Where in an input the last statement ends that a parser gave: it does not tell, so it reads that part again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, BinaryIO

from lisdata.inputs import MEBIBYTE

LONGEST_TOKEN = 16 * MEBIBYTE  # the parser gives up where one is longer
_READ_AHEAD = 1 << 14  # of a token that is too long, how much may be missing from what the parser holds of it
_WINDOWS = (1 << 16, 1 << 22)


class _Feed:
    """A stream of the first `stop` bytes of another, those from `slow_from` on one at a time."""

    def __init__(self, stream: BinaryIO, slow_from: int, stop: int) -> None:
        self._stream, self._slow_from, self._stop = stream, slow_from, stop
        self.position = 0

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, empty at the end."""
        is_slow = self.position >= self._slow_from
        left = (self._stop if is_slow else self._slow_from) - self.position
        data = self._stream.read(min(left, 1 if is_slow else MEBIBYTE if size < 0 else size))
        self.position += len(data)
        return data


def end_of_converted(open_stream: Callable[[], BinaryIO], start: Callable[[Any], Any], position: int) -> int:
    """Return where the last statement ends, of an input of which a parser has read `position` bytes.

    It has then met a token of more than LONGEST_TOKEN bytes, which begins about so much earlier. `start` returns the
    parser's iterator over the statements of a stream.
    """
    token = max(0, position - LONGEST_TOKEN)
    stop = min(position, token + _READ_AHEAD)
    for window in (*_WINDOWS, token):
        slow_from = max(0, token - window)
        _, end = _count(open_stream, start, slow_from, stop)
        if end > slow_from or not slow_from:
            break
    if not end:
        return 0
    # A byte more may have been read, to see that the statement was over.
    whole, _ = _count(open_stream, start, end, end)
    shorter, _ = _count(open_stream, start, end - 1, end - 1)
    return end - (shorter == whole)


def _count(
    open_stream: Callable[[], BinaryIO], start: Callable[[Any], Any], slow_from: int, stop: int
) -> tuple[int, int]:
    """Return how many statements begin in the first `stop` bytes, and how many bytes were read when the last came."""
    count = end = 0
    with open_stream() as stream:
        feed = _Feed(stream, slow_from, stop)
        statements = start(feed)
        while True:
            try:
                for _ in statements:
                    count, end = count + 1, feed.position
                return count, end
            except SyntaxError:  # rejected when it was met first; or what was cut off at `stop`
                continue
