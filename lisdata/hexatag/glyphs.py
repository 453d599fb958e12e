"""How people write tags; a tag's id is its place here."""

from __future__ import annotations

# The arrow points from the leaf or node to its parent: a left child's to the upper right.
TERMINAL_GLYPHS = ("↗", "↖")
# The letter says on which side of the node the head of its span is; EOS is the last word's, which no node follows.
NONTERMINAL_GLYPHS = ("EOS", "⇗L", "⇗R", "⇖L", "⇖R")
