"""Click options made from settings dataclasses, so that the command line says what the library says."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import click

from lisdata.errors import LisDataError

INTERRUPTED = 130


class CleanGroup(click.Group):
    """A group whose commands end with 1 on wrong data, 2 on wrong usage, 130 on Ctrl-C, each with one clear line."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, turning the library's errors into exit codes."""
        try:
            return super().invoke(ctx)
        except LisDataError as error:
            click.echo(f"Error: {error}", err=True)
            ctx.exit(1)
        except BrokenPipeError:
            raise
        except (ValueError, OSError) as error:
            if type(error) is ValueError:  # a caller's wrong argument; its children (UnicodeError ...) are wrong data
                raise click.UsageError(str(error), ctx) from error
            click.echo(f"Error: {error}", err=True)
            ctx.exit(1)
        except KeyboardInterrupt:
            click.echo("Interrupted: what is done is kept; the same command goes on from there.", err=True)
            ctx.exit(INTERRUPTED)


def options_of(settings: type[Any], *, leave_out: tuple[str, ...] = ()) -> list[click.Option]:
    """Return one option a field of a settings dataclass; help and choices come from its metadata and type."""
    hints = get_type_hints(settings)
    return [_option(f, hints[f.name]) for f in fields(settings) if f.name not in leave_out]


def add_options(settings: type[Any], *, leave_out: tuple[str, ...] = ()) -> Callable[[Any], Any]:
    """Return a decorator that adds `options_of(settings)` to a command function."""

    def decorate(function: Any) -> Any:
        params = getattr(function, "__click_params__", [])
        function.__click_params__ = [*reversed(options_of(settings, leave_out=leave_out)), *params]
        return function

    return decorate


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
        return click.Option([name], multiple=True, default=default, type=kind, help=text, show_default=True)
    kind = click.Choice([str(v) for v in get_args(inner)]) if get_origin(inner) is Literal else inner
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


def example(text: str) -> str:
    """Return the last block of a help page: a line that can be copied and run."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in text.strip().splitlines())
