"""Hexatags of texts by any parser, each text parsed once: kept in memory and, if a file is named, there too.

The file holds JSON lines, the first naming the parser and its versions; then, a line a text,

    {"text": "...", "begin": [0], "end": [3], "terminal": [1], "nonterminal": [0], "num_lifted": 0}

and "deprels" where dependency relations were asked for: of two lines for a text the last counts.
It grows under a lock, so processes may share it; a last line cut by a kill is overwritten.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson

from lisdata.errors import SchemaError, TreeError
from lisdata.evaluation.sentence_scores import TextTags
from lisdata.hexatag import TreeFault, describe_fault, tag_trees
from lisdata.parsers import load_parser, pin_parser
from lisdata.parsers.loading import parse_flat

FORMAT = "lisdata tag cache 1"

_EXCERPT = 60


def tag_texts(texts: Sequence[str], parser: str, *, with_deprels: bool = False) -> list[TextTags]:
    """Return the hexatags of each text, of all its sentences, by the parser of that name; crossing arcs are lifted.

    `with_deprels` they come with the dependency relations that the parser gave.
    Raises ParserError for a parser that cannot be loaded or does not do its part, TreeError for what is no tree.
    """
    if not texts:
        return []
    flat = parse_flat(texts, load_parser(parser), parser, lambda number: f"texts[{number}]")
    tagged = tag_trees(flat.head, flat.offsets, lift=True)
    faults = np.flatnonzero(tagged.fault != TreeFault.NONE)
    if len(faults):
        sentence = int(faults[0])
        fault = TreeFault(tagged.fault[sentence])
        heads = flat.heads_in(*flat.offsets[sentence : sentence + 2].tolist())
        excerpt = texts[flat.text[sentence]][:_EXCERPT]
        raise TreeError(f"parser {parser}: a sentence of {excerpt!r}: {describe_fault(fault, heads)}")
    spans = np.stack([flat.begin, flat.end], 1)
    bounds = np.searchsorted(flat.text, np.arange(len(texts) + 1))  # of sentences: the first of each text
    found = []
    for first, last in pairwise(bounds.tolist()):
        words = slice(flat.offsets[first], flat.offsets[last])
        tags = TextTags(
            spans=spans[words],
            terminal=tagged.terminal[words],
            nonterminal=tagged.nonterminal[words],
            num_lifted=int(tagged.lifted[first:last].sum()),
            deprels=tuple(flat.deprels[row] for row in flat.deprel[words].tolist()) if with_deprels else None,
        )
        found.append(tags)
    return found


class TagCache:
    """Gives the hexatags of texts (it is a `TagTexts`), and asks `parser` only for those it does not know.

    `with_deprels` those count as unknown that were asked for without. Raises SchemaError for a file of another parser
    or version, naming both, or one that is damaged, naming the line.
    """

    def __init__(self, parser: str, path: Path | None = None, *, with_deprels: bool = False) -> None:
        self.parser, self.pinned, self.path = parser, pin_parser(parser), path
        self.with_deprels = with_deprels
        self._known: dict[str, TextTags] = {}
        if path is not None and path.exists():
            with _locked(path) as file:
                self._read(file, path)

    def __call__(self, texts: Sequence[str]) -> list[TextTags]:
        """Return the tags of each text."""
        unknown = list(dict.fromkeys(text for text in texts if not self._is_known(text)))
        if unknown:
            tagged = tag_texts(unknown, self.parser, with_deprels=self.with_deprels)
            self._known.update(zip(unknown, tagged, strict=True))
            if self.path is not None:
                self._append(self.path, unknown, tagged)
        return [self._known[text] for text in texts]

    def _is_known(self, text: str) -> bool:
        found = self._known.get(text)
        return found is not None and (found.deprels is not None or not self.with_deprels)

    def _read(self, file: BinaryIO, path: Path) -> None:
        lines = file.read().split(b"\n")[:-1]  # what follows the last newline was cut
        for number, line in enumerate(lines, 1):
            try:
                body = orjson.loads(line)
                if number == 1:
                    self._check_header(body, path)
                else:
                    self._known[body["text"]] = _from_json(body)
            except (ValueError, TypeError, KeyError, OverflowError) as error:
                raise SchemaError(f"{path}:{number}: expected a text with its tags, found {line[:80]!r}") from error

    def _check_header(self, body: object, path: Path) -> None:
        expected = {"format": FORMAT, "parser": self.pinned}
        if body != expected:
            raise SchemaError(f"{path}: expected {expected}, found {body}; name another file")

    def _append(self, path: Path, texts: Sequence[str], tagged: Sequence[TextTags]) -> None:
        lines = [orjson.dumps(_to_json(text, tags)) + b"\n" for text, tags in zip(texts, tagged, strict=True)]
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path) as file:
            whole = file.read().rfind(b"\n") + 1
            file.truncate(whole)
            if whole == 0:
                lines.insert(0, orjson.dumps({"format": FORMAT, "parser": self.pinned}) + b"\n")
            file.write(b"".join(lines))


@contextmanager
def _locked(path: Path) -> Iterator[BinaryIO]:
    """Open a file at its begin, to read and to append, while no other process has it."""
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        yield file


def _to_json(text: str, tags: TextTags) -> dict[str, object]:
    begin, end = tags.spans.T.tolist()
    return {
        "text": text,
        "begin": begin,
        "end": end,
        "terminal": tags.terminal.tolist(),
        "nonterminal": tags.nonterminal.tolist(),
        "num_lifted": tags.num_lifted,
        **({} if tags.deprels is None else {"deprels": tags.deprels}),
    }


def _from_json(body: dict[str, Any]) -> TextTags:
    return TextTags(
        spans=np.array([body["begin"], body["end"]], np.int64).T,
        terminal=np.array(body["terminal"], np.int8),
        nonterminal=np.array(body["nonterminal"], np.int8),
        num_lifted=int(body["num_lifted"]),
        deprels=tuple(map(str, body["deprels"])) if "deprels" in body else None,
    )
