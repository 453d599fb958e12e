from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import Role
from lisdata.errors import BadRecordError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.records import TextRecords
from lisdata.registry import load_source
from lisdata.schema import ContentKind
from lisdata.sources import jsonl_record
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.jsonl import JSONL, JsonlOptions
from lisdata.sources.jsonl_record import JsonlRecord
from lisdata.sources.jsonl_usual import read_usual
from lisdata.sources.lines import LineError
from lisdata.structure import StructureReader

WIKIDATA = "http://www.wikidata.org/entity/"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jsonl") / "a.jsonl"


def whole(path: Path, data: bytes) -> InputSlice:
    path.write_bytes(data)
    return InputSlice(file=find_inputs([str(path)], suffixes=JSONL.suffixes)[0])


def stop(error: BadRecordError) -> None:
    raise error


def read(path: Path, line: str | bytes, **options: Any) -> TextRecords:
    data = line if isinstance(line, bytes) else line.encode()
    (records,) = JSONL.read(whole(path, data), JsonlOptions(**options), stop)
    return records


def mentions(records: TextRecords) -> list[tuple[bytes, bytes]]:
    """The bytes that spell each mention, and the name of its entity."""
    documents = records.documents.to_pylist()
    found = []
    for unit, document in enumerate(documents):
        for row in range(records.mention_offsets[unit], records.mention_offsets[unit + 1]):
            spelled = document[int(records.mention_begin[row]) : int(records.mention_end[row])]
            assert records.contents["kind"][int(records.mention_content[row])].as_py() == ContentKind.ENTITY
            found.append((spelled, records.contents["lexical"][int(records.mention_content[row])].as_py()))
    return found


def fields(records: TextRecords) -> list[tuple[str, str, bytes, int]]:
    """Role, kind and lexical form of each field, and the mention it is about."""
    reader = StructureReader(records.contents, records.labels)
    return [
        (reader.role(role).label, reader.content(content).kind.name, reader.content(content).lexical, mention)
        for role, content, mention in zip(
            records.field_role.tolist(), records.field_content.tolist(), records.field_mention.tolist(), strict=True
        )
    ]


def record(**members: Any) -> str:
    return json.dumps(members, ensure_ascii=False) + "\n"


def test_it_is_registered() -> None:
    assert load_source("jsonl") is JSONL


@settings(deadline=None)
@given(before=st.text(max_size=6), name=st.text(max_size=6), after=st.text(max_size=6))
def test_offsets_count_characters_whatever_their_bytes(path: Path, before: str, name: str, after: str) -> None:
    start, end = len(before), len(before + name)

    records = read(path, record(text=before + name + after, entities=[{"start": start, "end": end, "id": "e"}]))

    assert mentions(records) == [(name.encode(), b"e")]


def test_a_lone_surrogate_in_the_text_is_kept(path: Path) -> None:
    records = read(path, '{"text": "\\ud800 é", "entities": [{"start": 2, "end": 3, "id": "\\udfff"}]}')

    assert records.documents[0].as_py() == b"\xed\xa0\x80 \xc3\xa9"
    assert mentions(records) == [("é".encode(), b"\xed\xbf\xbf")]


def test_an_id_with_a_prefix_is_the_iri_s_entity(path: Path) -> None:
    ids = ["Q42", "Q", "Q4a", "QQ4", WIKIDATA + "Q42", "P31"]
    entities = [{"start": 0, "end": 0, "id": name} for name in ids]

    records = read(path, record(text="", entities=entities), id_prefix=(f"Q={WIKIDATA}", "P=p:"))

    assert [name.decode() for _, name in mentions(records)] == [WIKIDATA + "Q42", *ids[1:5], "p:P31"]


def test_other_members_are_fields_with_their_exact_text(path: Path) -> None:
    line = '{"text": "", "n": 18446744073709551617, "x": 1.10, "s": "5", "b": true, "z": null, "l": [1.0]}\n'

    assert fields(read(path, line)) == [
        ("record#field:n", "JSON_INT", b"18446744073709551617", -1),
        ("record#field:x", "NUMBER", b"1.10", -1),
        ("record#field:s", "JSON_STR", b"5", -1),
        ("record#field:b", "BOOL", b"true", -1),
        ("record#field:z", "NULL", b"null", -1),
        ("record#field:l", "JSON", b"[1.0]", -1),
    ]


def test_other_members_of_an_entity_are_fields_of_the_mention(path: Path) -> None:
    first = {"start": 0, "end": 1, "id": "e"}

    records = read(path, record(text="ab", entities=[first, {**first, "type": "gene"}]))

    assert fields(records) == [("mention#field:type", "JSON_STR", b"gene", 1)]


@pytest.mark.parametrize("name", ["a#b", "\\ud800"])
def test_names_that_no_role_can_hold_keep_all_members_in_one_content(path: Path, name: str) -> None:
    found = fields(read(path, f'{{"text": "", "n": 1, "{name}": 2}}\n'))

    assert found[:1] == [("record#fields", "JSON", f'{{"n": 1, "{name}": 2}}'.encode(), -1)]


@pytest.mark.parametrize(
    ("line", "layout"),
    [
        ('{"text": "é", "a": [1, 2]}\n', None),
        ('{"text": "a", "entities": [{"start": 0, "end": 1, "id": "x", "p": 1}], "b": 1}\n', None),
        ('{"text":"é","a":[1,2]}\n', '{"style": "compact"}'),
        ('{"text": "\\u00e9"}\n', '{"style": "spaced-ascii"}'),
        ('{"text":"\\u00e9"}\r\n', '{"style": "compact-ascii", "ending": "\\r\\n"}'),
        ('{"id": 1, "text": "a", "entities": []}', '{"ending": "", "text_at": 1, "entities_at": 2}'),
        (
            '{"text": "a", "entities": [{"id": "x", "start": 0, "end": 1}]}\n',
            '{"entity_keys": ["id", "start", "end"]}',
        ),
    ],
)
def test_only_what_is_not_usual_about_a_line_is_kept(path: Path, line: str, layout: str | None) -> None:
    found = [lexical for role, _, lexical, _ in fields(read(path, line)) if role == "record#layout"]

    assert found == ([] if layout is None else [layout.encode()])


@pytest.mark.parametrize(
    "line", ['{"text" : "a"}\n', '{"text": "\\/"}\n', " \n", '{"text": "a"} \n', '\ufeff{"text": "a"}\n']
)
def test_a_line_in_no_usual_style_is_kept_whole(path: Path, line: str) -> None:
    assert fields(read(path, line)) == [("record#line", "BYTES", line.encode(), -1)]


def test_the_role_of_a_token_stays_free(path: Path) -> None:
    roles = {role for role, *_ in fields(read(path, '{"text": "", "token": 1, "layout": 2, "line": 3}\n'))}

    assert Role("record", "token").label not in roles
    assert len(roles) == 3


ENTITY = '{"start": 0, "end": 1, "id": "x"}'


@pytest.mark.parametrize(
    ("line", "column", "expected", "found"),
    [
        ("[1]", 1, "an object", "[1]"),
        ('{"text": 5}', 10, "a string", "5"),
        ('{"t": 5}', 1, 'an object with a member "text"', '{"t": 5}'),
        ('{"text": "ü", "entities": {}}', 28, "an array", "{}"),
        ('{"text": "a", "entities": [5]}', 28, "an object", "5"),
        ('{"text": "a", "entities": [{"start": 0, "id": "x"}]}', 28, 'an object with a member "end"', '{"start"'),
        (f'{{"text": "a", "entities": [{ENTITY}, {ENTITY.replace("1", "2")}]}}', 83, "an offset from 0 to 1", "2"),
        (f'{{"text": "a", "entities": [{ENTITY.replace("0", "-1")}]}}', 38, "an offset from 0 to 1", "-1"),
        (f'{{"text": "a", "entities": [{ENTITY.replace("1", "9" * 5000)}]}}', 48, "an offset from 0 to 1", "999"),
        (f'{{"text": "a", "entities": [{ENTITY.replace("0", "true")}]}}', 38, "an integer", "true"),
        (f'{{"text": "a", "entities": [{ENTITY.replace("0", "0.0")}]}}', 38, "an integer", "0.0"),
        ('{"text": "ab", "entities": [{"start": 2, "end": 1, "id": "x"}]}', 49, "an end at or behind the start 2", "1"),
        ('{"text": "a", "entities": [{"start": 0, "end": 1, "id": 7}]}', 57, "a string", "7"),
        ('{"text": "a", "text": "b"}', 23, "each member once", '"text" again'),
        ('{"text": "a", "x": {"y": 1, "y": 2}}', 34, "each member once", '"y" again'),
        ('{"text": "a"', 13, "JSON", "the end"),
        ('{"text": NaN}', 10, "JSON", "NaN"),
        ('{"text": "a", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", 1, "JSON of fewer levels", "too deep"),
    ],
)
def test_a_wrong_record_is_refused_with_its_place(
    path: Path, line: str, column: int, expected: str, found: str
) -> None:
    with pytest.raises(BadRecordError) as caught:
        read(path, f'{{"text": "good"}}\n{line}')

    error = caught.value
    assert (error.place.line, error.place.column) == (2, column)
    assert error.expected.startswith(expected)
    assert found in error.found
    assert (error.begin, error.data) == (17, line.encode())


@pytest.mark.parametrize(("data", "column"), [(b'{"text": "\xff"}', 11), (b"\xef\xbb\xbf{", 5)])
def test_a_wrong_first_line_is_refused_with_its_place(path: Path, data: bytes, column: int) -> None:
    with pytest.raises(BadRecordError) as caught:
        read(path, data)

    assert (caught.value.place.line, caught.value.place.column) == (1, column)


def test_the_records_beside_a_wrong_one_are_kept(path: Path) -> None:
    errors: list[BadRecordError] = []
    piece = whole(path, b'{"text": "a"}\n{\n\n{"text": "b"}\n')

    (records,) = JSONL.read(piece, JsonlOptions(), errors.append)

    assert records.documents.to_pylist() == [b"a", b"", b"b"]
    assert records.begin.tolist() == [0, 16, 17]
    assert [error.place.line for error in errors] == [2]


def test_a_file_is_cut_at_lines(path: Path) -> None:
    piece = whole(path, b'{"text": "a"}\n{"text": "b"}\n')

    assert [JSONL.find_cut(piece, wanted, JsonlOptions()) for wanted in (0, 1, 14, 15)] == [0, 14, 14, 28]
    (records,) = JSONL.read(replace(piece, begin=14), JsonlOptions(), stop)
    assert (records.documents.to_pylist(), records.begin.tolist()) == ([b"b"], [14])


def test_a_record_above_the_limit_is_refused_alone(path: Path) -> None:
    lines = [b'{"text": "a"}\n', b'{"text": "longer"}\n', b'{"text": "b"}\n']
    errors: list[BadRecordError] = []

    (records,) = JSONL.read(whole(path, b"".join(lines)), JsonlOptions(max_document_bytes=14), errors.append)

    assert records.documents.to_pylist() == [b"a", b"b"]
    assert str(errors[0]) == "a.jsonl:2:1: expected a record of at most 14 bytes (max_document_bytes), found 19 bytes"
    assert (len(errors), errors[0].begin, errors[0].end) == (1, 14, 33)


def test_a_limit_below_one_is_a_wrong_argument() -> None:
    with pytest.raises(ValueError, match="at least 1 byte"):
        JsonlOptions(max_document_bytes=0)


@pytest.mark.parametrize(("first", "factor"), [("a", 5), ("😀", 16)])  # a character of four bytes makes all so wide
def test_a_long_record_is_held_few_times(path: Path, first: str, factor: int) -> None:
    text = first + "and so it goes on, " * 100_000
    piece = whole(path, record(id=1, text=text, entities=[{"start": 4, "end": 6, "id": "e"}]).encode())
    tracemalloc.start()

    (records,) = JSONL.read(piece, JsonlOptions(), stop)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert records.documents[0].as_py() == text.encode()
    assert peak < factor * len(text)


def test_one_member_for_text_and_entities_is_a_wrong_argument() -> None:
    with pytest.raises(ValueError, match="two members"):
        JsonlOptions(text_field="a", entities_field="a")


@pytest.mark.parametrize("declared", [["Q"], ["=x"], ["Q="], ["Q1=x"], ["Q=x", "Q=y"]])
def test_prefixes_of_another_form_are_a_wrong_argument(declared: list[str]) -> None:
    with pytest.raises(ValueError, match="PREFIX=IRI"):
        IdPrefixes.parse(declared)


@settings(deadline=None)
@given(name=st.sampled_from(["", "Q1", "Q", "x", "i:Q1", "i:", "i:Q1x", "i:QQ1"]))
def test_a_name_that_a_prefix_makes_is_made_from_one_short_id(name: str) -> None:
    prefixes = IdPrefixes.parse(["Q=i:"])

    assert prefixes.restore(prefixes.expand(name)) == {"i:Q1": "Q1"}.get(name, name)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
_ENTITIES = st.fixed_dictionaries(
    {"start": st.just(0), "end": st.integers(-1, 4), "id": st.text(max_size=3) | st.just("Q1")},
    optional={"type": _VALUES},
)


_CHANGES = (("", ""), ("0", "-0"), ("1", "1.0"), ("}", "} "), ("e", "E"), ('"a"', '"text"'), ("u0", "u00e0"))


def parsed(line: bytes, options: JsonlOptions, prefixes: IdPrefixes) -> JsonlRecord | tuple[int, str, str]:
    """The record, or what is wrong about it."""
    try:
        return jsonl_record.parse_line(line, options, prefixes)
    except LineError as error:
        return error.at, error.expected, error.found


@given(
    record=st.dictionaries(st.sampled_from(["text", "a", "b#", "é"]), _VALUES, max_size=3),
    text=st.text(max_size=6),
    entities=st.none() | st.lists(_ENTITIES, max_size=2),
    ascii_only=st.booleans(),
    separators=st.sampled_from([(", ", ": "), (",", ":"), (" ,", ":")]),
    change=st.sampled_from(_CHANGES),
    end=st.sampled_from(["", "\n", "\r\n"]),
)  # fmt: skip
def test_the_fast_road_reads_what_the_exact_one_reads(
    record: dict[str, Any], text: str, entities: list[Any] | None, ascii_only: bool, separators: tuple[str, str],
    change: tuple[str, str], end: str,
) -> None:  # fmt: skip
    record = {**record, "text": text} | ({} if entities is None else {"entities": entities})
    line = json.dumps(record, ensure_ascii=ascii_only, separators=separators).replace(*change, 1) + end
    prefixes = IdPrefixes.parse(["Q=i:"])
    data = line.encode(errors="surrogatepass")
    fast = parsed(data, JsonlOptions(), prefixes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl_record, "_MAX_USUAL_BYTES", -1)
        assert parsed(data, JsonlOptions(), prefixes) == fast


def test_the_fast_road_is_taken_where_nothing_is_odd() -> None:
    line = b'{"id": 7, "text": "a b", "entities": [{"start": 0, "end": 1, "id": "Q1"}], "meta": {"score": 0.5}}\n'
    assert read_usual(line, JsonlOptions(), IdPrefixes({})) is not None
    assert read_usual(line.replace(b"0.5", b"0.50"), JsonlOptions(), IdPrefixes({})) is None
