"""Generation under hexatags: how likely a text is under each way to have them, and how fast text comes.

    python benchmarks/sipe_generation.py speed --tokenizer tokenizer.json --text book.txt
    python benchmarks/sipe_generation.py nll --corpus out/sipe --model none=FOLDER --model parsed=FOLDER

`nll` reads sentences token by token and adds up what a model says of each next token, where the tags of a step are a
function of the tokens before it; beside them are the tags of the whole sentence's parse, which tell of words to come.
The sentences are those held out in an experiment's folder, such as `lisdata reproduce sipe-table-2` makes. A model is
the folder of a training, named by how it was trained: "none" without tags, "parsed" with those of whole parses,
"frozen" with frozen ones. `speed` reads a text up to each length and times the tokens after it, by a model with random
weights; seconds are CPU time, so that other programs sway them little.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lisdata.checkpoints import latest, load_model
from lisdata.encoding import Tokenizer, load_tokenizer
from lisdata.evaluation.sentence_rows import SentenceRow, SentenceRows
from lisdata.evaluation.sentence_scores import TagTexts
from lisdata.evaluation.tag_cache import tag_texts
from lisdata.generation.growing_text import GrowingText
from lisdata.generation.prefix_tags import PrefixTagger
from lisdata.generation.sessions import TransformerXlSession
from lisdata.generation.tag_sources import NoTags, ParserTags, SelfTags, TagSource
from lisdata.metrics import NllSum
from lisdata.models import build_model
from lisdata.models.transformer_xl import TransformerXl
from lisdata.reproduce.sipe_corpus import SipeFolders, choose_sentences

Maker = Callable[[], TagSource]


def main() -> None:
    """Print a table and, as the last line, the same as JSON."""
    arguments = parse_arguments()
    torch.set_num_threads(1)
    tokenizer = load_tokenizer(arguments.tokenizer or SipeFolders(root=arguments.corpus).tokenizer)
    rows = (measure_speed if arguments.command == "speed" else measure_nll)(arguments, tokenizer)
    print_table(rows)
    settings = {name: str(value) for name, value in vars(arguments).items()}
    print(json.dumps({"settings": settings, "torch": torch.__version__, "rows": rows}))


def parse_arguments() -> argparse.Namespace:
    """Return the settings of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["speed", "nll"])
    parser.add_argument("--tokenizer", type=Path, help="By default the corpus's.")
    parser.add_argument("--text", type=Path)
    parser.add_argument("--skip", type=int, default=20_000, help="Characters of the text to leave out at its begin.")
    parser.add_argument("--parser", default="tagger")
    parser.add_argument("--lengths", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--tokens", type=int, default=32, help="Tokens to time after each length.")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--model", action="append", default=[], metavar="none|parsed|frozen=FOLDER")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--sentences", type=int, default=100)
    return parser.parse_args()


def read_ids(arguments: argparse.Namespace, tokenizer: Tokenizer, num_tokens: int) -> list[int]:
    """Return the first tokens of the text, its paragraphs a blank line apart."""
    text = "\n\n".join(arguments.text.read_text()[arguments.skip :].splitlines())
    ids: list[int] = tokenizer.encode_batch([text[: 8 * num_tokens]]).ids.tolist()
    return ids[:num_tokens]


# -- how fast ----------------------------------------------------------------------------------------------------------


def measure_speed(arguments: argparse.Namespace, tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Time each way at each length."""
    sizes = {"width": arguments.width, "num_layers": arguments.layers, "num_attention_heads": 8}
    model = build_model(
        "sipe-transformer-xl",
        seed=0,
        vocabulary_size=tokenizer.vocab_size,
        injection="position",
        predicts_tags=True,
        **sizes,
    ).eval()
    assert isinstance(model, TransformerXl)
    tag = partial(tag_texts, parser=arguments.parser)
    sources: dict[str, Maker] = {
        "no tags": NoTags,
        "(b) self": SelfTags,
        "(a) parser": partial(ParserTags, tag),
        "(a) parser, NT by head": partial(ParserTags, tag, newest="head"),
        "(a) parser, all sentences": partial(ParserTags, tag, num_sentences=None),
        "frozen parser": partial(ParserTags, tag, form="frozen"),
    }
    rows = []
    for length in arguments.lengths:
        ids = read_ids(arguments, tokenizer, length + arguments.tokens)
        for name, make in sources.items():
            rows.append({"way": name, "length": length, **time_session(model, tokenizer, make(), ids, length)})
            print(rows[-1], file=sys.stderr, flush=True)
        for is_tagged in (False, True):
            name = "full recomputation" + (" with parser" if is_tagged else "")
            seconds = time_recomputation(model, tokenizer, ids, length, tag if is_tagged else None)
            rows.append({"way": name, "length": length, **to_speed(seconds, len(ids) - length)})
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def time_session(
    model: TransformerXl, tokenizer: Tokenizer, source: TagSource, ids: list[int], length: int
) -> dict[str, Any]:
    """Return the speed of a session over the tokens after `length`, and how much of its cache it kept.

    What comes before is read without tags where a source would read it token by token: that makes no difference after.
    """
    first = NoTags() if source.needs_each_token else source
    session = TransformerXlSession(model, tokenizer, capacity=len(ids), source=first)
    session.read(ids[:length])
    session.source = source
    before = session.num_computed
    began = time.process_time()
    for token_id in ids[length:]:
        session.read([token_id])
    seconds = time.process_time() - began
    computed, num_tokens = session.num_computed - before, len(ids) - length
    total = sum(range(length + 1, len(ids) + 1))
    return to_speed(seconds, num_tokens) | {"computed": computed / num_tokens, "reuse": 1 - computed / total}


def time_recomputation(
    model: TransformerXl, tokenizer: Tokenizer, ids: list[int], length: int, tag: TagTexts | None
) -> float:
    """Return the CPU seconds of computing all tokens anew for each one after `length`, with `tag` their parse too."""
    session = TransformerXlSession(model, tokenizer, capacity=len(ids))
    session.read(ids)
    tags = torch.full((2, 1, len(ids)), -100)
    began = time.process_time()
    for end in range(length + 1, len(ids) + 1):
        if tag is not None:
            placed = PrefixTagger(tag, num_sentences=None).place(_cut(session.text, tokenizer, end))
            tags[:, 0, :end] = torch.from_numpy(placed.tags)
        with torch.no_grad():
            hidden = model.hidden_states(torch.tensor([ids[:end]]), *tags[..., :end], None)
            model.token_logits(hidden[:, -1])
    return time.process_time() - began


def _cut(text: GrowingText, tokenizer: Tokenizer, end: int) -> GrowingText:
    """Return the text of the first tokens."""
    cut = GrowingText(tokenizer)
    cut.ids, cut.begins, cut.ends = text.ids[:end], text.begins[:end], text.ends[:end]
    cut.text = text.text[: cut.ends[-1]]
    return cut


def to_speed(seconds: float, num_tokens: int) -> dict[str, float]:
    """Return the figures of a way's speed."""
    return {"tokens/s": num_tokens / seconds, "ms/token": 1e3 * seconds / num_tokens}


# -- how likely --------------------------------------------------------------------------------------------------------


def measure_nll(arguments: argparse.Namespace, tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Return the likelihood of the same sentences under each model and each way that suits it."""
    folders = SipeFolders(root=arguments.corpus)
    texts = choose_sentences(folders, "test", arguments.sentences, max(arguments.lengths))
    sentences = SentenceRows(tokenizer, start=None, end=None).make(texts, tag_texts(texts, arguments.parser))
    tag = partial(tag_texts, parser=arguments.parser)
    ways: dict[str, dict[str, Maker]] = {
        "none": {},
        "parsed": {
            "(b) self": SelfTags,
            "(a) parser": partial(ParserTags, tag),
            "(a) parser, at each token": partial(ParserTags, tag, retag="token"),
            "(a) parser, NT by head": partial(ParserTags, tag, newest="head"),
        },
        "frozen": {
            "(b) self": SelfTags,
            "frozen parser": partial(ParserTags, tag, form="frozen"),
            "(a) parser, moved": partial(ParserTags, tag, form="prefix-moved"),
        },
    }
    rows = []
    for name, folder in (given.split("=", 1) for given in arguments.model):
        checkpoint = latest(Path(folder) / "checkpoints")
        if checkpoint is None:
            raise SystemExit(f"{folder}: no checkpoints there")
        model = load_model(checkpoint)
        assert isinstance(model, TransformerXl)
        for way, make in {"no tags": NoTags, **ways[name]}.items():
            figures = score_sentences(model, tokenizer, make, [row.values[0].tolist() for row in sentences])
            rows.append({"model": name, "step": checkpoint.name, "way": way, **figures})
            print(rows[-1], file=sys.stderr, flush=True)
        if name == "parsed":
            nll = [score_with_whole_parse(model, row) for row in sentences]
            rows.append({"model": name, "step": checkpoint.name, "way": "whole parse (leaks)", **to_perplexity(nll)})
    return rows


def score_sentences(
    model: TransformerXl, tokenizer: Tokenizer, make: Maker, sentences: Sequence[list[int]]
) -> dict[str, Any]:
    """Return the likelihood of the sentences' tokens but the first, and what the source did."""
    found, num_computed, revisions = [], 0, dict[str, int]()
    for sentence in sentences:
        source = make()
        session = TransformerXlSession(model, tokenizer, capacity=len(sentence), source=source)
        nll = NllSum()
        for token_id, target in pairwise(sentence):
            logits: Tensor = session.read([token_id]).double()
            nll += NllSum(-float(logits.log_softmax(-1)[target]), 1)
        found.append(nll)
        num_computed += session.num_computed
        if isinstance(source, ParserTags):
            counts = source.counts.to_json()
            revisions = {name: revisions.get(name, 0) + count for name, count in counts.items()}
    num_read = sum(len(sentence) - 1 for sentence in sentences)
    total = sum(len(sentence) * (len(sentence) - 1) // 2 for sentence in sentences)
    figures = {"computed": num_computed / num_read, "reuse": 1 - num_computed / total}
    return to_perplexity(found) | figures | to_rates(revisions)


def score_with_whole_parse(model: TransformerXl, row: SentenceRow) -> NllSum:
    """Return the likelihood of a sentence under the tags of its whole parse."""
    values = torch.from_numpy(row.values)[:, None]
    with torch.no_grad():
        logits = model(*values)[0, :-1]
    nll = -logits.double().log_softmax(-1).gather(1, values[0, 0, 1:, None])
    return NllSum(float(nll.sum()), len(nll))


def to_perplexity(sums: Sequence[NllSum]) -> dict[str, Any]:
    """Return the mean over tokens, the standard error that follows from that of sentences, and the perplexity."""
    total = sum(sums, NllSum())
    sizes = np.array([nll.num_tokens for nll in sums])
    residuals = np.array([nll.mean for nll in sums]) * sizes - total.mean * sizes
    error = float(np.sqrt((residuals**2).sum()) / sizes.sum())
    return {"nll": total.mean, "error": error, "perplexity": float(np.exp(total.mean))}


def to_rates(counts: dict[str, int]) -> dict[str, float]:
    """Return how often a parser changed its mind."""
    if not counts or not counts["num_retags"]:
        return {}
    return {
        "retags that revise": counts["num_revising"] / counts["num_retags"],
        "words revised a retag": counts["num_revised"] / counts["num_retags"],
        "tokens back": counts["num_tokens_back"] / max(1, counts["num_revising"]),
    }


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows, a column for each figure that any of them has."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_show(row.get(name)) for name in names] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    for line in (names, *cells):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _show(value: object) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
