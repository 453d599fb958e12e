"""The command line: thin commands, each parses, calls one library function and prints."""

from lisdata.cli.commands import main

__all__ = ["main"]
