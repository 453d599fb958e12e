"""The data of SiPE's experiments in small: three books, two paradigms of BLiMP, one suite of SyntaxGym."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from lisdata.encoding import load_tokenizer
from lisdata.evaluation.own_tokenizer import check_own_tokenizer

RULE = "python:rule_parser:parse"
SENTENCES = ["the cat sees a dog.", "dogs bark.", "no one ever sees the cats.", "a dog that barks sees us."]
BOOKS = ("emma", "middlemarch", "moby_dick_or_the_whale")


def write_sipe_data(folder: Path) -> Path:
    """Write the files and return the folder."""
    write_books(folder / "books")
    write_paradigms(folder / "blimp")
    write_suite(folder / "syntaxgym" / "suites")
    return folder


def write_books(folder: Path) -> None:
    folder.mkdir(parents=True)
    for number, name in enumerate(BOOKS):
        lines = [" ".join(SENTENCES[(at + number) % 4 :]) for at in range(40 if name == "emma" else 8)]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_paradigms(folder: Path, names: tuple[str, ...] = ("agreement", "licensing")) -> None:
    folder.mkdir(parents=True)
    for name in names:
        pairs = [
            {
                "sentence_good": f"the {noun} sees a dog.",
                "sentence_bad": f"the {noun} see a dog.",
                "field": "syntax",
                "linguistics_term": name,
                "UID": name,
                "pairID": str(number),
            }
            for number, noun in enumerate(("cat", "dog", "one"))
        ]
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, pairs)).encode()))


def write_suite(folder: Path) -> None:
    folder.mkdir(parents=True)
    conditions = [
        {
            "condition_name": name,
            "regions": [{"region_number": 1, "content": "the cat"}, {"region_number": 2, "content": verb}],
        }
        for name, verb in (("match", "sees"), ("mismatch", "see"))
    ]
    suite = {
        "meta": {"name": "number_tiny", "metric": "sum"},
        "predictions": [{"type": "formula", "formula": "(2;%match%) < (2;%mismatch%)"}],
        "items": [{"item_number": 1, "conditions": conditions}],
    }
    (folder / "number_tiny.json").write_text(json.dumps(suite), encoding="utf-8")


def check_models_know_their_tokenizer(folder: Path) -> None:
    """Assert that every model that an experiment has trained in `folder` takes the learned tokenizer for its own."""
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    models = [path.parent for path in sorted((folder / "models").rglob("checkpoints"))]
    assert models
    for model in models:
        assert check_own_tokenizer(model / "checkpoints", tokenizer, folder / "tokenizer.json"), model
