"""Hexatags inside spaCy: importing this module makes the component "hexatagger" known.

    import lisdata.hexatagger
    nlp = spacy.load("en_core_web_sm")
    nlp.add_pipe("hexatagger", config={"non_projective": "projectivize"})
    doc = nlp("She reads interesting books.")
    [(token.text, token._.terminal, token._.nonterminal) for token in doc]

With the package's entry point (group spacy_factories) the import is not needed.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from spacy.language import Language
from spacy.tokens import Doc, Span, Token

from lisdata.errors import TreeError
from lisdata.hexatag import TaggedTrees, TreeFault, describe_fault, tag_trees
from lisdata.parsers.spacy_trees import SpacyTrees, read_trees
from lisdata.schema import UNTAGGED

Tags = npt.NDArray[np.int8]
NonProjective = Literal["raise", "drop", "projectivize"]

_REQUIRED = ["token.dep", "token.head"]
_ASSIGNED = ["token._.terminal", "token._.nonterminal", "doc._.hexatags", "doc._.lifted_arcs", "span._.hexatags"]


@Language.factory(
    "hexatagger", requires=_REQUIRED, assigns=_ASSIGNED, default_config={"non_projective": "projectivize"}
)
def make_hexatagger(nlp: Language, name: str, non_projective: NonProjective) -> Hexatagger:
    """Return the component; spaCy calls this."""
    return Hexatagger(name, non_projective=non_projective)


class Hexatagger:
    """Gives each word of a parsed document its hexatags.

    `doc._.hexatags` is int8 (tokens, 2): terminal, then nonterminal, UNTAGGED (-100) for white space; `span._.hexatags`
    is its part. `token._.terminal` and `token._.nonterminal` are one token's. A sentence whose arcs cross gets the tags
    of the tree with arcs lifted, which `doc._.lifted_arcs` counts; or stays untagged ("drop"); or raises ("raise").
    """

    def __init__(self, name: str = "hexatagger", *, non_projective: NonProjective = "projectivize") -> None:
        self.name, self.non_projective = name, non_projective
        if not Doc.has_extension("hexatags"):
            Doc.set_extension("hexatags", default=None)
            Doc.set_extension("lifted_arcs", default=0)
            Span.set_extension("hexatags", getter=_tags_of_span)
            Token.set_extension("terminal", getter=lambda token: _tag_of_token(token, 0))
            Token.set_extension("nonterminal", getter=lambda token: _tag_of_token(token, 1))

    def __call__(self, doc: Doc) -> Doc:
        """Tag `doc` and return it.

        Raises ParserError where no parser has run, TreeError for a sentence that is no tree (or, under "raise", whose
        arcs cross).
        """
        trees = read_trees([doc])
        tagged = tag_trees(trees.head, trees.offsets, lift=self.non_projective == "projectivize")
        accepted = [TreeFault.NONE, TreeFault.NON_PROJECTIVE] if self.non_projective == "drop" else [TreeFault.NONE]
        for sentence in np.flatnonzero(~np.isin(tagged.fault, accepted)).tolist():
            raise TreeError(_describe(doc, trees, tagged, sentence))
        tags = np.full((len(doc), 2), UNTAGGED, np.int8)
        tags[trees.token, 0], tags[trees.token, 1] = tagged.terminal, tagged.nonterminal
        doc._.hexatags = tags
        doc._.lifted_arcs = int(tagged.lifted.sum())
        return doc


def _describe(doc: Doc, trees: SpacyTrees, tagged: TaggedTrees, sentence: int) -> str:
    rows = slice(trees.offsets[sentence], trees.offsets[sentence + 1])
    begin = int(trees.begin[rows][0])
    fault = describe_fault(TreeFault(tagged.fault[sentence]), trees.head[rows])
    return f"the sentence at character {begin} ({doc.text[begin : begin + 40]!r}): {fault}"


def _tags_of_span(span: Span) -> Tags:
    tags: Tags | None = span.doc._.hexatags
    return np.full((len(span), 2), UNTAGGED, np.int8) if tags is None else tags[span.start : span.end]


def _tag_of_token(token: Token, side: int) -> int:
    tags: Any = token.doc._.hexatags
    return UNTAGGED if tags is None else int(tags[token.i, side])
