"""Text to tagged sentences in memory, for people and small texts; a corpus goes through source parsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lisdata.errors import TreeError
from lisdata.hexatag import TreeFault, describe_fault, tag_trees
from lisdata.parsers.loading import parse
from lisdata.parsers.sentences import ParsedSentence, Parser


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedSentence:
    """A sentence of a text with its tree and hexatags: `words` are forms, `word_begins` and the like characters.

    `terminal` and `nonterminal` are ids of the hexatags of the tree, `num_lifted` arcs of it lifted first.
    """

    begin: int
    end: int
    words: tuple[str, ...]
    word_begins: tuple[int, ...]
    word_ends: tuple[int, ...]
    heads: tuple[int, ...]
    deprels: tuple[str, ...]
    terminal: tuple[int, ...]
    nonterminal: tuple[int, ...]
    num_lifted: int


def tag_text(
    text: str,
    parser: str | Parser = "spacy",
    *,
    non_projective: Literal["raise", "drop", "projectivize"] = "projectivize",
) -> list[TaggedSentence]:
    """Return the sentences of `text`, parsed and hexatagged.

    A sentence whose arcs cross raises, is left out, or gets the tags of the tree with arcs lifted. Raises ParserError
    for a parser that cannot be loaded or does not do its part, TreeError for what is no tree.
    """
    (sentences,) = parse([text], parser)
    heads = [head for sentence in sentences for head in sentence.heads]
    offsets = np.cumsum([0, *(len(sentence.heads) for sentence in sentences)])
    tagged = tag_trees(heads, offsets, lift=non_projective == "projectivize")
    found = []
    for number, sentence in enumerate(sentences):
        fault = TreeFault(tagged.fault[number])
        if fault == TreeFault.NON_PROJECTIVE and non_projective == "drop":
            continue
        rows = slice(offsets[number], offsets[number + 1])
        if fault != TreeFault.NONE:
            where = f"sentence {number + 1} ({text[sentence.begin : sentence.end][:40]!r})"
            raise TreeError(f"{where}: {describe_fault(fault, sentence.heads)}")
        tags = tagged.terminal[rows].tolist(), tagged.nonterminal[rows].tolist()
        found.append(_tagged(text, sentence, *tags, num_lifted=int(tagged.lifted[number])))
    return found


def _tagged(
    text: str, sentence: ParsedSentence, terminal: list[int], nonterminal: list[int], *, num_lifted: int
) -> TaggedSentence:
    return TaggedSentence(
        begin=sentence.begin,
        end=sentence.end,
        words=tuple(sentence.forms_in(text)),
        word_begins=tuple(sentence.word_begins),
        word_ends=tuple(sentence.word_ends),
        heads=tuple(sentence.heads),
        deprels=tuple(sentence.deprels),
        terminal=tuple(terminal),
        nonterminal=tuple(nonterminal),
        num_lifted=num_lifted,
    )
