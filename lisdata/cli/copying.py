"""`lisdata copy` and `lisdata archive`: datasets from place to place, and small."""

from __future__ import annotations

from pathlib import Path

import click

from lisdata.cli.converting import FOLDER
from lisdata.cli.options import DatasetFolder, ResumingCommand, example
from lisdata.cli.terminal import say


@click.command(epilog=example("lisdata archive graph.tok --to graph.archive"))
@click.argument("tokens", type=DatasetFolder())
@click.option("--to", type=FOLDER, required=True, help="Folder of the dataset to write.")
@click.option("--unpack", is_flag=True, help="Make an archive a dataset that can be read again, byte for byte.")
def archive(tokens: Path, to: Path, unpack: bool) -> None:
    """Compress the rows of TOKENS by zstd, to keep or send them; what was archived is read after --unpack."""
    from lisdata.cli.printing import counted
    from lisdata.token_shards.archive import archive_tokens

    manifest = archive_tokens(tokens, to, compression="none" if unpack else "zstd")
    size = sum(entry["size"] for entry in manifest["files"].values())
    say(f"{to}: {counted(manifest['num_rows'], 'rows')}, {size / 1e6:,.1f} MB")


@click.command(cls=ResumingCommand, epilog=example("lisdata copy graph.lis backup.lis"))
@click.argument("source")
@click.argument("to")
@click.option("--verify/--no-verify", default=True, show_default=True, help="Read each file back and hash it.")
def copy(source: str, to: str, verify: bool) -> None:
    """Copy a dataset from SOURCE to TO, each a folder or a URL that fsspec opens (s3://bucket/folder).

    Every file is hashed as it is read; the manifest is written last. A copy that was stopped goes on where it was.
    """
    from lisdata.cli.printing import counted
    from lisdata.cli.progress import counter
    from lisdata.datasets import copy as copy_dataset

    with counter("copy", unit="MB") as show:
        report = copy_dataset(
            source, to, verify=verify, on_file=lambda done, total, name: show(done / 1e6, total / 1e6, name)
        )
    there = f", {report.num_found:,} of them there already" if report.num_found else ""
    say(f"{to}: {counted(report.num_files, 'files')}, {report.num_bytes / 1e6:,.1f} MB{there}")
