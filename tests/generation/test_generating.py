"""A text goes on token by token until its end; the command goes on with a recipe's model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from torch import Tensor

from lisdata.cli import main
from lisdata.generation import Sampler, Sampling, draw_tokens
from lisdata.generation.tag_choice import make_tag_source
from lisdata.generation.tag_sources import NoTags, ParserTags, SelfTags
from lisdata.parsers import ParserError

GREEDY = Sampling(temperature=0)


class Counter:
    """Says that after n comes n + 1."""

    def __init__(self) -> None:
        self.seen: list[list[int]] = []

    def read(self, token_ids: Sequence[int]) -> Tensor:
        self.seen.append(list(token_ids))
        return torch.eye(10)[token_ids[-1] + 1]


def test_each_drawn_token_is_read_before_the_next_is_drawn() -> None:
    session = Counter()

    drawn = draw_tokens(session, [4, 1], Sampler(GREEDY), max_tokens=3)

    assert (drawn.token_ids, drawn.is_ended) == ((2, 3, 4), False)
    assert session.seen == [[4, 1], [2], [3]]
    assert drawn.seconds >= 0
    assert drawn.tokens_per_second > 0


@pytest.mark.parametrize(
    ("end", "expected"), [(3, ((2,), True)), (2, ((), True)), (4, ((2, 3), True)), (5, ((2, 3, 4), False))]
)
def test_a_text_ends_before_the_token_that_ends_it(end: int, expected: tuple[tuple[int, ...], bool]) -> None:
    drawn = draw_tokens(Counter(), [1], Sampler(GREEDY), max_tokens=3, end_ids={end})

    assert (drawn.token_ids, drawn.is_ended) == expected


def test_no_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="max_tokens=0"):
        draw_tokens(Counter(), [1], Sampler(GREEDY), max_tokens=0)


def test_sources_of_tags_have_names() -> None:
    assert isinstance(make_tag_source("none"), NoTags)
    assert isinstance(make_tag_source("self"), SelfTags)
    assert isinstance(make_tag_source("parser:python:rule_parser:parse"), ParserTags)
    for wrong in ("", "parser", "parser:", "tagger"):
        with pytest.raises(ValueError, match="expected tags of none, self or parser:NAME"):
            make_tag_source(wrong)
    with pytest.raises(ValueError, match=r"got 'spacy:de'; did you mean parser:spacy:de\?"):
        make_tag_source("spacy:de")
    with pytest.raises(ValueError, match="form='full' is none of"):
        make_tag_source("parser:python:rule_parser:parse", form="full")
    with pytest.raises(ParserError, match="no_such_module"):
        make_tag_source("parser:python:no_such_module:parse")


def lisdata(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def trained(root: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str | Path]:
    """The recipe and the folder of a decoder that was trained for two steps."""
    recipe, folder = root / "pipelines" / "sipe.toml", tmp_path_factory.mktemp("sipe")
    small = ["--set", "train.num_steps=2", "--set", "train.num_threads=1", "--set", "model.width=8"]
    done = lisdata("train", recipe, "--to", folder, *small)
    assert done.exit_code == 0, done.output
    return [recipe, "--to", folder, "--prompt", "The old man"]


@pytest.mark.parametrize(
    "tags", [[], ["--tags", "none"], ["--tags", "self"], ["--tags", "parser:python:rule_parser:parse"]]
)
def test_the_command_goes_on_with_a_prompt(trained: list[str | Path], tags: list[str]) -> None:
    options = ["--tokens", "5", "--top-k", "9", "--seed", "3", *tags]

    first, second = (lisdata("generate", *trained, *options) for _ in range(2))

    assert first.exit_code == 0, first.output
    assert first.stdout.startswith("The old man")
    assert len(first.stdout) > len("The old man\n")
    assert first.stdout == second.stdout
    assert "5 tokens, " in first.stderr


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--model", "other"], 1, "expected one of its models, sipe-transformer-xl, got other"),
        (["--tags", "nothing"], 2, "expected tags of none, self or parser:NAME"),
        (["--tags", "tagger", "--form", "frozen"], 2, "got 'tagger'; did you mean parser:tagger?"),
        (["--form", "frozen"], 2, "--form is for tags of a parser: give --tags parser:NAME too"),
        (["--newest", "head", "--tags", "self"], 2, "--newest is for tags of a parser"),
        (["--tags", "parser:python:none:none"], 1, "parser python:none:none"),
        (["--prompt", ""], 2, "a prompt of at least one token"),
        (["--newest", "head", "--form", "frozen", "--tags", "parser:tagger"], 2, "for the form prefix"),
    ],
)
def test_what_the_command_cannot_do_is_told(
    trained: list[str | Path], options: list[str], code: int, message: str
) -> None:
    done = lisdata("generate", *trained, *options)

    assert done.exit_code == code
    assert message in " ".join(done.stderr.split())


def test_a_model_that_is_not_trained_is_told(trained: list[str | Path], tmp_path: Path) -> None:
    recipe = trained[0]
    assert lisdata("run", recipe, "--to", tmp_path, "--set", "model=[]", "--set", "evaluate={}").exit_code == 0

    done = lisdata("generate", recipe, "--to", tmp_path, "--prompt", "a")

    assert done.exit_code == 1
    assert "sipe-transformer-xl is not trained yet" in done.stderr
