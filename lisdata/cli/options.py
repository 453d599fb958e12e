"""Click options made from settings dataclasses, so that the command line says what the library says."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource

from lisdata.cli.terminal import say, tell_compilation
from lisdata.errors import BadRecordError, LisDataError, PlanError
from lisdata.models.devices import AUTO, on_device
from lisdata.printable import one_line, print_uncaught, printable_streams
from lisdata.storage import is_url, local_folder

INTERRUPTED = 130
STORES = ("adlfs", "aiohttp", "azure", "botocore", "gcsfs", "google")
"""Libraries of remote storage, whose errors (no credentials, no such host) are not all OSError."""


WHOLE_SENTENCE_TAGS = ("full", "eos-bit", "terminal-only", "nonterminal-only", "shuffled", "none")
"""Which tags of the parse of a whole sentence a model may see, as the benchmarks offer them."""
PREFIX_TAGS = ("prefix", "prefix-moved", "frozen")
"""The ways to make tags of parses of what was read, which are told of in `lisdata.evaluation.prefix_rows`."""


AddOption = Callable[[Callable[..., None]], Callable[..., None]]


class ResumingCommand(click.Command):
    """A command that goes on where it was when it was stopped; `bad_record_advice` says how, past a bad record."""

    bad_record_advice = ""


class CleanGroup(click.Group):
    """A group whose commands end with 1 on wrong data, 2 on wrong usage, 130 on Ctrl-C, each with one clear line."""

    kind = "command"  # what its members are called

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command; in lists of commands it shows the first clause of its help, whole."""
        if cmd.short_help is None:
            cmd.short_help = _first_clause(cmd.help or "")
        super().add_command(cmd, name)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program; nothing that it prints, messages of click and tracebacks too, can command a terminal."""
        sys.excepthook = print_uncaught
        tell_compilation()
        with printable_streams():
            return super().main(*args, **kwargs)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called; an unknown name fails with one like it and all that there are."""
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            ctx.fail(_describe_unknown(args[0], self.list_commands(ctx), self.kind, self.find_similar(ctx, args[0])))
        return super().resolve_command(ctx, args)

    def find_similar(self, ctx: click.Context, name: str) -> Sequence[str]:
        """Return the commands that someone who wrote `name` may mean."""
        return get_close_matches(name, self.list_commands(ctx), n=1)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, turning the library's errors into exit codes."""
        try:
            return super().invoke(ctx)
        except LisDataError as error:
            command = self._called(ctx).command
            options = {name for parameter in command.params for name in parameter.opts}
            say(f"Error: {error.describe(options) if isinstance(error, PlanError) else error}", err=True)
            advice = getattr(command, "bad_record_advice", "")
            if advice and isinstance(error, BadRecordError) and not error.is_all:
                say(advice, err=True)
            ctx.exit(1)
        except BrokenPipeError:
            raise
        except (ValueError, OSError) as error:
            if type(error) is ValueError:  # a caller's wrong argument; its children (UnicodeError ...) are wrong data
                raise click.UsageError(one_line(str(error)), self._called(ctx)) from error
            say(f"Error: {error}", err=True)
            ctx.exit(1)
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in STORES:
                raise
            say(f"Error: {type(error).__name__}: {error}", err=True)
            ctx.exit(1)
        except KeyboardInterrupt as error:
            does_resume = isinstance(self._called(ctx).command, ResumingCommand)
            kept = "what is done is kept; the same command goes on from there"
            said = str(error) or (kept if does_resume else "the same command begins anew")
            say(f"Interrupted: {said}.", err=True)
            ctx.exit(INTERRUPTED)

    def _called(self, ctx: click.Context) -> click.Context:
        """Return the context of the command that was called, for its usage line; the group's own where none was."""
        name = ctx.invoked_subcommand
        command = None if name is None else self.get_command(ctx, name)
        return ctx if command is None else click.Context(command, info_name=name, parent=ctx)


def _first_clause(text: str) -> str:
    """Return what stands before the first mark, without what is in parentheses."""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"[,:;.](?:\s|$)", re.sub(r" \([^)]*\)", "", paragraph), maxsplit=1)[0]


def _describe_unknown(name: str, known: list[str], kind: str, similar: Sequence[str]) -> str:
    guess = f"; did you mean {' or '.join(similar)}?" if similar else "."
    return f"No such {kind} {name!r}{guess} {kind.capitalize()}s: {', '.join(known)}."


class DatasetFolder(click.Path):
    """The folder of a dataset, or its URL: a `Path`, the URL's that of its copy in the cache."""

    def __init__(self, *, fetches: bool = True) -> None:
        super().__init__(exists=True, file_okay=False, path_type=Path)
        self._fetches = fetches

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the folder as a Path, fetched if need be; a URL as it is where the command fetches it itself."""
        if is_url(value):
            return local_folder(value) if self._fetches else value
        return super().convert(value, param, ctx)


def options_of(settings: type[Any]) -> list[click.Option]:
    """Return one option a field of a settings dataclass; help and choices come from its metadata and type."""
    hints = get_type_hints(settings)
    return [_option(f, hints[f.name]) for f in fields(settings)]


def _option(field: Field[Any], hint: Any) -> click.Option:
    name = "--" + field.name.replace("_", "-")
    default = field.default if field.default is not MISSING else None
    if field.default_factory is not MISSING:
        default = field.default_factory()
    text = field.metadata.get("help", "")
    inner, optional = _without_none(hint)
    if inner is bool:
        return click.Option([f"{name}/--no-{name[2:]}"], default=default, help=text, show_default=True)
    if get_origin(inner) is tuple:
        kind = get_args(inner)[0]
        end = "." if text.endswith(".") else ""
        text = f"{text.removesuffix('.')}; may be given several times{end}"
        return click.Option([name], multiple=True, default=default, type=kind, help=text, show_default=True)
    kind = click.Choice([str(v) for v in get_args(inner)]) if get_origin(inner) is Literal else inner
    if field.metadata.get("is_path"):
        kind = click.Path(exists=True, dir_okay=False)
    required = field.default is MISSING and field.default_factory is MISSING
    return click.Option(
        [name], default=default, type=kind, help=text, show_default=not optional and default != "", required=required
    )


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, types.UnionType):
        inner = [a for a in get_args(hint) if a is not type(None)]
        if len(inner) == 1:
            return inner[0], True
    return hint, False


def device_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--device`: the models of the command lie there until it ends."""
    return click.option(
        "--device",
        metavar="auto|cpu|cuda[:N]",
        default=AUTO,
        show_default=True,
        envvar="LISDATA_DEVICE",
        show_envvar=True,
        expose_value=False,
        callback=_enter_device,
        help="Where models are computed; auto: the first GPU that torch can use, else the CPU.",
    )(command)


def _enter_device(context: click.Context, _option: click.Parameter, name: str) -> None:
    if not context.resilient_parsing:
        context.with_resource(on_device(name))


def tags_option(help_text: str, choices: Sequence[str] = WHOLE_SENTENCE_TAGS) -> AddOption:
    """Return the option --tags of what measures models, the parameter `regime`."""
    return click.option(
        "--tags", "regime", type=click.Choice(choices), default="full", show_default=True, help=help_text
    )


def is_given(name: str) -> bool:
    """Tell whether a parameter of the running command was given, rather than left at its default."""
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def example(text: str) -> str:
    """Return the last block of a help page: a line that can be copied and run."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in text.strip().splitlines())
