"""`lisdata import`: rows of tokens from the formats of other loaders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lisdata.cli.converting import FOLDER
from lisdata.cli.options import CleanGroup, example, options_of


class ImportGroup(CleanGroup):
    """One command a format that can be read, made from the options that it declares."""

    kind = "format"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all formats."""
        from lisdata.token_formats.formats import IMPORTED

        return list(IMPORTED)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of one format, or None."""
        from lisdata.token_formats.formats import load_imported

        if cmd_name not in self.list_commands(ctx):
            return None
        reader = load_imported(cmd_name)
        return click.Command(
            cmd_name,
            callback=_import,
            short_help=reader.summary,
            help=f"{reader.summary}.\n\nThe dataset is the one that was exported where lisdata export wrote the files; "
            "else types are the narrowest for the values, and rows are of kind text. What is left out is listed.",
            epilog=example(f"lisdata import {cmd_name} graph.{cmd_name} --to again.tok"),
            params=[
                click.Argument(["path"], type=click.Path(path_type=Path)),
                click.Option(["--to"], type=FOLDER, required=True, help="Folder of the token shards to write."),
                *options_of(reader.options_type),
            ],
        )


def _import(path: Path, to: Path, **options: Any) -> None:
    from lisdata.cli.printing import print_manifest
    from lisdata.token_formats import import_tokens as run_import

    print_manifest(to, run_import(click.get_current_context().command.name or "", path, to, **options))


@click.group(
    "import",
    cls=ImportGroup,
    subcommand_metavar="FORMAT PATH",
    epilog=example("lisdata import parquet graph.parquet --to again.tok"),
)
def import_tokens() -> None:
    """Make rows of tokens from files of another loader: lisdata import FORMAT PATH --to DIR."""
