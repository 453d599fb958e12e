"""How well a hexatagger finds the trees of sentences whose words are given: attachment scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lisdata.tagger.network import HexatagNetwork
from lisdata.tagger.prediction import predict
from lisdata.training.tagger_corpus import TreeCorpus

PUNCTUATION = "punct"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentScores:
    """Shares of words with the right head (`uas`), with the right head and relation (`las`), and with the right tags.

    `uas_without_punctuation` leaves out words whose relation is punct. Where arcs cross, tags are compared with those
    of the lifted tree, heads with those that were given. `las` compares relations as they are named, subtypes too;
    `known_relations` is the share of words whose relation the tagger knows: where it is low the tagger learned another
    scheme, whose heads differ too, so that the scores say little of how good it is.
    """

    num_words: int
    num_sentences: int
    uas: float
    uas_without_punctuation: float
    las: float
    terminal: float
    nonterminal: float
    whole_sentences: float
    known_relations: float


def score_tagger(network: HexatagNetwork, corpus: TreeCorpus) -> AttachmentScores:
    """Compare the trees that a tagger gives to the words of `corpus` with those of the corpus."""
    found = predict(network, [corpus.forms[row] for row in corpus.form.tolist()], corpus.offsets)
    is_right = found.head == corpus.head
    row_of = {name: row for row, name in enumerate(corpus.deprels)}
    relation = np.array([row_of.get(name, -1) for name in network.config.deprels], np.int64)[found.deprel]
    is_word = corpus.deprel != row_of.get(PUNCTUATION, -1)
    return AttachmentScores(
        num_words=corpus.num_words,
        num_sentences=len(corpus.offsets) - 1,
        uas=float(is_right.mean()),
        uas_without_punctuation=float(is_right[is_word].mean()) if is_word.any() else 0.0,
        las=float((is_right & (relation == corpus.deprel)).mean()),
        terminal=float((found.terminal == corpus.terminal).mean()),
        nonterminal=float((found.nonterminal == corpus.nonterminal).mean()),
        known_relations=float(np.isin(corpus.deprel, [row_of.get(name, -1) for name in network.config.deprels]).mean()),
        whole_sentences=float(np.logical_and.reduceat(is_right, corpus.offsets[:-1]).mean()),
    )
