"""For tests of lisdata and of what others build on it: arbitrary valid structures, and structures kept in JSON files.

The strategies need hypothesis, which is imported when one is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from lisdata.contents import Content, Role
from lisdata.errors import SchemaError
from lisdata.schema import ContentKind, StructureKind
from lisdata.structure import Incidence, Instance, Occurrence, Structure
from lisdata.structure_json import content_from_dict

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

_DTYPES = ("|b1", "|u1", "<i2", ">i4", "<u8", "<f2", "<f4", ">f8", "<c8", "<U2", "|S3", "<M8[D]")


def read_examples(path: Path) -> tuple[list[Structure], tuple[Content, ...]]:
    """Return the structures and the isolated contents of a file {"structures": [...], "isolated": [...]}.

    Raise SchemaError, naming the record, where one does not have the published form.
    """
    try:
        data = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"{path.name}: expected JSON, found {error}") from error
    structures = [Structure.from_dict(item) for item in data["structures"]]
    return structures, tuple(content_from_dict(item) for item in data.get("isolated", ()))


def names() -> SearchStrategy[str]:
    """Labels of every kind: any text that UTF-8 can hold."""
    from hypothesis import strategies as st

    return st.text(st.characters(codec="utf-8"), max_size=6)


def roles() -> SearchStrategy[Role]:
    """Roles whose relation may hold '#', as IRIs do."""
    from hypothesis import strategies as st

    return st.builds(Role, names(), names().map(lambda side: side.replace("#", "")))


def contents(kinds: tuple[ContentKind, ...] = tuple(ContentKind)) -> SearchStrategy[Content]:
    """Contents of the given kinds; the lexical form is any bytes."""
    from hypothesis import strategies as st

    lexical = names().map(str.encode) | st.binary(max_size=8)
    optional = st.none() | names()
    return st.builds(Content, st.sampled_from(kinds), lexical, optional, optional, optional)


def structures() -> SearchStrategy[Structure]:
    """Any structure that may stand in a shard: with and without document, tags, heads, handles; grids too."""
    from hypothesis import strategies as st

    return st.composite(_draw_listed)() | st.composite(_draw_grid)()


def structure_lists(max_size: int = 4) -> SearchStrategy[list[Structure]]:
    """Structures that may stand in one shard: no two have the same record id."""
    from hypothesis import strategies as st

    return st.lists(structures(), max_size=max_size, unique_by=lambda structure: structure.record_id)


def _draw_source(draw: DrawFn) -> tuple[int, int, int]:
    from hypothesis import strategies as st

    begin, end = sorted(draw(st.tuples(*[st.integers(0, 2**64 - 1)] * 2)))
    return draw(st.integers(0, 2**32 - 1)), begin, end


def _draw_record_id(draw: DrawFn) -> str:
    from hypothesis import strategies as st

    return draw(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8))


def _draw_instance(draw: DrawFn) -> Instance:
    from hypothesis import strategies as st

    handle = draw(st.none() | contents((ContentKind.INSTANCE,)))
    return Instance(label=draw(names()), ordinal=draw(st.integers(0, 2**64 - 1)), handle=handle)


def _draw_occurrence(draw: DrawFn, document: bytes | None, num_words: int) -> Occurrence:
    """Draw an occurrence; in a sentence of `num_words` words it has tags and a head."""
    from hypothesis import strategies as st

    span = None
    if document is not None and draw(st.booleans()):
        begin, end = sorted(draw(st.tuples(*[st.integers(0, len(document))] * 2)))
        span = (begin, end)
    tags: dict[str, Any] = {}
    if num_words:
        tags["head"] = draw(st.integers(0, num_words))
        tags["deprel"] = draw(st.none() | names())
        tags["terminal"] = draw(st.none() | st.integers(0, 1))
        tags["nonterminal"] = draw(st.none() | st.integers(0, 4))
    return Occurrence(content=draw(contents()), span=span, **tags)


def _draw_listed(draw: DrawFn) -> Structure:
    from hypothesis import strategies as st

    document = draw(st.none() | st.binary(max_size=12))
    num_words = draw(st.integers(0, 3))
    occurrences = [_draw_occurrence(draw, document, num_words) for _ in range(num_words)]
    occurrences += [_draw_occurrence(draw, document, 0) for _ in range(draw(st.integers(0, 3)))]
    instances = [_draw_instance(draw) for _ in range(draw(st.integers(min(num_words, 1), 3)))]
    token = draw(roles())
    incidences = [Incidence(occurrence=v, instance=0, role=token, position=v) for v in range(num_words)]
    if occurrences and instances:
        further = st.builds(
            Incidence,
            occurrence=st.integers(0, len(occurrences) - 1),
            instance=st.integers(0, len(instances) - 1),
            role=roles(),
            position=st.integers(0, 2**63 - 1),
        )
        incidences += draw(st.lists(further, max_size=5))
    return Structure(
        record_id=_draw_record_id(draw),
        kind=draw(st.sampled_from(StructureKind)),
        occurrences=tuple(occurrences),
        instances=tuple(instances),
        incidences=tuple(incidences),
        document=document,
        source=_draw_source(draw),
    )


def _draw_grid(draw: DrawFn) -> Structure:
    from hypothesis import strategies as st

    dtype = np.dtype(draw(st.sampled_from(_DTYPES)))
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    size = int(np.prod(shape)) * dtype.itemsize
    data = draw(st.binary(min_size=size, max_size=size))
    return Structure(
        record_id=_draw_record_id(draw),
        kind=draw(st.sampled_from((StructureKind.GRID, StructureKind.MIXED))),
        instances=(_draw_instance(draw),),
        tensor=np.frombuffer(data, dtype).reshape(shape),
        source=_draw_source(draw),
    )
