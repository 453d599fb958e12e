"""Sources of tags by name, as the command line gives them."""

from __future__ import annotations

from functools import partial

from lisdata.evaluation.prefix_rows import PREFIX_FORMS
from lisdata.evaluation.tag_cache import tag_texts
from lisdata.generation.tag_sources import Newest, NoTags, ParserTags, Retag, SelfTags, TagSource
from lisdata.parsers import load_parser

TAG_NAMES = "none, self or parser:NAME"
_PARSER_KINDS = ("spacy", "tagger", "python")


def make_tag_source(
    name: str, *, form: str = "prefix", retag: Retag = "word", newest: Newest = "withheld"
) -> TagSource:
    """Return the source called `name`: "none", "self", or "parser:" and the name of a parser.

    The other settings are for parsers: see `ParserTags`. Raises ValueError for another name or setting, ParserError
    where there is no such parser.
    """
    kind, _, parser = name.partition(":")
    if name == "none":
        return NoTags()
    if name == "self":
        return SelfTags()
    if kind != "parser" or not parser:
        guess = f"; did you mean parser:{name}?" if kind in _PARSER_KINDS else ""
        raise ValueError(f"expected tags of {TAG_NAMES}, got {name!r}{guess}")
    forms = {known: known for known in PREFIX_FORMS}
    if form not in forms:
        raise ValueError(f"{form=} is none of {', '.join(PREFIX_FORMS)}")
    load_parser(parser)
    return ParserTags(partial(tag_texts, parser=parser), form=forms[form], retag=retag, newest=newest)
