"""What commands say on a terminal, which shows it and never obeys it: see `lisdata.printable`."""

from __future__ import annotations

import click

from lisdata.printable import one_line


def say(text: str, *, err: bool = False) -> None:
    """Print one line on stdout, or stderr."""
    click.echo(one_line(text), err=err)
