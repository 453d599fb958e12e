"""Words to trees by a tagger: the network over sentences of like length together, then the best valid tags of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import torch

from lisdata.hexatag import decode_batch, viterbi
from lisdata.tagger.features import hash_forms
from lisdata.tagger.network import NUM_NONTERMINALS, NUM_TERMINALS
from lisdata.torch_threads import one_thread

if TYPE_CHECKING:
    from lisdata.tagger.network import HexatagNetwork

Int8 = npt.NDArray[np.int8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

Precision = Literal["bf16", "fp32"]
PRECISIONS: tuple[Precision, ...] = ("bf16", "fp32")

BATCH_WORDS = 4096
MAX_DEPTH = 32
"""Of partial trees that wait at once: treebanks have 9, and the search for the best tags takes time in proportion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedTrees:
    """The tree of each sentence: `head` is 1-based inside it, 0 = root, `deprel` a row of the tagger's relations."""

    head: Int32
    deprel: Int64
    terminal: Int8
    nonterminal: Int8


def predict(
    network: HexatagNetwork, forms: Sequence[str], offsets: Int64, *, precision: Precision | None = None
) -> PredictedTrees:
    """Return the trees of all sentences; sentence i is forms[offsets[i] : offsets[i + 1]]."""
    row_of: dict[str, int] = {}
    rows = np.array([row_of.setdefault(form, len(row_of)) for form in forms], np.int64)
    return predict_rows(network, hash_forms(row_of, network.config.num_rows), rows, offsets, precision=precision)


def predict_rows(
    network: HexatagNetwork, features: Int32, rows: Int64, offsets: Int64, *, precision: Precision | None = None
) -> PredictedTrees:
    """Return the trees of all sentences of words with these features: word i has features[rows[i]].

    By default `precision` is `find_precision()`.
    """
    offsets = np.unique(offsets)  # a sentence without words has no tree
    is_half = (precision or find_precision()) == "bf16"
    with one_thread(), torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, is_half):
        scores, deprel = _score(network, features, rows, offsets)
    tags = viterbi(scores[:, :NUM_TERMINALS], scores[:, NUM_TERMINALS:], offsets, max_depth=MAX_DEPTH)
    head = decode_batch(*tags, offsets)
    if (root := find_root(network.config.deprels)) is not None:
        deprel[head == 0] = root
    return PredictedTrees(head=head, deprel=deprel, terminal=tags[0], nonterminal=tags[1])


def _score(
    network: HexatagNetwork, features: Int32, rows: Int64, offsets: Int64
) -> tuple[npt.NDArray[np.float32], Int64]:
    """Return the scores of each word's hexatags and its best relation to another word."""
    num_tags = NUM_TERMINALS + NUM_NONTERMINALS
    root = find_root(network.config.deprels)
    scores, deprel = np.zeros((len(rows), num_tags), np.float32), np.zeros(len(rows), np.int64)
    vectors = network.embed(torch.from_numpy(features))
    for sentences in iter_batches(np.diff(offsets), BATCH_WORDS):
        at, is_word = places_of(offsets, sentences)
        mask = torch.from_numpy(is_word)
        found = network(vectors[torch.from_numpy(rows[at])], mask)[mask].float()
        words = at[is_word]
        scores[words] = found[:, :num_tags].numpy()
        if root is not None:
            found[:, num_tags + root] = -torch.inf
        deprel[words] = found[:, num_tags:].argmax(-1).numpy()
    return scores, deprel


def find_root(deprels: Sequence[str]) -> int | None:
    """Return the row of the root's relation, "root" in UD and "ROOT" in spaCy, which no other word has, or None."""
    return next((row for row, name in enumerate(deprels) if name.lower() == "root"), None)


def find_precision() -> Precision:
    """Return "bf16" where this machine multiplies such matrices in hardware (AMX), twice as fast, or else "fp32"."""
    if not hasattr(torch.cpu, "get_capabilities"):  # a torch too old to tell
        return "fp32"
    return "bf16" if torch.cpu.get_capabilities().get("amx_bf16") else "fp32"


def describe_arithmetic() -> str:
    """Return what decides a score's last bits, and so, now and then, a tag."""
    return f"torch {torch.__version__}, {find_precision()}"


def iter_batches(lengths: Int64, num_words: int, order: Int64 | None = None) -> Iterator[Int64]:
    """Yield sentences of like length together, at most `num_words` with padding, or one that is longer.

    They are taken in `order`, by default from the shortest to the longest; those without words are left out.
    """
    taken = np.argsort(lengths, kind="stable") if order is None else order
    batch: list[int] = []
    longest = 0
    for sentence, length in zip(taken.tolist(), lengths[taken].tolist(), strict=True):
        if batch and max(longest, length) * (len(batch) + 1) > num_words:
            yield np.array(batch, np.int64)
            batch, longest = [], 0
        if length:
            batch.append(sentence)
            longest = max(longest, length)
    if batch:
        yield np.array(batch, np.int64)


def places_of(offsets: Int64, sentences: Int64) -> tuple[Int64, Bools]:
    """Return the row of each word of some sentences, (longest, sentences), and where there is one; elsewhere 0."""
    begin, length = offsets[sentences], offsets[sentences + 1] - offsets[sentences]
    number = np.arange(length.max(initial=0))[:, None]
    is_word = number < length
    return np.where(is_word, begin + number, 0), is_word
