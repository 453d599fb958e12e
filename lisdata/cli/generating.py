"""`generate`: a trained model of a recipe goes on with a text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lisdata.cli.options import PREFIX_TAGS, device_option, example, is_given
from lisdata.cli.terminal import say

if TYPE_CHECKING:
    from lisdata.generation.recipes import GenerationRequest


@click.command(epilog=example('lisdata generate pipelines/sipe.toml --to out/sipe --prompt "The old man"'))
@click.argument("recipe", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--to", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder of the recipe's run."
)
@click.option(
    "--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change a key of the recipe, as it was run with."
)
@click.option("--prompt", required=True, help="The text to go on with.")
@click.option(
    "--fact",
    "facts",
    multiple=True,
    metavar="ROLE=TEXT",
    help="For a model that reads endpoints: a participant that stands before the prompt; may be given several times.",
)
@click.option("--role", help="For such a model: the prompt's role, and that of what follows; default: that of text.")
@click.option("--model", metavar="LABEL", help="Which model of the recipe, where it has several.")
@click.option(
    "--tokens", "max_tokens", type=click.IntRange(1), default=100, show_default=True, help="How many to draw."
)
@click.option("--temperature", type=click.FloatRange(0), default=1.0, show_default=True, help="0: the likeliest token.")
@click.option("--top-k", type=click.IntRange(1), help="Draw among the K likeliest tokens; default: all.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Decides the draws.")
@click.option(
    "--tags",
    metavar="self|none|parser:NAME",
    help="Where hexatags come from: the model's own heads, nowhere, or a parser as in lisdata hexatag, which reads the "
    "text anew at each word. Default: self for a model with tag heads that is given tags, else none.",
)
@click.option(
    "--form",
    type=click.Choice(PREFIX_TAGS),
    default="prefix",
    show_default=True,
    help="Parser's tags: as in training on whole sentences; or, for a model trained on frozen tags, each nonterminal "
    "moved to the word after, and there revised by later parses, or never.",
)
@click.option(
    "--newest",
    type=click.Choice(["withheld", "head"]),
    default="withheld",
    show_default=True,
    help="The newest word's nonterminal under prefix, which no parser knows yet: none, or the one the model predicts.",
)
@device_option
def generate(recipe: Path, to: Path, changes: tuple[str, ...], **settings: Any) -> None:
    """Go on with a text: print PROMPT and what a trained model of RECIPE puts behind it.

    Nothing is computed twice: keys and values are kept, as far as no hexatag before them changed.
    """
    from lisdata.generation.recipes import generate_by_recipe
    from lisdata.recipe import load_recipe

    request = _to_request(**settings)
    text, drawn = generate_by_recipe(load_recipe(recipe, changes), to, request)
    click.echo(request.prompt + text)
    say(f"{len(drawn.token_ids)} tokens, {drawn.tokens_per_second:,.1f} tokens/s", err=True)


def _to_request(
    tags: str | None,
    form: str,
    newest: Any,
    temperature: float,
    top_k: int | None,
    seed: int,
    facts: tuple[str, ...],
    **settings: Any,
) -> GenerationRequest:
    from lisdata.generation.recipes import GenerationRequest
    from lisdata.generation.sampling import Sampling
    from lisdata.generation.tag_choice import make_tag_source

    source = None if tags is None else make_tag_source(tags, form=form, newest=newest)
    idle = [f"--{name}" for name in ("form", "newest") if is_given(name)]
    if idle and not (tags or "").startswith("parser:"):
        raise click.UsageError(f"{' and '.join(idle)} is for tags of a parser: give --tags parser:NAME too")
    sampling = Sampling(temperature=temperature, top_k=top_k, seed=seed)
    pairs = tuple(map(_to_pair, facts))
    return GenerationRequest(sampling=sampling, tags=source, facts=pairs, **settings)


def _to_pair(fact: str) -> tuple[str, str]:
    role, equals, text = fact.partition("=")
    if not equals:
        raise click.UsageError(f"--fact {fact}: expected ROLE=TEXT")
    return role, text
