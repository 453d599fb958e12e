"""JSON-LD contexts that a document names by URL, put in their place from files that were given for them.

Nothing is fetched. The text is changed at the contexts only, so numbers and everything else stay what they are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lisdata.inputs import InputFile
from lisdata.sources.json_text import JsonTextError, read_json, write_json
from lisdata.sources.rdf_input import whole_blocks

_CONTEXT = re.compile(rb'"@context"\s*:\s*')
_REMOTE = re.compile(rb'"@context"\s*:\s*["\[]|"@import"')
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"|([\[{])|([\]}])', re.DOTALL)
_SCALAR = re.compile(rb'"(?:[^"\\]|\\.)*+"|[^\s,}\]]+', re.DOTALL)
_LONGEST_SPACE = 4096  # bytes between "@context" and its value that may go across two blocks
_IMPORT = "@import"


class ContextError(Exception):
    """A context cannot be put in its place; `offset` is where the document names it, if that is known."""

    def __init__(self, expected: str, found: str, offset: int | None = None) -> None:
        super().__init__(f"expected {expected}, found {found}")
        self.expected, self.found, self.offset = expected, found, offset


@dataclass(frozen=True, slots=True)
class ContextFiles:
    """Contexts by URL: pairs URL=FILE, of which FILE holds a JSON object with a member "@context"."""

    pairs: tuple[str, ...]

    def __post_init__(self) -> None:
        for pair in self.pairs:
            url, mark, path = pair.rpartition("=")
            if not mark or "://" not in url or not path:
                raise ValueError(f"context: expected URL=FILE, got {pair!r}")

    def path_of(self, url: str) -> Path | None:
        """Return the file given for `url`."""
        for pair in self.pairs:
            name, _, path = pair.rpartition("=")
            if name == url:
                return Path(path)
        return None

    def load(self, url: str) -> Any:
        """Return the context at `url`; ContextError when no file is given for it, or it holds none."""
        path = self.path_of(url)
        if path is None:
            raise ContextError(f"a file for the context {url} (--context {url}=FILE; nothing is fetched)", "none")
        try:
            document = read_json(path.read_text(encoding="utf-8-sig"))
        except (JsonTextError, UnicodeDecodeError) as error:
            raise ContextError(f"JSON in {path.name}, the context {url}", str(error)) from error
        if not isinstance(document, dict) or "@context" not in document:
            raise ContextError(f'an object with a member "@context" in {path.name}, the context {url}', "none")
        return document["@context"]


def has_remote_context(file: InputFile) -> bool:
    """Tell whether a JSON-LD document may name a context by URL."""
    tail = b""
    for data in whole_blocks(file):
        if _REMOTE.search(tail + data):
            return True
        tail = data[-_LONGEST_SPACE:]
    return False


def place_contexts(data: bytes, files: ContextFiles, base_iri: str | None) -> bytes:
    """Return the document with the contexts that it names by URL written in their place.

    ContextError names what is missing; a document that is not JSON comes back as it is, for the parser to refuse. What
    stands in JSON literals is left alone: values of terms that some context says are JSON.
    """
    changes: list[tuple[int, int, Any]] = []
    json_terms = {b"@value"}  # a container in it is JSON in any case
    literals = _values_of(data, json_terms)
    done = 0
    for match in _CONTEXT.finditer(data):
        begin = match.end()
        row = bisect_right(literals, (begin, len(data))) - 1
        if begin < done or (row >= 0 and begin < literals[row][1]):
            continue
        try:
            done = _value_end(data, begin)
            value = read_json(data[begin:done].decode())
        except (JsonTextError, UnicodeDecodeError):
            return data
        try:
            placed = _placed(value, files, base_iri or "", ())
        except ContextError as error:
            raise ContextError(error.expected, error.found, begin) from error
        except RecursionError as error:
            raise ContextError("contexts less deep in each other", "a deeper one", begin) from error
        if not json_terms.issuperset(terms := _json_terms(placed)):
            json_terms |= terms
            literals = _values_of(data, json_terms)
        if placed != value:
            changes.append((begin, done, placed))
    parts: list[bytes] = []
    kept = 0
    for begin, end, placed in changes:
        parts += [data[kept:begin], write_json(placed).encode(errors="surrogatepass")]
        kept = end
    return b"".join([*parts, data[kept:]])


def _values_of(data: bytes, terms: set[bytes]) -> list[tuple[int, int]]:
    """Return where the objects and arrays that are values of one of `terms` begin and end, none inside another."""
    names = b"|".join(re.escape(term) for term in sorted(terms))
    found: list[tuple[int, int]] = []
    end = 0
    for match in re.finditer(rb'"(?:' + names + rb')"\s*:\s*(?=[\[{])', data):
        if match.end() >= end:
            end = _value_end(data, match.end())
            found.append((match.end(), end))
    return found


def _json_terms(context: Any) -> set[bytes]:
    """Return the terms, as JSON spells them, whose values a context says are JSON."""
    found: set[bytes] = set()
    waiting = [context]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            waiting += item.values()
            found |= {
                write_json(name)[1:-1].encode(errors="surrogatepass")
                for name, definition in item.items()
                if isinstance(definition, dict) and definition.get("@type") == "@json"
            }
    return found


def _value_end(data: bytes, begin: int) -> int:
    """Return where the JSON value that begins at `begin` ends; the end of `data` where it is not closed."""
    if data[begin : begin + 1] not in (b"[", b"{"):
        scalar = _SCALAR.match(data, begin)
        return begin if scalar is None else scalar.end()
    depth = 0
    for token in _BRACKETS.finditer(data, begin):
        depth += (token[1] is not None) - (token[2] is not None)
        if depth == 0:
            return token.end()
    return len(data)


def _placed(value: Any, files: ContextFiles, base: str, inside: tuple[str, ...]) -> Any:
    """Return a context without URLs of others; `inside` are the URLs of those that it stands in."""
    if isinstance(value, list):
        found: list[Any] = []
        for item in value:
            placed = _placed(item, files, base, inside)
            found += placed if isinstance(placed, list) else [placed]
        return found
    if isinstance(value, dict):
        return _placed_object(value, files, base, inside)
    return _loaded(value, files, base, inside) if type(value) is str else value


def _placed_object(value: dict[str, Any], files: ContextFiles, base: str, inside: tuple[str, ...]) -> Any:
    imported = value.get(_IMPORT)
    if type(imported) is str:
        more = _loaded(imported, files, base, inside)
        if not isinstance(more, dict):
            raise ContextError(f"one object as the context {imported}, which is imported", type(more).__name__)
        value = {**more, **{name: item for name, item in value.items() if name != _IMPORT}}
    return {
        name: item | {"@context": _placed(item["@context"], files, base, inside)}
        if isinstance(item, dict) and "@context" in item
        else item
        for name, item in value.items()
    }


def _loaded(reference: str, files: ContextFiles, base: str, inside: tuple[str, ...]) -> Any:
    """Return the context at a URL; its own @base means nothing elsewhere."""
    url = _resolved(reference, base)
    if url in inside:
        raise ContextError("contexts that do not include each other", " in ".join([url, *reversed(inside)]))
    placed = _placed(files.load(url), files, url, (*inside, url))
    contexts = placed if isinstance(placed, list) else [placed]
    contexts = [{k: v for k, v in c.items() if k != "@base"} if isinstance(c, dict) else c for c in contexts]
    return contexts if isinstance(placed, list) else contexts[0]


def _resolved(reference: str, base: str) -> str:
    """Return the IRI that a reference names in a document at `base`; the reference where there is no base."""
    import pyoxigraph

    text = f"<{reference}> <a:p> <a:o> .".encode(errors="surrogatepass")
    try:
        (triple,) = pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.TURTLE, base_iri=base or None)
    except (SyntaxError, ValueError):  # not an IRI, or a relative one without a base: no file is given for it
        return reference
    name: str = triple.subject.value
    return name
