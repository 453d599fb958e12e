"""`lisdata tokenizer train` and `lisdata freeze-tags`: what they print, wrong usage, help that loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from lisdata.cli.commands import main
from lisdata.token_shards import TokenDataset

RULE = "python:rule_parser:parse"


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_text_becomes_a_tokenizer_and_tokens_with_frozen_tags(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("the cat sleeps here. it purrs.\n" * 3, encoding="utf-8")
    tokenizer, tokens, frozen = tmp_path / "t.json", tmp_path / "text.tok", tmp_path / "frozen.tok"

    results = [
        invoke("tokenizer", "train", tmp_path / "text.txt", "--to", tokenizer, "--vocabulary-size", "270"),
        invoke("hexatag", tmp_path / "text.txt", "--to", tmp_path / "text.lis", "--parser", RULE),
        invoke("encode", tmp_path / "text.lis", "--to", tokens, "--tokenizer", tokenizer, "--special-tokens"),
        invoke("freeze-tags", tokens, "--to", frozen, "--parser", RULE),
    ]

    assert [result.exit_code for result in results] == [0] * 4, [result.output for result in results]
    assert "t.json: 270 tokens" in results[0].stdout
    assert "frozen.tok: 6 rows" in results[3].stdout
    assert len(TokenDataset(frozen)) == len(TokenDataset(tokens)) == 6


def test_wrong_usage_ends_with_2(tmp_path: Path) -> None:
    small = invoke("tokenizer", "train", tmp_path, "--to", tmp_path / "t.json", "--vocabulary-size", "9")
    (tmp_path / "text.txt").write_text("a\n", encoding="utf-8")

    assert small.exit_code == 2
    assert "vocabulary_size of at least 260, got 9" in small.stderr
    assert invoke("freeze-tags", tmp_path / "none", "--to", tmp_path / "x", "--parser", RULE).exit_code == 2


def test_their_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from lisdata.cli.commands import main\n"
        "for command in (['tokenizer', 'train'], ['freeze-tags']):\n"
        "    assert CliRunner().invoke(main, [*command, '--help']).exit_code == 0\n"
        "sys.exit('torch' in sys.modules or 'tokenizers' in sys.modules or 'pyarrow' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
