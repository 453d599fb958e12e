"""`vocabulary`: roles, and characters, numbered alike for datasets that are encoded each by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lisdata.cli.options import DatasetFolder, example, options_of
from lisdata.cli.terminal import say

_MADE_HERE = ("labels", "vocabulary")


class VocabularyCommand(click.Command):
    """The command, with the options of EncodeConfig but for those that name what it writes."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own parameters and those of EncodeConfig."""
        from lisdata.encoding import EncodeConfig

        settings = [option for option in options_of(EncodeConfig) if option.name not in _MADE_HERE]
        return [*self.params, *settings, *([] if (h := self.get_help_option(ctx)) is None else [h])]


@click.command(cls=VocabularyCommand, epilog=example("lisdata vocabulary text.lis graph.lis --to numbers"))
@click.argument("datasets", type=DatasetFolder(), nargs=-1, required=True, metavar="DATASET...")
@click.option(
    "--to", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for roles.json and others."
)
def vocabulary(datasets: tuple[Path, ...], to: Path, **settings: Any) -> None:
    """Number the roles of all DATASETs in one file, with characters as tokens these too, so that their tokens mix.

    encode takes the files: --labels roles.json --vocabulary characters.json. Give the options that encode is to be
    given, since they decide which text there is.
    """
    from lisdata.encoding import collect_vocabulary

    for name, count in collect_vocabulary(datasets, to, **settings).items():
        say(f"{to / name}: {count:,} {name.partition('.')[0]}")
