"""The scanner of JSON against its plain twin and Python's json module."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.contents import decode_text, encode_text
from lisdata.kernels import json_scan
from lisdata.kernels.json_lexemes import JsonFault, JsonToken
from lisdata.kernels.json_scan import JsonTokens, scan_json, take_texts
from lisdata.kernels.plain_json_scan import Token, scan_tokens

MARKS = st.sampled_from(
    [
        "{", "}", "[", "]", ",", ":", '"', '"a"', '"k":', "\\", "\\u00e9", "\\ud83d\\ude00", "\\ud800", "\\udc00",
        '"\\u', '"\\ud800\\u0041"', '"\\/\\b"', "0", "-", "1", "1.5", "e", "E+9", ".", "true", "false", "null", "tru",
        " ", "\\n", "\n", "\t", "é", "😀", "\x00", "\x1f", "\x7f",
    ]
)  # fmt: skip
TEXTS = st.lists(MARKS, max_size=20).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=25,
)


def scan(*documents: bytes) -> tuple[JsonTokens, Any]:
    sizes = np.array([len(d) for d in documents], np.int64)
    ends = np.cumsum(sizes)
    data = np.frombuffer(b"".join(documents), np.uint8)
    return scan_json(data, ends - sizes, ends), data


def texts_of(tokens: JsonTokens, data: Any) -> list[str]:
    texts = [""] * len(tokens.kind)
    for quoted in (True, False):
        names = (JsonToken.STRING, JsonToken.KEY) if quoted else range(JsonToken.INTEGER, JsonToken.KEY)
        rows = np.flatnonzero(np.isin(tokens.kind, names))
        found = take_texts(data, tokens, rows, quoted=quoted).cast("large_binary").to_pylist()
        for row, text in zip(rows.tolist(), found, strict=True):
            texts[row] = decode_text(text)
    return texts


def tokens_of(document: str) -> list[Token] | None:
    """Return what the kernel finds, as the twin tells it."""
    encoded = document.encode()
    tokens, data = scan(encoded)
    if tokens.fault[0] != JsonFault.NONE:
        return None
    places = np.zeros(len(encoded) + 1, np.int64)
    places[1:] = np.cumsum((data & 0xC0) != 0x80)
    kinds = [JsonToken(kind).name for kind in tokens.kind.tolist()]
    bounds = (places[tokens.begin].tolist(), places[tokens.end].tolist())
    return list(zip(kinds, *bounds, texts_of(tokens, data), tokens.parent.tolist(), strict=True))


@given(TEXTS)
@settings(deadline=None, max_examples=500)
def test_any_text_is_scanned_as_the_plain_twin_does(document: str) -> None:
    assert tokens_of(document) == scan_tokens(document)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
@settings(deadline=None)
def test_what_python_writes_is_scanned_as_the_plain_twin_does(value: Any, indent: int | None, is_ascii: bool) -> None:
    document = json.dumps(value, indent=indent, ensure_ascii=is_ascii)

    found = tokens_of(document)

    assert found is not None
    assert found == scan_tokens(document)


@given(st.text(st.characters(exclude_categories=())))
@settings(deadline=None)
def test_any_string_comes_back_lone_surrogates_too(text: str) -> None:
    tokens, data = scan(json.dumps(text).encode())

    (found,) = take_texts(data, tokens, np.zeros(1, np.int64), quoted=True).cast("large_binary").to_pylist()

    assert found == encode_text(json.loads(json.dumps(text)))


@given(st.lists(TEXTS, max_size=6))
@settings(deadline=None)
def test_documents_side_by_side_are_scanned_one_by_one(documents: list[str]) -> None:
    tokens, _ = scan(*(d.encode() for d in documents))

    first = 0
    for number, document in enumerate(documents):
        alone, _ = scan(document.encode())
        rows = slice(*tokens.offsets[number : number + 2].tolist())
        assert (tokens.fault[number], tokens.fault_at[number] - first) == (alone.fault[0], alone.fault_at[0])
        assert (tokens.begin[rows] - first).tolist() == alone.begin.tolist()
        assert [p - rows.start if p >= 0 else -1 for p in tokens.parent[rows].tolist()] == alone.parent.tolist()
        first += len(document.encode())


def test_following_leads_over_whole_values() -> None:
    tokens, _ = scan(b'{"a": [1, {"b": 2}], "c": []}')

    assert [JsonToken(k).name for k in tokens.kind] == [
        "OBJECT", "KEY", "ARRAY", "INTEGER", "OBJECT", "KEY", "INTEGER", "KEY", "ARRAY",
    ]  # fmt: skip
    assert tokens.following.tolist() == [9, 2, 7, 4, 7, 6, 7, 8, 9]
    assert tokens.parent.tolist() == [-1, 0, 0, 2, 2, 4, 4, 0, 0]


@pytest.mark.parametrize("document", [b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000])
def test_nesting_has_no_limit(document: bytes) -> None:
    tokens, _ = scan(document)

    assert tokens.fault.tolist() == [JsonFault.NONE]
    assert int(tokens.parent.max()) >= 99_998


@pytest.mark.parametrize(
    ("document", "fault", "at"),
    [
        (b"", "VALUE", 0), (b" \n", "VALUE", 2), (b"[1,", "VALUE", 3), (b"[1,]", "VALUE", 3), (b"nul", "VALUE", 0),
        (b'{"a":}', "VALUE", 5), (b"[,1]", "ITEM_OR_END", 1), (b"[tru]", "ITEM_OR_END", 1), (b"{a:1}", "KEY_OR_END", 1),
        (b'{"a":1,}', "KEY", 7), (b'{"a" 1}', "COLON", 5), (b'{"a"', "COLON", 4), (b"[1 2]", "COMMA_OR_BRACKET", 3),
        (b"[1}", "COMMA_OR_BRACKET", 2), (b'{"a":1]', "COMMA_OR_BRACE", 6), (b"1 2", "END", 2), (b"01", "END", 1),
        (b'"a', "QUOTE", 2), (b'"a\\', "ESCAPE", 2), (b'"\t"', "NO_CONTROL", 1), (b'"\\x"', "ESCAPE", 1),
        (b'"\\u12g4"', "HEX", 1), (b'"\\u12', "HEX", 1), (b"-", "DIGIT", 1), (b"1.", "DIGIT", 2), (b"[1.]", "DIGIT", 3),
        (b"1e+", "DIGIT", 3), (b"-a", "DIGIT", 1),
    ],
)  # fmt: skip
def test_a_fault_says_what_was_expected_and_where(document: bytes, fault: str, at: int) -> None:
    tokens, _ = scan(document)

    assert (JsonFault(tokens.fault[0]).name, tokens.fault_at.tolist()) == (fault, [at])
    assert len(tokens.kind) == 0


def test_real_documents_are_scanned_as_python_reads_them(shared: Path) -> None:
    for path in sorted((shared / "data/kg/json").glob("*.json")):
        document = path.read_text(encoding="utf-8")
        found = tokens_of(document)
        assert found is not None
        assert found == scan_tokens(document)


def test_too_many_bytes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_scan, "MAX_BYTES", 3)

    with pytest.raises(ValueError, match="at most 3 bytes"):
        scan(b"[1,2]")
