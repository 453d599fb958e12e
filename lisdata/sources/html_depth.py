"""How deep a document's elements are nested, told by its tags before it is parsed.

The standard has a parser look through the open elements at many tags, so that a document takes time by the square of
its depth: 100,000 nested <div> are 500 KB and half a minute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lisdata.sources.html_formatting import Reopened, max_reopened, may_reopen_too_many

_SPACE = r"\t\n\f\r "
_VALUE = rf"[{_SPACE}]*+=[{_SPACE}]*+(?:\"[^\"]*+\"|'[^']*+'|(?![\"'])[^{_SPACE}>]*+)"
_NAME = rf"(?:=[^{_SPACE}/>=]*+|[^{_SPACE}/>=]++)"
_TOKEN = re.compile(
    rf"<!--|<!\[CDATA\[|<(?:[!?]|/(?![a-zA-Z]))[^>]*+|<(?P<slash>/?)(?P<name>[a-zA-Z][^{_SPACE}/>]*+)"
    rf"(?P<attributes>(?:[{_SPACE}/]++|{_NAME}(?:{_VALUE})?)*+)"
)
_SECTION_END = {"<!--": re.compile(r"(?<=<!--)-?>|--!?>"), "<![CDATA[": re.compile(r"\]\]>")}
_UNQUOTED_END = re.compile(rf"=[{_SPACE}]*+[^{_SPACE}\"'][^{_SPACE}]*$")
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
# Elements that end by themselves where another of their kind begins: inside of another element one of a name is open.
_ENDED = frozenset(
    ("html", "head", "body", "p", "li", "dd", "dt", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "option")
)
_FOREIGN = frozenset(("svg", "math"))  # inside of which names mean nothing of that
# Elements by which SVG and MathML are left, for good or for what is in them.
_LEAVING = frozenset(
    [
        "b",
        "big",
        "blockquote",
        "body",
        "br",
        "center",
        "code",
        "dd",
        "div",
        "dl",
        "dt",
        "em",
        "embed",
        "font",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "hr",
        "i",
        "img",
        "li",
        "listing",
        "menu",
        "meta",
        "nobr",
        "ol",
        "p",
        "pre",
        "ruby",
        "s",
        "small",
        "span",
        "strong",
        "strike",
        "sub",
        "sup",
        "table",
        "tt",
        "u",
        "ul",
        "var",
        "foreignobject",
        "desc",
        "title",
        "mi",
        "mo",
        "mn",
        "ms",
        "mtext",
        "annotation-xml",
    ]
)
_RAW = frozenset(("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"))


class _Tag(NamedTuple):
    """A tag that begins at `at`, with which `depth` elements are open; an end tag may not be `is_sure` to be one."""

    at: int
    depth: int
    name: str
    attributes: str
    is_end: bool = False
    is_sure: bool = True


def find_too_deep(text: str, limit: int) -> int | None:
    """Return where the tag begins by which more than `limit` elements are open; None where there is none.

    Where tags alone do not tell whether the parser would take an end tag (the element is not the last one open; what
    seems a comment may be text of a script) it closes nothing: rather too many elements count than too few. Mixtures of
    scripts, <select> and sections of XML that are cut into one another may hide a few.
    """
    return next((tag.at for tag in iter_tags(text) if tag.depth > limit), None)


def find_too_many_reopened(text: str) -> int | None:
    """Return where the tag begins up to which too many elements may be made again; None where there is none."""
    if not may_reopen_too_many(text):
        return None
    limit, reopened = max_reopened(text), Reopened()
    for tag in iter_tags(text):
        if tag.is_end:
            reopened.end(tag.name, is_sure=tag.is_sure)
        else:
            reopened.start(tag.name, tag.attributes)
        if reopened.total > limit:
            return tag.at
    return None


def iter_tags(text: str) -> Iterator[_Tag]:
    """Yield the tags but for those of elements without contents.

    The depth counts too much rather than too little: a <p> that has ended counts until the element around it ends.
    """
    open_: list[str] = []
    ended: list[set[str]] = [set()]  # names of those that end by themselves, inside of each open element
    num_ended = num_foreign = at = 0
    is_foreign = False  # surely inside of SVG or MathML, where a tag may close its own element
    blind_until = 0  # end tags before that close nothing
    while (found := _TOKEN.search(text, at)) is not None:
        is_raw = bool(open_) and open_[-1] in _RAW
        at = found.end("name") if is_raw and found["name"] else found.end()
        if found["name"] is None:
            if found.start() < blind_until == len(text):
                continue
            at, blind = _pass_over(text, found, is_raw=is_raw, may_be_foreign=num_foreign > 0)
            blind_until = max(blind_until, blind)
            continue
        name, attributes = found["name"].lower(), found["attributes"]
        if found["slash"]:
            is_sure = at > blind_until
            if open_ and open_[-1] == name and is_sure:
                open_.pop()
                num_ended -= len(ended.pop())
                if name in _FOREIGN:
                    num_foreign, is_foreign = num_foreign - 1, False
            yield _Tag(found.start(), len(open_) + num_ended, name, attributes, is_end=True, is_sure=is_sure)
            continue
        is_foreign = (is_foreign or name in _FOREIGN) and name not in _LEAVING
        if is_foreign and _is_self_closing(attributes):
            is_foreign = num_foreign > 0
            continue
        if num_foreign or not (name in _VOID or name in _ENDED):
            open_.append(name)
            ended.append(set())
            num_foreign += name in _FOREIGN
        elif name in _VOID:
            continue
        elif name not in ended[-1]:
            ended[-1].add(name)
            num_ended += 1
        yield _Tag(found.start(), len(open_) + num_ended, name, attributes)


def _pass_over(text: str, found: re.Match[str], *, is_raw: bool, may_be_foreign: bool) -> tuple[int, int]:
    """Return where to go on behind what is no tag, and up to where it may be that end tags are none."""
    is_section = found[0] in _SECTION_END
    if not is_section:  # a comment that ends with ">", or text
        return (found.start() + 1 if is_raw else found.end()), 0
    closing = _SECTION_END[found[0]].search(text, found.end())
    end = len(text) if closing is None else closing.end()
    if is_raw or (may_be_foreign and found[0] != "<!--"):
        return found.end(), end
    if found[0] != "<!--":  # a section of XML, which in HTML is a comment that ends with ">"
        end = text.find(">", found.end()) + 1 or len(text)
    return end, 0


def _is_self_closing(attributes: str) -> bool:
    return attributes.endswith("/") and _UNQUOTED_END.search(attributes) is None
