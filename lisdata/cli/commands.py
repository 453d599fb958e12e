"""The commands of `lisdata`. Heavy libraries are imported by what a command calls, never here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from lisdata.cli.aligning import align, audit
from lisdata.cli.attention import attention
from lisdata.cli.converting import FOLDER, ConvertCommand, convert_options, run_conversion
from lisdata.cli.copying import archive, copy
from lisdata.cli.evaluating import benchmark
from lisdata.cli.freezing import freeze_tags
from lisdata.cli.generating import generate
from lisdata.cli.hexatag import hexatag
from lisdata.cli.options import CleanGroup, DatasetFolder, ResumingCommand, device_option, example, options_of
from lisdata.cli.regrouping import regroup, run_sorted_conversion, sort_options
from lisdata.cli.reproduce import reproduce
from lisdata.cli.runs import finish, run_report
from lisdata.cli.selecting import dedup, filter_, reshard, sample, split
from lisdata.cli.shuffling import shuffle_report
from lisdata.cli.spreading import Spread, run_spread, spread_options, take_spread
from lisdata.cli.tagger import tagger
from lisdata.cli.terminal import say
from lisdata.cli.token_formats import import_tokens
from lisdata.cli.tokenizer import tokenizer
from lisdata.cli.vocabularies import vocabulary

DATASET = DatasetFolder()
FILE = click.Path(dir_okay=False, path_type=Path)
LISTED = ["sources", "converters", "exporters", "token-formats", "models"]
RECIPE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(
    cls=CleanGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=example("lisdata convert text README.md --to readme.lis"),
)
@click.version_option(package_name="lisdata")
def main() -> None:
    """Turn text, knowledge graphs, hyperedges, trees, tables and grids into one form for training language models.

    convert -> (merge) -> encode -> train -> evaluate. Results go to stdout, progress and messages to stderr. Exit
    codes: 0 good, 1 bad data, 2 bad usage.
    """


class RecipeCommand(ResumingCommand):
    """A command that makes the data of a recipe."""

    bad_record_advice = (
        'To go on without bad records: on_error = "quarantine" (or "skip") in that [[source]] of the recipe, and '
        "lisdata run with --fresh."
    )


class ConvertGroup(CleanGroup):
    """One command a registered source, made from the options that the source declares."""

    kind = "source"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all sources, third parties' included."""
        from lisdata.registry import names

        return list(names("sources"))

    def find_similar(self, ctx: click.Context, name: str) -> Sequence[str]:
        """Return the sources of a like name, or that read files of such a suffix."""
        from lisdata.registry import find_similar

        return find_similar("sources", name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of one source, or None."""
        from lisdata.registry import load_converter, load_source

        if cmd_name not in self.list_commands(ctx):
            return None
        source = load_source(cmd_name)
        converter = load_converter(source.converter)
        name = f"data{source.suffixes[0]}" if source.suffixes else "data"
        return ConvertCommand(
            cmd_name,
            callback=_convert,
            short_help=source.summary,
            help=f"{source.summary}.\n\nPATHs are files, folders, globs or fsspec URLs; gzip, bzip2, xz and zstd are "
            "seen by content. A run that was stopped goes on where it was.",
            epilog=example(f"lisdata convert {cmd_name} {name} --to {cmd_name}.lis"),
            params=[
                click.Argument(["paths"], nargs=-1, required=True, metavar="PATH..."),
                *options_of(source.options_type),
                *options_of(converter.options_type),
                *convert_options(),
                *(sort_options() if source.converter == "triples" else ()),
            ],
        )


def _convert(
    paths: tuple[str, ...], to: Path, sort_by: str | None = None, memory_mib: int | None = None, **rest: Any
) -> None:
    source = click.get_current_context().command.name or ""
    settings = {option.name or "": rest.pop(option.name or "") for option in convert_options() if option.name != "to"}
    if sort_by is not None and not settings["dry_run"]:
        del settings["dry_run"]
        if take_spread(settings) != Spread():
            raise click.UsageError(
                "--sort-by sorts in processes of this machine: leave out --engine, --rank, --world, or convert first "
                "and then regroup, which take them"
            )
        if any([settings.pop("replan"), settings.pop("append")]):
            raise click.UsageError("--sort-by sorts all there is: leave out --replan and --append")
        if settings["unit_mib"] is None:
            del settings["unit_mib"]
        run_sorted_conversion(source, paths, to, rest, sort_by=sort_by, memory_mib=memory_mib, **settings)
    else:
        run_conversion(source, paths, to, rest, **settings)


@main.group(
    cls=ConvertGroup,
    subcommand_metavar="SOURCE PATH...",
    epilog=example("lisdata convert ntriples graph.nt.gz --to graph.lis --workers 4"),
)
def convert() -> None:
    """Convert files of one SOURCE into a dataset of structures: lisdata convert SOURCE PATH... --to DIR."""


class EncodeCommand(ResumingCommand):
    """`encode`, with the options that EncodeConfig declares, and the words of its report."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own parameters and those of EncodeConfig."""
        from lisdata.encoding import EncodeConfig

        return [*self.params, *options_of(EncodeConfig), *([] if (h := self.get_help_option(ctx)) is None else [h])]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then what each line of the report means."""
        from lisdata.cli.printing import EXPECTED_COUNTS
        from lisdata.encoding.counts import EncodeCounts

        super().format_options(ctx, formatter)
        meanings = {f.name: f.metadata["help"] for f in fields(EncodeCounts)}
        told = {name: meanings[name] for name in meanings if name not in EXPECTED_COUNTS}
        for title, names in (("What it reports, where there is any", told), ("In stats alone", EXPECTED_COUNTS)):
            with formatter.section(title):
                formatter.write_dl([(name.replace("_", " "), meanings[name]) for name in names])


@main.command(
    cls=EncodeCommand,
    params=spread_options(),
    epilog=example("lisdata encode graph.lis --to graph.tok --tokenizer chars --context 256"),
)
@click.argument("dataset", type=DATASET)
@click.option("--to", type=FOLDER, required=True, help="Folder of the token shards to write.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Worker processes.")
@click.option("--fresh", is_flag=True, help="Start over instead of resuming.")
def encode(dataset: Path, to: Path, **settings: Any) -> None:
    """Encode the structures of DATASET as the token rows that a model reads."""
    from lisdata import encoding

    run_spread("encode", encoding.encode, encoding.encode_share, dataset, to, **settings)


@main.command(epilog=example("lisdata merge text.lis graph.lis --to both.lis"))
@click.argument("datasets", type=DATASET, nargs=-1, required=True)
@click.option("--to", type=FOLDER, required=True, help="Folder of the merged dataset.")
@click.option(
    "--skip-repeats",
    is_flag=True,
    help="Leave out, and name, files that a dataset before has too (the same bytes, read in the same way); they are "
    "refused else.",
)
def merge(datasets: tuple[Path, ...], to: Path, skip_repeats: bool) -> None:
    """Merge DATASETS made apart into one; contents meet by key, nothing is dropped."""
    from lisdata.cli.printing import print_manifest
    from lisdata.datasets import merge as merge_datasets
    from lisdata.selection import merge_once

    print_manifest(to, (merge_once if skip_repeats else merge_datasets)(list(datasets), to))


@main.command(epilog=example("lisdata export graph.lis --to graph.nt"))
@click.argument("dataset", type=DATASET)
@click.option(
    "--to", type=click.Path(path_type=Path), required=True, help="File, or folder for several inputs or for tokens."
)
@click.option(
    "--format",
    "format_",
    help="An exporter's name (see lisdata list exporters, for rows of tokens lisdata list token-formats); default: the "
    "source's.",
)
@click.option("--input", "inputs", multiple=True, metavar="NAME", help="Only this input; may be given several times.")
@click.option(
    "--prefix",
    "prefixes",
    multiple=True,
    metavar="NAME=IRI",
    help="A prefix for IRIs in turtle, trig and rdfxml, before the input's own and known ones; may be given several "
    "times.",
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
@click.option(
    "--allow-losses", is_flag=True, help="Write a format that holds nothing of what there is, which is refused else."
)
@click.option(
    "--verify",
    type=click.Choice(["full", "open"]),
    default="full",
    show_default=True,
    help="full: hash all files of DATASET before anything is written; open: only see that they are there and whole.",
)
def export(dataset: Path, to: Path, format_: str | None, inputs: tuple[str, ...], **settings: Any) -> None:
    """Write DATASET back in the format it came from, or rows of tokens for other loaders; losses are listed."""
    from lisdata.cli.printing import print_export
    from lisdata.datasets import export as export_dataset

    print_export(export_dataset(dataset, to, format=format_, inputs=inputs, **settings))


@main.command(epilog=example("lisdata inspect both.lis --shared"))
@click.argument("dataset", type=DATASET)
@click.option("--record", help="The id of one record; default: the first ones.")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="Records to show.")
@click.option("--shared", is_flag=True, help="Only occurrences whose content several of the records share.")
@click.option("--table", is_flag=True, help="The table of endpoints also for sentences with trees.")
@click.option("--svg", type=FILE, help="Also draw the first of the sentences with a tree to this SVG file.")
@click.option("--json", "as_json", is_flag=True, help="Whole records as JSON lines instead of the table.")
def inspect(dataset: Path, svg: Path | None, **shown: Any) -> None:
    """Print records of DATASET.

    Sentences with a dependency tree or hexatags are drawn: arcs, words, tags, stack depth, binary head tree. All else
    is the paper's table of endpoints: occurrence, content, instance, role, address.
    """
    from lisdata.cli.inspecting import print_records

    print_records(dataset, svg=svg, **shown)


@main.command(epilog=example("lisdata stats graph.lis --plot graph.png"))
@click.argument("dataset", type=DATASET)
@click.option("--plot", type=FILE, help="Also draw the distributions to this PNG, SVG or PDF file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def stats(dataset: Path, plot: Path | None, as_json: bool) -> None:
    """Count what DATASET holds: kinds, contents, roles, sizes of structures or rows."""
    from lisdata.cli.printing import print_stats
    from lisdata.statistics import plot_statistics, summarise

    summary = summarise(dataset)
    if plot is not None:
        plot_statistics(summary, plot)
        say(f"plot: {plot}", err=True)
    print_stats(summary, as_json=as_json)


@main.command(epilog=example("lisdata verify graph.lis"))
@click.argument("dataset", type=DatasetFolder(fetches=False))
def verify(dataset: Path | str) -> None:
    """Check every byte of DATASET against its manifest and every row against the schema; exit 1 on any difference."""
    from lisdata.cli.printing import print_verification
    from lisdata.cli.progress import counter
    from lisdata.datasets import verify as verify_dataset

    with counter("verify", unit="MB") as show:
        report = verify_dataset(dataset, on_file=lambda done, total, name: show(done / 1e6, total / 1e6, name))
    print_verification(dataset, report)
    if not report.ok:
        click.get_current_context().exit(1)


@main.command("list", epilog=example("lisdata list sources"))
@click.argument("group", type=click.Choice(LISTED), required=False)
def list_(group: str | None) -> None:
    """List what is registered: sources, converters, exporters, formats of tokens, models (all of them by default)."""
    from lisdata.cli.printing import print_registry

    print_registry([group] if group else LISTED)


@main.command("export-schema", epilog=example("lisdata export-schema schemas"))
@click.argument("directory", type=FOLDER)
def export_schema(directory: Path) -> None:
    """Write the published schemas (Arrow tables, JSON form, key layout with test vectors) into DIRECTORY."""
    from lisdata.published import write_schemas

    for path in write_schemas(directory):
        say(str(path))


_SET = click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a key of the recipe, e.g. train.num_steps=50."
)
_TO = click.option("--to", type=FOLDER, required=True, help="Folder for datasets, checkpoints, reports and plots.")
_FRESH = click.option("--fresh", is_flag=True, help="Start over instead of resuming.")
_WORKERS = click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Worker processes.")


@main.command(cls=RecipeCommand, epilog=example("lisdata run pipelines/quickstart.toml --to out"))
@click.argument("recipe", type=RECIPE)
@_TO
@_SET
@_WORKERS
@_FRESH
@click.option("--dry-run", is_flag=True, help="Check the recipe and show the steps; write nothing.")
@device_option
def run(recipe: Path, to: Path, changes: tuple[str, ...], workers: int, fresh: bool, dry_run: bool) -> None:
    """Run RECIPE from sources to shards to tokens, and train and evaluate the models it names."""
    from lisdata.cli.pipelines import run_recipe

    steps = ("data", "train", "evaluate")
    run_recipe(recipe, to, changes, workers=workers, dry_run=dry_run, steps=steps, fresh=fresh)


@main.command(
    cls=RecipeCommand, epilog=example("lisdata train pipelines/quickstart.toml --to out --set train.num_steps=50")
)
@click.argument("recipe", type=RECIPE)
@_TO
@_SET
@_WORKERS
@click.option("--model", "models", multiple=True, metavar="LABEL", help="Train only this model of the recipe.")
@device_option
def train(recipe: Path, to: Path, changes: tuple[str, ...], workers: int, models: tuple[str, ...]) -> None:
    """Train the models of RECIPE (its data is made first if need be); a stopped training goes on exactly."""
    from lisdata.cli.pipelines import run_recipe

    run_recipe(recipe, to, changes, workers=workers, dry_run=False, steps=("data", "train"), models=models)


@main.command(epilog=example("lisdata evaluate pipelines/quickstart.toml --to out"))
@click.argument("recipe", type=RECIPE)
@_TO
@_SET
@device_option
def evaluate(recipe: Path, to: Path, changes: tuple[str, ...]) -> None:
    """Evaluate the trained models of RECIPE: a table on stdout, JSON and a plot in the folder."""
    from lisdata.cli.pipelines import run_recipe

    run_recipe(recipe, to, changes, workers=1, dry_run=False, steps=("evaluate",))


main.add_command(align)
main.add_command(archive)
main.add_command(audit)
main.add_command(benchmark)
benchmark.add_command(attention)
main.add_command(copy)
main.add_command(finish)
main.add_command(freeze_tags)
main.add_command(generate)
main.add_command(hexatag)
main.add_command(import_tokens)
main.add_command(regroup)
for command in (split, sample, filter_, dedup, reshard):
    main.add_command(command)
main.add_command(reproduce)
main.add_command(run_report)
main.add_command(shuffle_report)
main.add_command(tagger)
main.add_command(tokenizer)
main.add_command(vocabulary)
