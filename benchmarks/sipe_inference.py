"""What reading with hexatags costs where a text is there as a whole: each stage in ms a token, beside the base model.

    python benchmarks/sipe_inference.py --tokenizer tokenizer.json --text book.txt
    python benchmarks/sipe_inference.py --tokenizer tokenizer.json --text book.txt --layers 16 --width 1024

Stages: the parse (or tags) of the sentences by each parser, the tokens, the tags on their tokens, the model without
tags and under each injection, of random weights. `--paper-tagger` also times an encoder of the size of the paper's
parser, DeBERTa-v3-base, 184 M weights, on the same tokens. The text is a line a paragraph; rows are single paragraphs
cut to --length tokens, --batch at once. Seconds are CPU time of one thread, the least of --repeats.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lisdata.encoding import Tokenizer, load_tokenizer
from lisdata.evaluation.sentence_rows import SentenceRows, iter_batches, pad_rows
from lisdata.evaluation.sentence_scores import Int64
from lisdata.evaluation.tag_cache import tag_texts
from lisdata.models import build_model
from lisdata.training.batches import Batch
from lisdata.training.loss import model_columns

INJECTIONS = {
    "sipe-transformer-xl": ("none", "input", "disentangled", "position", "attention"),
    "sipe-roberta": ("none", "input", "attention"),
    "sipe-deberta": ("none", "input", "position"),
    "sipe-modernbert": ("none", "input", "position"),
}
PAPER_TAGGER = {"width": 768, "num_layers": 12, "num_attention_heads": 12, "predicts_tags": True, "mask_id": 0}


def main() -> None:
    """Print a table and, as the last line, the same as JSON."""
    arguments = parse_arguments()
    torch.set_num_threads(1)
    tokenizer = load_tokenizer(arguments.tokenizer)
    texts = read_texts(arguments, tokenizer)
    stages = measure(arguments, tokenizer, texts)
    print_table(stages)
    settings = {name: str(value) for name, value in vars(arguments).items()}
    print(json.dumps({"settings": settings, "torch": torch.__version__, "stages": stages}))


def parse_arguments() -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--tokens", type=int, default=8192, help="About how many tokens to read.")
    parser.add_argument("--model", default="sipe-transformer-xl", choices=list(INJECTIONS))
    parser.add_argument("--parsers", nargs="+", default=["tagger"])
    for name, default in {"layers": 4, "width": 256, "heads": 8, "length": 256, "batch": 16, "repeats": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--paper-tagger", action="store_true")
    parser.add_argument("--paper-tokens", type=int, default=1024, help="Of these, how many for --paper-tagger.")
    return parser.parse_args()


def read_texts(arguments: argparse.Namespace, tokenizer: Tokenizer) -> list[str]:
    """Return paragraphs of the text, each cut to a row's tokens, until there are tokens enough."""
    texts: list[str] = []
    num_tokens = 0
    for line in arguments.text.read_text(encoding="utf-8").splitlines():
        ids = tokenizer.encode_batch([line]).ids.tolist()[: arguments.length - 2]
        if ids:
            texts.append(tokenizer.decode(ids))
            num_tokens += len(ids)
        if num_tokens >= arguments.tokens:
            return texts
    raise SystemExit(f"{arguments.text}: expected {arguments.tokens} tokens, found {num_tokens}")


def measure(arguments: argparse.Namespace, tokenizer: Tokenizer, texts: Sequence[str]) -> dict[str, Any]:
    """Return ms a token of each stage, tokens that stand around a text included."""
    rows = SentenceRows(tokenizer, start=None, end=None)
    tags = tag_texts(texts, arguments.parsers[0])
    tagged = [row.values for row in rows.make(texts, tags)]
    num_tokens = sum(row.shape[1] for row in tagged)

    def cost(stage: Callable[[], object]) -> float:
        return 1e3 * least_seconds(stage, arguments.repeats) / num_tokens

    tokens_alone = cost(lambda: rows.make(texts, None))
    found = {f"parser {name}": cost(lambda name=name: tag_texts(texts, name)) for name in arguments.parsers}
    found |= {"tokens": tokens_alone, "tags on tokens": cost(lambda: rows.make(texts, tags)) - tokens_alone}
    batches = make_batches(tagged, arguments)
    for name in INJECTIONS[arguments.model]:
        model = build(arguments, tokenizer, injection=name)
        found[f"model {name}"] = cost(lambda model=model: read(model, batches))
    if arguments.paper_tagger:
        some, size = first_rows(tagged, arguments.paper_tokens)
        tagger = build_model("sipe-deberta", seed=0, vocabulary_size=tokenizer.vocab_size, **PAPER_TAGGER).eval()
        seconds = least_seconds(lambda: read(tagger, make_batches(some, arguments)), 1)
        found["parser of the paper's size (DeBERTa-base)"] = 1e3 * seconds / size
    return {"tokens": num_tokens, "texts": len(texts), "ms a token": found}


def build(arguments: argparse.Namespace, tokenizer: Tokenizer, *, injection: str) -> nn.Module:
    """Return a model with random weights, in evaluation."""
    settings = {"width": arguments.width, "num_layers": arguments.layers, "num_attention_heads": arguments.heads}
    if arguments.model != "sipe-transformer-xl":
        settings["mask_id"] = 0
    size = tokenizer.vocab_size
    return build_model(arguments.model, seed=0, vocabulary_size=size, injection=injection, **settings).eval()


def make_batches(rows: Sequence[Int64], arguments: argparse.Namespace) -> list[Batch]:
    """Return rows of like length together, as many as fill a batch."""
    lengths = [row.shape[1] for row in rows]
    return [pad_rows([rows[n] for n in chosen]) for chosen in iter_batches(lengths, arguments.batch * arguments.length)]


def first_rows(rows: Sequence[Int64], num_tokens: int) -> tuple[list[Int64], int]:
    """Return the first rows with so many tokens at least, and how many they have."""
    chosen: list[Int64] = []
    for row in rows:
        if sum(one.shape[1] for one in chosen) >= num_tokens:
            break
        chosen.append(row)
    return chosen, sum(one.shape[1] for one in chosen)


def read(model: nn.Module, batches: Sequence[Batch]) -> None:
    """Compute the logits of all batches."""
    with torch.no_grad():
        for batch in batches:
            model(**model_columns(model, batch))


def least_seconds(stage: Callable[[], object], repeats: int) -> float:
    """Return the least CPU time of the stage, after it was done once."""
    stage()
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        stage()
        seconds.append(time.process_time() - began)
    return min(seconds)


def print_table(stages: dict[str, Any]) -> None:
    """Print each stage, and what a model with its parser takes beside the base model."""
    costs: dict[str, float] = stages["ms a token"]
    base = costs["model none"]
    print(f"{stages['tokens']:,} tokens of {stages['texts']} texts")
    print(f"{'stage':<64}{'ms a token':>12}{'beside the base':>17}")
    for name, cost in costs.items():
        print(f"{name:<64}{cost:>12.4f}{100 * cost / base:>16.1f}%")
    for parser in (name for name in costs if name.startswith("parser")):
        for model in (name for name in costs if name.startswith("model") and name != "model none"):
            total = costs[parser] + costs["tags on tokens"] + costs[model]
            print(f"{f'{parser} + {model}':<64}{total:>12.4f}{100 * total / base:>16.1f}%")


if __name__ == "__main__":
    main()
