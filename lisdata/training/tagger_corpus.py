"""Sentences with trees that a hexatagger learns from: treebanks, or text that another parser, its teacher, parses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.records import SentenceRecords
from lisdata.schema import NO_ROW, UNTAGGED
from lisdata.sources.conllu import CONLLU
from lisdata.sources.conllu_records import ConlluOptions
from lisdata.sources.parsed_text import PARSED, ParsedTextOptions

Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeCorpus:
    """M sentences, all with trees, of N words: `form` and `deprel` (N,) are rows of `forms` and `deprels`.

    Words of sentence m are rows offsets[m] : offsets[m + 1]. `head` is 1-based, 0 = root; `terminal` and `nonterminal`
    are the hexatags of the tree, of the lifted one where arcs cross.
    """

    forms: tuple[str, ...]
    form: Int64
    offsets: Int64
    head: Int32
    deprel: Int64
    deprels: tuple[str, ...]
    terminal: Int8
    nonterminal: Int8

    @property
    def num_words(self) -> int:
        """Words of all sentences."""
        return len(self.form)


def read_corpus(
    treebanks: Sequence[str], texts: Sequence[str], teacher: str | None, *, unit: str = "paragraph"
) -> TreeCorpus:
    """Return the trees of treebanks and those that a teacher gives to texts; raises ValueError where none are named."""
    if bool(texts) != (teacher is not None):
        raise ValueError("expected texts and the teacher that parses them, or neither")
    corpora = [read_treebanks(treebanks)] if treebanks else []
    if teacher is not None:
        corpora.append(parse_texts(texts, teacher, unit=unit))
    if not corpora:
        raise ValueError("expected treebanks, or texts with a teacher, got neither")
    return join_corpora(corpora)


def read_treebanks(paths: Sequence[str]) -> TreeCorpus:
    """Return the trees of CoNLL-U files (or folders, globs, URLs); raises BadRecordError where there is none."""
    files = find_inputs(list(paths), suffixes=CONLLU.suffixes)
    options = ConlluOptions(columns="heads")
    return join_records(records for file in files for records in CONLLU.read(InputSlice(file=file), options, _refuse))


def parse_texts(paths: Sequence[str], teacher: str, *, unit: str = "paragraph") -> TreeCorpus:
    """Return the trees that the parser called `teacher` gives to text files (or folders, globs, URLs)."""
    files = find_inputs(list(paths), suffixes=PARSED.suffixes)
    options = ParsedTextOptions(parser=teacher, unit=unit)  # type: ignore[arg-type]
    return join_records(records for file in files for records in PARSED.read(InputSlice(file=file), options, _refuse))


def join_corpora(corpora: Sequence[TreeCorpus]) -> TreeCorpus:
    """Return the sentences of some corpora as those of one."""
    form_of: dict[str, int] = {}
    deprel_of: dict[str, int] = {}
    forms, deprels, offsets, first = [], [], [np.zeros(1, np.int64)], 0
    for corpus in corpora:
        forms.append(_renumbered(corpus.form, corpus.forms, form_of))
        deprels.append(_renumbered(corpus.deprel, corpus.deprels, deprel_of))
        offsets.append(corpus.offsets[1:] + first)
        first += corpus.num_words
    return TreeCorpus(
        forms=tuple(form_of),
        form=np.concatenate(forms),
        offsets=np.concatenate(offsets),
        head=np.concatenate([corpus.head for corpus in corpora]),
        deprel=np.concatenate(deprels),
        deprels=tuple(deprel_of),
        terminal=np.concatenate([corpus.terminal for corpus in corpora]),
        nonterminal=np.concatenate([corpus.nonterminal for corpus in corpora]),
    )


def join_records(batches: Iterable[SentenceRecords]) -> TreeCorpus:
    """Return the sentences of some records that have trees and tags; at least one must."""
    corpora = [_corpus_of(records) for records in batches]
    if not any(corpus.num_words for corpus in corpora):
        raise ValueError("expected sentences with trees, found none")
    return join_corpora(corpora)


def _corpus_of(records: SentenceRecords) -> TreeCorpus:
    counts = np.diff(records.word_offsets)
    first = records.word_offsets[:-1][counts > 0]
    is_taken = counts > 0
    is_taken[is_taken] = records.terminal[first] != UNTAGGED
    words = np.repeat(is_taken, counts)
    forms = [lexical.decode() for lexical in records.contents.column("lexical").to_pylist()]
    labels = ["" if label is None else label for label in records.labels.column("label").to_pylist()]
    label = np.where(records.deprel_label == NO_ROW, len(labels), records.deprel_label)[words].astype(np.int64)
    return TreeCorpus(
        forms=tuple(forms),
        form=records.word_content[words].astype(np.int64),
        offsets=np.concatenate(([0], np.cumsum(counts[is_taken]))),
        head=records.head[words],
        deprel=label,
        deprels=(*labels, ""),
        terminal=records.terminal[words],
        nonterminal=records.nonterminal[words],
    )


def _renumbered(rows: Int64, names: Sequence[str], row_of: dict[str, int]) -> Int64:
    """Return rows of `row_of`, to which the names that are used are added."""
    used = np.unique(rows)
    numbers = np.zeros(len(names), np.int64)
    numbers[used] = [row_of.setdefault(names[row], len(row_of)) for row in used.tolist()]
    return numbers[rows]


def _refuse(error: BadRecordError) -> None:
    raise error
