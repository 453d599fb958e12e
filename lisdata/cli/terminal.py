"""What commands say on a terminal, which shows it and never obeys it: see `lisdata.printable`."""

from __future__ import annotations

import logging
import sys

import click

from lisdata.printable import one_line


def say(text: str, *, err: bool = False) -> None:
    """Print one line on stdout, or stderr."""
    click.echo(one_line(text), err=err)


def tell_compilation() -> None:
    """Have files left out or read ahead told on stderr, and kernels compiled where that is a terminal."""
    for name in ("lisdata.inputs", "lisdata.conversion", *(("lisdata.kernels",) if sys.stderr.isatty() else ())):
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(_Teller())
            logger.setLevel(logging.INFO)


class _Teller(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage(), err=True)
