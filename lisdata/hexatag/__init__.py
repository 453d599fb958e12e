"""Hexatags: a projective dependency tree as two small tags a word, and back; numbers only, compiled on first use."""

from lisdata.hexatag.binary_trees import BinaryHeadTree, binary_head_tree
from lisdata.hexatag.codec import canonicalise, decode, decode_batch, encode, encode_batch
from lisdata.hexatag.faults import TreeFault, describe_fault
from lisdata.hexatag.glyphs import NONTERMINAL_GLYPHS, TERMINAL_GLYPHS
from lisdata.hexatag.lifting import ProjectiveTree, deprojectivize, projectivize
from lisdata.hexatag.scores import viterbi
from lisdata.hexatag.tagging import TaggedTrees, tag_trees

__all__ = [
    "NONTERMINAL_GLYPHS",
    "TERMINAL_GLYPHS",
    "BinaryHeadTree",
    "ProjectiveTree",
    "TaggedTrees",
    "TreeFault",
    "binary_head_tree",
    "canonicalise",
    "decode",
    "decode_batch",
    "deprojectivize",
    "describe_fault",
    "encode",
    "encode_batch",
    "projectivize",
    "tag_trees",
    "viterbi",
]
