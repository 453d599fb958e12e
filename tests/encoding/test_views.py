"""Both views against a naive reading of their definitions, one Python object at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lisdata.contents import Content, Role, word
from lisdata.encoding.surfaces import VALUELESS, cell_texts
from lisdata.errors import LisDataError
from lisdata.schema import UNTAGGED, ContentKind, StructureKind
from lisdata.structure import Incidence, Instance, Occurrence, Structure
from lisdata.testing import structure_lists

COLUMNS = (
    "input_ids", "role", "instance", "position", "terminal", "nonterminal", "target", "occurrence", "content",
)  # fmt: skip
many = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Row:
    """Pieces put down one at a time; positions count those of one instance and role."""

    def __init__(self) -> None:
        self.columns: dict[str, list[int]] = {name: [] for name in COLUMNS}
        self._counts: Counter[tuple[int, str]] = Counter()

    def add(
        self,
        piece: int,
        role: str,
        instance: int,
        *,
        occurrence: int = -1,
        content: int = 0,
        tags: tuple[int, int] = (UNTAGGED, UNTAGGED),
        position: int | None = None,
    ) -> None:
        position = self._counts[instance, role] if position is None else position
        values = (piece, role, instance, position, *tags, 1, occurrence, content)
        for name, value in zip(COLUMNS, values, strict=True):
            self.columns[name].append(value)
        self._counts[instance, role] += 1


def content_id(content: Content) -> int:
    return int.from_bytes(content.key[:8], "big", signed=True)


def decoded(data: bytes) -> tuple[str, str]:
    try:
        return data.decode("utf-8", "surrogatepass"), "surrogatepass"
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape"), "surrogateescape"


def spelling(content: Content) -> str:
    if content.kind in VALUELESS:
        return VALUELESS[content.kind]
    try:
        return content.lexical.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return content.lexical.decode("utf-8", "backslashreplace")


def naive_endpoints(structure: Structure, tokenizer: Any) -> dict[str, list[int]]:
    row = Row()
    if structure.tensor is not None:
        role = Role(structure.instances[0].label, "cell").label
        cells = [tokenizer.encode_batch([text]).ids.tolist() for text in cell_texts(structure.tensor.reshape(-1))]
        stride = max(map(len, cells), default=1)
        for cell, pieces in enumerate(cells):
            for k, piece in enumerate(pieces):
                row.add(piece, role, 0, occurrence=cell, position=cell * stride + k)
        return row.columns
    for i in sorted(structure.incidences, key=lambda incidence: incidence.instance):
        content = structure.occurrences[i.occurrence].content
        for piece in tokenizer.encode_batch([spelling(content)]).ids.tolist():
            row.add(piece, i.role.label, i.instance, occurrence=i.occurrence, content=content_id(content))
    return row.columns


def naive_spans(structure: Structure) -> tuple[bytes, list[tuple[int, int] | None]]:
    if structure.document is not None:
        return structure.document, [o.span for o in structure.occurrences]
    words = [o.content.lexical for o in structure.occurrences]
    begins = [sum(len(w) + 1 for w in words[:n]) for n in range(len(words))]
    return b" ".join(words), [(b, b + len(w)) for b, w in zip(begins, words, strict=True)]


def naive_words(
    structure: Structure, spans: list[tuple[int, int] | None], known: set[str]
) -> tuple[str, list[tuple[int, int]]]:
    """Return the token role, and (occurrence, instance) of each word in text order; `known` are the part's roles."""
    spelled = [i for i in structure.incidences if spans[i.occurrence] is not None]
    counts = Counter(i.role for i in spelled)
    if not counts:
        wanted = f"{structure.instances[0].label}#token" if structure.instances else ""
        return (wanted if wanted in known else "<none>"), []
    role = max(counts, key=lambda r: (r.side == "token", counts[r]))  # the first one of equals
    words: dict[int, int] = {}
    for i in spelled:
        if i.role == role:
            words.setdefault(i.occurrence, i.instance)
    ordered = sorted(words.items(), key=lambda item: (spans[item[0]][0], item[0]))  # type: ignore[index]
    return role.label, ordered


def naive_sequence(structure: Structure, tokenizer: Any, known: set[str]) -> dict[str, list[int]]:
    document, spans = naive_spans(structure)
    text, errors = decoded(document)
    role, words = naive_words(structure, spans, known)
    pieces = tokenizer.encode_batch([text])
    shown: list[tuple[int, int] | None] = []
    for begin, end in zip(pieces.begin.tolist(), pieces.end.tolist(), strict=True):
        first, last = (len(text[:n].encode("utf-8", errors)) for n in (begin, end))
        solid = next((b for b in range(first, last) if document[b] not in b" \t\n\v\f\r"), first)
        overlapping = (w for w in words if max(spans[w[0]][0], solid) < min(spans[w[0]][1], last))  # type: ignore[index]
        shown.append(next(overlapping, None))
    row, begun = Row(), set()
    for n, (piece, shows) in enumerate(zip(pieces.ids.tolist(), shown, strict=True)):
        near = next((w for w in (*shown[n::-1], *shown[n:]) if w is not None), None)  # before it, else after
        instance = near[1] if near is not None else 0 if structure.instances else -1
        if shows is None:
            row.add(piece, role, instance)
            continue
        o = structure.occurrences[shows[0]]
        tags = tuple(UNTAGGED if t is None or shows in begun else t for t in (o.terminal, o.nonterminal))
        begun.add(shows)
        row.add(piece, role, instance, occurrence=shows[0], content=content_id(o.content), tags=tags)
    return row.columns


def named(row: dict[str, Any]) -> dict[str, list[int]]:
    """Return a row's columns, roles by label."""
    return {name: row[name] for name in COLUMNS} | {"role": [row["roles"][n] for n in row["role"]]}


@many
@given(structure_lists(), st.integers(1, 3))
def test_endpoints_are_the_incidences_in_order(
    encode_in_memory: Any, chunk_tokenizer: Any, structures: list[Structure], width: int
) -> None:
    tokenizer = chunk_tokenizer(width)

    rows, counts = encode_in_memory(structures, tokenizer, view="endpoints")

    assert [named(row) for row in rows] == [naive_endpoints(s, tokenizer) for s in structures]
    assert [row["record_id"] for row in rows] == [s.record_id for s in structures]
    assert counts["tokens"] == sum(len(row["input_ids"]) for row in rows)
    num_endpoints = sum(len(s.incidences) if s.tensor is None else s.tensor.size for s in structures)
    assert counts["endpoints"] + counts["endpoints_without_pieces"] == num_endpoints


@st.composite
def texts(draw: st.DrawFn) -> list[Structure]:
    """Short texts whose words overlap, miss spans, and take part in several instances in few roles."""
    return [draw_text(draw, str(n)) for n in range(draw(st.integers(1, 5)))]


def draw_text(draw: st.DrawFn, name: str) -> Structure:
    document = draw(st.none() | st.text("ab \né", max_size=9).map(str.encode) | st.just(b"a \xe9b"))
    size, num_words, num_instances = len(document or b""), draw(st.integers(0, 4)), draw(st.integers(1, 3))
    span = st.none() if document is None else st.none() | st.tuples(*[st.integers(0, size)] * 2).map(sorted).map(tuple)
    tag = st.none() | st.integers(0, 1)
    occurrence = st.builds(
        Occurrence, content=st.sampled_from("xyz").map(word), span=span, terminal=tag, nonterminal=tag
    )
    incidence = st.builds(
        Incidence,
        occurrence=st.integers(0, max(num_words - 1, 0)),
        instance=st.integers(0, num_instances - 1),
        role=st.sampled_from([Role("s", "token"), Role("s", "x"), Role("t", "y")]),
    )
    return Structure(
        record_id=name,
        kind=StructureKind.TEXT,
        document=document,
        occurrences=tuple(draw(st.lists(occurrence, min_size=num_words, max_size=num_words))),
        instances=tuple(Instance(label=draw(st.sampled_from("st"))) for _ in range(num_instances)),
        incidences=tuple(draw(st.lists(incidence, max_size=8))) if num_words else (),
    )


@settings(many, max_examples=100)
@given(texts() | structure_lists(), st.integers(1, 3))
def test_sequences_are_the_pieces_of_the_text(
    encode_in_memory: Any, chunk_tokenizer: Any, structures: list[Structure], width: int
) -> None:
    tokenizer = chunk_tokenizer(width)
    known = {i.role.label for s in structures for i in s.incidences}

    rows, counts = encode_in_memory(structures, tokenizer, view="sequence", rows_per_batch=5)

    assert [named(row) for row in rows] == [
        naive_endpoints(s, tokenizer) if s.tensor is not None else naive_sequence(s, tokenizer, known)
        for s in structures
    ]
    num_words = sum(len(naive_words(s, naive_spans(s)[1], known)[1]) for s in structures)
    assert counts["words"] == num_words
    shown = sum(
        len({o for o in row["occurrence"] if o >= 0})
        for row, s in zip(rows, structures, strict=True)
        if s.tensor is None
    )
    assert counts["words_without_piece"] == num_words - shown


@many
@given(structure_lists(), st.integers(1, 4))
def test_each_kind_takes_its_view_and_rows_stay_in_order(
    encode_in_memory: Any, chunk_tokenizer: Any, structures: list[Structure], rows_per_batch: int
) -> None:
    tokenizer = chunk_tokenizer(2)
    known = {i.role.label for s in structures for i in s.incidences}

    rows, _ = encode_in_memory(structures, tokenizer, rows_per_batch=rows_per_batch)

    assert [row["record_id"] for row in rows] == [s.record_id for s in structures]
    for row, structure in zip(rows, structures, strict=True):
        is_text = structure.kind == StructureKind.TEXT and structure.tensor is None
        is_mixed = structure.kind == StructureKind.MIXED and structure.document is not None
        if is_text:
            assert row["input_ids"] == naive_sequence(structure, tokenizer, set())["input_ids"]
        elif is_mixed and structure.tensor is None:
            assert named(row) == naive_mixed(structure, tokenizer, known)
        else:
            assert named(row) == naive_endpoints(structure, tokenizer)


def naive_mixed(structure: Structure, tokenizer: Any, known: set[str]) -> dict[str, list[Any]]:
    """The endpoints of instances that spell nothing and have no token role, then the running text."""
    texts = {i.instance for i in structure.incidences if structure.occurrences[i.occurrence].span is not None}
    texts |= {n for n, instance in enumerate(structure.instances) if f"{instance.label}#token" in known}
    facts = replace(structure, incidences=tuple(i for i in structure.incidences if i.instance not in texts))
    text = replace(structure, incidences=tuple(i for i in structure.incidences if i.instance in texts))
    first, second = naive_endpoints(facts, tokenizer), naive_sequence(text, tokenizer, known)
    return {name: first[name] + second[name] for name in first}


@settings(many, max_examples=15)
@given(structure_lists())
def test_role_instance_and_position_address_one_piece(
    encode_in_memory: Any, chunk_tokenizer: Any, structures: list[Structure]
) -> None:
    for view in ("sequence", "endpoints"):
        for row in encode_in_memory(structures, chunk_tokenizer(1), view=view)[0]:
            addresses = list(zip(row["role"], row["instance"], row["position"], strict=True))
            assert len(set(addresses)) == len(addresses)


def test_a_text_without_instances_counts_its_own_positions(encode_in_memory: Any, chunk_tokenizer: Any) -> None:
    with_instance = Structure(record_id="a", kind=StructureKind.TEXT, document=b"xy", instances=(Instance(label="s"),))
    without = Structure(record_id="b", kind=StructureKind.TEXT, document=b"xy")

    rows, _ = encode_in_memory([with_instance, without, without], chunk_tokenizer(1))

    assert [row["position"] for row in rows] == [[0, 1]] * 3
    assert [row["instance"] for row in rows] == [[0, 0], [-1, -1], [-1, -1]]


def test_a_character_cut_between_two_documents_is_not_joined(encode_in_memory: Any, chunk_tokenizer: Any) -> None:
    halves = [
        Structure(record_id=str(n), kind=StructureKind.TEXT, document=d) for n, d in enumerate([b"\xc3", b"\xa9"])
    ]

    rows, counts = encode_in_memory(halves, chunk_tokenizer(1))

    assert [row["input_ids"] for row in rows] == [[0xDCC3], [0xDCA9]]
    assert counts["documents_not_utf8"] == 2


def grid(values: list[list[float]], dtype: str) -> Structure:
    tensor = np.array(values, dtype)
    return Structure(record_id="g", kind=StructureKind.GRID, instances=(Instance(label="field"),), tensor=tensor)


def test_a_cell_of_a_grid_stands_where_its_number_says(encode_in_memory: Any, chunk_tokenizer: Any) -> None:
    rows, _ = encode_in_memory([grid([[1, 2], [3, 4]], "<i4")], chunk_tokenizer(9))

    assert rows[0]["position"] == rows[0]["occurrence"] == [0, 1, 2, 3]
    assert [chr(i) for i in rows[0]["input_ids"]] == ["1", "2", "3", "4"]
    assert {rows[0]["roles"][n] for n in rows[0]["role"]} == {"field#cell"}


def test_longer_cells_keep_equal_steps_between_neighbours(encode_in_memory: Any, chunk_tokenizer: Any) -> None:
    rows, _ = encode_in_memory([grid([[1, 25], [3, 4]], "<i4")], chunk_tokenizer(1))

    assert rows[0]["position"] == [0, 2, 3, 4, 6]
    assert rows[0]["occurrence"] == [0, 1, 1, 2, 3]


def test_a_grid_of_too_many_cells_is_refused_or_cut_and_counted(encode_in_memory: Any, chunk_tokenizer: Any) -> None:
    large = grid([[1, 2], [3, 4]], "<i4")

    with pytest.raises(LisDataError, match=r"g: expected at most 3 cells, found 4 \(shape \[2, 2\]\)"):
        encode_in_memory([large], chunk_tokenizer(1), grid_max_cells=3)
    rows, counts = encode_in_memory([large], chunk_tokenizer(1), grid_max_cells=3, grid_overflow="truncate")
    assert rows[0]["occurrence"] == [0, 1, 2]
    assert counts["cells_left_out"] == 1


def test_a_separator_is_part_of_its_endpoint(encode_in_memory: Any, chunk_tokenizer: Any) -> None:
    incidences = tuple(Incidence(occurrence=n, instance=0, role=Role("r", s)) for n, s in enumerate("ab"))
    fact = Structure(
        record_id="f",
        kind=StructureKind.HYPEREDGES,
        occurrences=(Occurrence(content=word("xy")), Occurrence(content=word(""))),
        instances=(Instance(label="r"),),
        incidences=incidences,
    )

    rows, counts = encode_in_memory([fact], chunk_tokenizer(1), separator="|")

    assert "".join(map(chr, rows[0]["input_ids"])) == "|xy|"
    assert rows[0]["occurrence"] == [0, 0, 0, 1]
    assert rows[0]["position"] == [0, 1, 2, 0]
    assert counts["endpoints_without_pieces"] == 0


def test_only_the_chosen_view_is_scored(encode_in_memory: Any, chunk_tokenizer: Any) -> None:
    text = Structure(record_id="t", kind=StructureKind.TEXT, document=b"ab")
    structures = [text, grid([[1, 2]], "<i4")]

    rows, _ = encode_in_memory(structures, chunk_tokenizer(1), target="sequence")

    assert [row["target"] for row in rows] == [[1, 1], [0, 0]]


def test_what_no_view_shows_is_counted(encode_in_memory: Any, chunk_tokenizer: Any) -> None:
    lonely = Structure(
        record_id="n",
        kind=StructureKind.HYPEREDGES,
        occurrences=(Occurrence(content=word("x")),),
        instances=(Instance(label="empty"),),
    )

    rows, counts = encode_in_memory([lonely], chunk_tokenizer(1))

    assert rows[0]["input_ids"] == []
    assert (counts["isolated_occurrences"], counts["empty_instances"], counts["empty_structures"]) == (1, 1, 1)


def test_contents_without_a_value_are_spelled_by_their_kind(encode_in_memory: Any, chunk_tokenizer: Any) -> None:
    null = Content(ContentKind.NULL, b"")
    fact = Structure(
        record_id="f",
        kind=StructureKind.TABLE,
        occurrences=(Occurrence(content=null),),
        instances=(Instance(label="t"),),
        incidences=(Incidence(occurrence=0, instance=0, role=Role("t", "c")),),
    )

    rows, _ = encode_in_memory([fact], chunk_tokenizer(1))

    assert "".join(map(chr, rows[0]["input_ids"])) == "<null>"
