"""Token rows whose hexatags are those of an incremental parser that never revises: a function of what was read.

The tags of a whole sentence's parse tell of words to come. Here a word has those that it got when it was the newest, of
a parse of its sentence as far as the word's first token: the terminal, and the nonterminal of the node that joins it
to the words before (in SiPE's layout that of the word before, which the left shift has put there; EOS where there is
none). A model that is given them at each position predicts the next token from the tokens up to there alone.

Which tokens have tags is as in the rows that these are made from.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import lisdata
from lisdata.encoding.tokenizers import Tokenizer, load_tokenizer, template_ids
from lisdata.errors import SchemaError, TreeError
from lisdata.hexatag import TreeFault, tag_trees
from lisdata.hexatag.arrays import Int8, Int64
from lisdata.parsers import load_parser, pin_parser
from lisdata.parsers.loading import parse_flat
from lisdata.runs import Job, JsonDict, OnProgress, run_job
from lisdata.schema import DEPREL_COLUMN, UNTAGGED
from lisdata.shards.manifest import MANIFEST, TOKEN_FORMAT, file_entry
from lisdata.token_shards import TokenDataset
from lisdata.token_shards.segments import DOCUMENT
from lisdata.token_shards.writer import TokenShardWriter, token_manifest

EOS = 0
_ROWS_A_UNIT = 8192
_ROWS_AT_ONCE = 512
_PREFIXES_AT_ONCE = 8192
_NEEDED = ("input_ids", "terminal", "nonterminal")
_OF_PARTS = ("format", "schema", "num_rows", "num_tokens", "parts", "files")


def freeze_tags(
    tokens: str | Path,
    to: str | Path,
    parser: str,
    *,
    workers: int = 1,
    fresh: bool = False,
    on_progress: OnProgress | None = None,
) -> JsonDict:
    """Write the rows of a token dataset, one sentence each, with frozen tags by `parser`; return its manifest's body.

    A sentence is what its tokens spell. Where that is tokenised in another way (by a tokenizer whose `decode` is not
    the way back) the row has no tags, and is counted in the report as `rows respelled`. No word keeps a `deprel`.
    Raises SchemaError for rows without tags or of several structures.
    """
    source, target = TokenDataset(tokens), Path(to)
    missing = [name for name in _NEEDED if name not in source.columns]
    if missing or DOCUMENT in source.schema.names:
        what = f"no {', '.join(missing)}" if missing else "several structures in a row"
        raise SchemaError(f"{tokens}: expected rows of one sentence each with their hexatags, found {what}")
    bounds = [*range(0, len(source), _ROWS_A_UNIT), len(source)]
    beside = {name: e for name, e in source.manifest["files"].items() if "/" not in name and name != "plan.json"}
    weight = sum(entry["size"] for entry in source.manifest["files"].values()) // max(1, len(bounds) - 1)
    plan = {
        "format": TOKEN_FORMAT,
        "lisdata": lisdata.__version__,
        "tokens": file_entry(source.path / MANIFEST)["sha256"],
        "parser": pin_parser(parser),
        "units": [
            {"name": f"{number:05d}", "weight": weight, "rows": bounds[number : number + 2]}
            for number in range(max(1, len(bounds) - 1))
        ],
    }
    job = Job(
        directory=target,
        plan=plan,
        run_unit=partial(_write_part, source.path, parser),
        fold=partial(_fold, target, source.manifest),
        facts={"tokens": str(source.path), "workers": workers},
        sidecars={name: (source.path / name).read_bytes() for name in beside},
    )
    return run_job(job, workers=workers, fresh=fresh, on_progress=on_progress)


def _write_part(source: Path, parser: str, directory: Path, plan: JsonDict, unit: JsonDict) -> JsonDict:
    dataset = TokenDataset(source)
    tokenizer = load_tokenizer(directory / dataset.manifest["tokenizer"]["file"])
    around = template_ids(tokenizer) if dataset.manifest["config"]["special_tokens"] else (np.zeros(0, np.int64),) * 2
    num_respelled = 0
    with TokenShardWriter(directory, f"part-{unit['name']}", dataset.schema) as writer:
        first, last = unit["rows"]
        for begin in range(first, last, _ROWS_AT_ONCE):
            rows = range(begin, min(begin + _ROWS_AT_ONCE, last))
            batch = dataset.gather(rows)
            own = [_own_tokens(*pair, around) for pair in zip(batch.offsets[:-1], batch.offsets[1:], strict=True)]
            terminal, nonterminal, respelled = _freeze(batch.columns, own, tokenizer, parser)
            num_respelled += respelled
            ids = [dataset.record_id(row) for row in rows] if dataset.schema.has_record_id else None
            kind = batch.kind if dataset.schema.kind is None else None
            columns = batch.columns | {"terminal": terminal, "nonterminal": nonterminal}
            if DEPREL_COLUMN in columns:  # of the whole sentence's parse
                columns[DEPREL_COLUMN] = np.full_like(terminal, UNTAGGED)
            writer.append_batch(batch.offsets, columns, kind=kind, record_ids=ids)
        return {"unit": unit["name"], "rows respelled": num_respelled, **writer.close()}


def _own_tokens(begin: Any, end: Any, around: tuple[Int64, Int64]) -> slice:
    return slice(int(begin) + len(around[0]), max(int(end) - len(around[1]), int(begin) + len(around[0])))


def _freeze(
    columns: dict[str, npt.NDArray[Any]], rows: Sequence[slice], tokenizer: Tokenizer, parser: str
) -> tuple[Int64, Int64, int]:
    """Return the frozen tags of all tokens, and how many rows cannot be spelled again."""
    ids, is_tagged = columns["input_ids"], (columns["terminal"] >= 0) | (columns["nonterminal"] >= 0)
    terminal, nonterminal = (np.full(len(ids), UNTAGGED, np.int64) for _ in range(2))
    texts = [tokenizer.decode(ids[row].tolist()) for row in rows]
    pieces = tokenizer.encode_batch(texts)
    places: list[int] = []
    prefixes: list[str] = []
    num_respelled = 0
    for number, (row, text) in enumerate(zip(rows, texts, strict=True)):
        at = slice(*pieces.offsets[number : number + 2].tolist())
        if not np.array_equal(pieces.ids[at], ids[row]):
            num_respelled += 1
            continue
        tagged = np.flatnonzero(is_tagged[row])
        places += (tagged + row.start).tolist()
        prefixes += [text[:end] for end in prefix_ends(pieces.begin[at], pieces.end[at])[tagged].tolist()]
    terminal[places], nonterminal[places] = newest_tags(prefixes, parser)
    return terminal, nonterminal, num_respelled


def prefix_ends(begin: Int64, end: Int64) -> Int64:
    """Return where the text ends, in characters, of which tokens with these spans are the first 1, 2 ... that are read.

    A token that spells a part of a character, or white space that the tokenizer put before it, does not show it.
    """
    return np.minimum(end, np.append(begin[1:], end[-1:]))


def newest_tags(texts: Sequence[str], parser: str) -> tuple[Int8, Int8]:
    """Return for each text the terminal of its last word, and the nonterminal between that and the word before.

    Crossing arcs are lifted. A text without words has no tags. Raises TreeError where the parser gives no tree.
    """
    terminal, nonterminal = (np.full(len(texts), UNTAGGED, np.int8) for _ in range(2))
    for begin in range(0, len(texts), _PREFIXES_AT_ONCE):
        some = texts[begin : begin + _PREFIXES_AT_ONCE]
        flat = parse_flat(some, load_parser(parser), parser, lambda number: f"texts[{number}]")
        tagged = tag_trees(flat.head, flat.offsets, lift=True)
        if (tagged.fault != TreeFault.NONE).any():
            wrong = some[flat.text[int(np.argmax(tagged.fault != TreeFault.NONE))]]
            raise TreeError(f"parser {parser}: expected trees for {wrong[:60]!r}, found a sentence that has none")
        words = flat.offsets[np.searchsorted(flat.text, np.arange(len(some) + 1))]
        has_words = words[1:] > words[:-1]
        last, at = words[1:][has_words] - 1, begin + np.flatnonzero(has_words)
        terminal[at] = tagged.terminal[last]
        is_first = last == words[:-1][has_words]
        nonterminal[at] = np.where(is_first, EOS, tagged.nonterminal[np.maximum(last - 1, 0)])
    return terminal, nonterminal


def _fold(directory: Path, manifest: dict[str, Any], plan: JsonDict, commits: list[JsonDict]) -> JsonDict:
    """Return the new manifest's body: parts and files anew, all else as it was, and whose tags these are."""
    kept = {name: value for name, value in manifest.items() if name not in _OF_PARTS}
    num_respelled = sum(commit["rows respelled"] for commit in commits)
    frozen = {"tokens": plan["tokens"], "parser": plan["parser"], "rows respelled": num_respelled}
    return token_manifest(directory, commits, kept | {"lisdata": plan["lisdata"], "frozen_tags": frozen})
