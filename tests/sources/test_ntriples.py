"""N-Triples to triple records: what is accepted, and what contents come out."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ntriples_reading import (
    LENIENT,
    LINES,
    SUITES,
    Triple,
    accepted,
    as_parsed,
    parsed,
    read,
    rejected,
    triples_of,
    whole,
)

from lisdata.contents import Content
from lisdata.errors import BadRecordError, KeyCollisionError
from lisdata.inputs import InputSlice, find_inputs
from lisdata.kernels import plain
from lisdata.records import TripleRecords
from lisdata.registry import load_source
from lisdata.schema import ContentKind
from lisdata.sources import ntriples_lines, ntriples_records
from lisdata.sources.ntriples import NTRIPLES, NTriplesOptions
from lisdata.sources.ntriples_terms import term_from_content


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ntriples") / "a.nt"


def test_it_is_registered() -> None:
    assert load_source("ntriples") is NTRIPLES


# -- conformance -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suite", SUITES)
def test_the_w3c_suite_is_judged_and_read_as_by_a_strict_parser(shared: Path, path: Path, suite: str) -> None:
    with tarfile.open(shared / f"data/kg/rdf_w3c/{suite}.tar.gz") as archive:
        members = {m.name: archive.extractfile(m) for m in archive if m.name.endswith(".nt")}
        files = {name: stream.read() for name, stream in members.items() if stream is not None}
    assert len(files) > 60

    for name, data in files.items():
        batches, bad = read(whole(path, data))
        expected = parsed(data)
        assert bool(bad) == ("-bad-" in name) == (expected is None), name
        if expected is not None:
            assert as_parsed(triples_of(batches)) == expected, name


@pytest.mark.parametrize(
    "name", ["schemaorg-30.0.nt", "variants/diverse_triples.nt", "variants/blank_and_base_prefix.nt"]
)
def test_real_files_are_read_as_by_a_strict_parser(shared: Path, path: Path, name: str) -> None:
    data = (shared / "data/kg/rdf_real" / name).read_bytes()

    assert as_parsed(accepted(path, data)) == parsed(data)


@settings(max_examples=300, deadline=None)
@given(line=LINES, lenient=st.booleans())
def test_each_line_is_judged_and_read_as_by_the_parser(path: Path, line: str, lenient: bool) -> None:
    data = line.encode(errors="surrogatepass")
    batches, bad = read(whole(path, data), NTriplesOptions(lenient=lenient))
    expected = parsed(data, lenient=lenient)

    assert bool(bad) == (expected is None)
    if expected is not None:
        assert as_parsed(triples_of(batches)) == expected


# -- terms -----------------------------------------------------------------------------------------------------------

UNICODE = st.text(st.characters(codec="utf-8"), max_size=12)
ENTITIES = st.builds(lambda s: Content(ContentKind.ENTITY, f"http://example.org/{s}".encode()), st.text("aZ0-é漢😀"))
SPELLED = st.builds(
    lambda text, tag, datatype: Content(
        ContentKind.LITERAL, text.encode(), None if tag else datatype, tag
    ),
    UNICODE,
    st.none() | st.sampled_from(["en", "en-US", "en-us", "EN", "ar--rtl"]),
    st.none() | st.sampled_from(["http://example.org/t", "http://www.w3.org/2001/XMLSchema#integer"]),
)  # fmt: skip


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(ENTITIES, ENTITIES, ENTITIES | SPELLED), max_size=8))
def test_terms_of_any_unicode_come_out_exactly(path: Path, triples: list[Triple]) -> None:
    lines = [b" ".join(map(term_from_content, triple)) + b" .\n" for triple in triples]

    batches, bad = read(whole(path, b"".join(lines)))

    assert bad == []
    assert triples_of(batches) == triples
    for batch in batches:
        assert batch.contents["key"].equals(plain.keys_of_contents(batch.contents, batch.labels))


def objects_of(path: Path, *terms: str) -> list[Content]:
    return [o for _, _, o in accepted(path, "".join(f"<a:s> <a:p> {term} .\n" for term in terms).encode())]


def test_language_tags_are_kept_as_written(path: Path) -> None:
    tags = ["en-US", "en-us", "zh-Hant-TW", "DE-1996", "ar--rtl"]

    assert [o.language for o in objects_of(path, *(f'"a"@{tag}' for tag in tags))] == tags


def test_spellings_of_one_term_are_one_content(path: Path) -> None:
    xsd = "http://www.w3.org/2001/XMLSchema#string"
    spellings = ['"é\\n"', '"\\u00E9\\n"', '"\\U000000e9\\u000A"', f'"é\\n"^^<{xsd}>', f'"é\\n"^^<{xsd[:-1]}\\u0067>']
    data = "".join(f"<a:s> <a:p> {term} .\n" for term in spellings).encode()

    (batch,), _ = read(whole(path, data))

    assert len(set(triples_of([batch]))) == 1
    assert triples_of([batch])[0][2] == Content(ContentKind.LITERAL, "é\n".encode())
    assert sorted(batch.contents["lexical"].to_pylist()) == [b"a:p", b"a:s", "é\n".encode()]


def test_escapes_in_iris_are_resolved(path: Path) -> None:
    assert (
        objects_of(path, "<http://example.org/\\u00E9>", "<http://example.org/é>")
        == [Content(ContentKind.ENTITY, "http://example.org/é".encode())] * 2
    )


def test_blank_nodes_of_two_files_differ_and_of_one_file_agree(path: Path) -> None:
    (first, second) = accepted(path, b"_:b0 <a:p> _:b0 .\n_:b0 <a:p> <a:o> .\n")
    other = accepted(path.with_name("b.nt"), b"_:b0 <a:p> _:b1 .\n")

    assert first[0] == first[2] == second[0] == Content(ContentKind.BNODE, b"b0", scope=first[0].scope)
    assert first[0].scope != other[0][0].scope


def test_a_triple_term_is_an_instance_spelled_canonically(path: Path) -> None:
    plain_term, with_node = objects_of(
        path, '<<(<a:s><a:p>"\\u00e9"@EN)>>', "<<( _:b <a:p> <<( <a:s> <a:p> _:c )>> )>>"
    )

    assert plain_term == Content(ContentKind.INSTANCE, '<<( <a:s> <a:p> "é"@EN )>>'.encode())
    assert with_node.lexical == b"<<( _:b <a:p> <<( <a:s> <a:p> _:c )>> )>>"
    assert with_node.scope is not None


def test_a_tag_in_a_comment_or_an_iri_is_no_tag(path: Path) -> None:
    line = b'<a:s> <a:p@de> <<( <a:s> <a:p> "x\\"@fr"@En )>> . # "y"@it\n'

    assert accepted(path, line)[0][2].lexical == b'<<( <a:s> <a:p> "x\\"@fr"@En )>>'


def test_duplicates_and_order_are_kept(path: Path) -> None:
    data = b"<a:b> <a:p> <a:c> .\n<a:a> <a:p> <a:c> .\n<a:b> <a:p> <a:c> .\n<a:b> <a:p> <a:c> .\n"

    assert [s.lexical for s, _, _ in accepted(path, data)] == [b"a:b", b"a:a", b"a:b", b"a:b"]


def test_a_key_that_stands_for_two_contents_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntriples_records, "content_keys", lambda kinds, *_: np.zeros((len(kinds), 16), np.uint8))

    with pytest.raises(KeyCollisionError, match="under one key"):
        read(whole(path, b'<a:s> <a:p> "\\n" .\n'))


# -- lines -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r", b"\n\n", b" \t# c\n", b"# \xff\r\n"])
def test_every_line_ending_counts(path: Path, ending: bytes) -> None:
    data = ending.join([b"<a:s> <a:p> <a:o> ."] * 3)

    assert len(accepted(path, data)) == len(accepted(path, data + ending)) == 3


def test_records_tile_the_lines_of_the_file(path: Path) -> None:
    data = b"# c\n<a:s> <a:p> <a:o> .\r\n\n  <a:s> <a:p> <a:o> . # c\n<a:s> <a:p> <a:o> ."

    (batch,), _ = read(whole(path, data))

    spans = zip(batch.begin.tolist(), batch.end.tolist(), strict=True)
    assert [data[begin:end] for begin, end in spans] == [
        b"<a:s> <a:p> <a:o> .\r\n", b"  <a:s> <a:p> <a:o> . # c\n", b"<a:s> <a:p> <a:o> .",
    ]  # fmt: skip


@pytest.mark.parametrize("data", [b"", b"\n", b"# only\n#comments", b" \t\r\n"])
def test_a_file_without_triples_has_no_record(path: Path, data: bytes) -> None:
    assert accepted(path, data) == []


def test_a_long_literal_is_read_whole(path: Path) -> None:
    text = "é" * (1 << 20)

    assert objects_of(path, f'"{text}"', f'"{text}\\n"') == [
        Content(ContentKind.LITERAL, text.encode()), Content(ContentKind.LITERAL, f"{text}\n".encode()),
    ]  # fmt: skip


def test_nul_is_a_character_like_others(path: Path) -> None:
    assert objects_of(path, '"\0"') == [Content(ContentKind.LITERAL, b"\0")]


def test_a_bad_line_is_named_by_place_and_scanning_goes_on(path: Path) -> None:
    data = b'# c\n<a:s> <a:p> <a:o> .\n<a:s> <a:p> "\xff" .\r\n<a:s> <a:p> <a b> .\n_:a <a:p> <a:o> .'

    batches, bad = read(whole(path, data))

    assert len(triples_of(batches)) == 2
    assert [str(error.place) for error in bad] == ["a.nt:3:14", "a.nt:4:13"]
    assert bad[1].expected == "a triple in N-Triples"
    assert bad[1].found == "'<a:s> <a:p> <a b> .' (Invalid IRI code point ' ')"
    assert [error.data for error in bad] == [data[error.begin : error.end] for error in bad]
    assert bad[0].data == b'<a:s> <a:p> "\xff" .\r\n'


def test_bad_lines_are_counted_over_blocks_and_from_the_middle_of_a_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [b"<a:%d> <a:p> <a:o> .\n" % n if n % 3 else b"bad %d\n" % n for n in range(300)]
    monkeypatch.setattr(ntriples_lines, "BLOCK_BYTES", 256)
    piece = whole(path, b"".join(lines))
    begin = sum(map(len, lines[:100]))

    for part in (piece, InputSlice(file=piece.file, begin=begin)):
        batches, bad = read(part)
        first = 0 if part is piece else 100
        assert [error.place.line for error in bad] == [n + 1 for n in range(first, 300) if n % 3 == 0]
        assert sum(batch.num_records for batch in batches) == sum(n % 3 > 0 for n in range(first, 300))


def test_lenient_accepts_what_old_dumps_hold(path: Path) -> None:
    data = b'<http://a b/|> <p> "a"@toolongatag .\n'

    assert len(rejected(path, data)) == 1
    subject, predicate, object_ = accepted(path, data, LENIENT)[0]
    assert (subject.lexical, predicate.lexical, object_.language) == (b"http://a b/|", b"p", "toolongatag")


def test_what_comes_before_the_damage_of_a_cut_stream_is_read(tmp_path: Path) -> None:
    lines = b"".join(b'<a:%d> <a:p> "%d" .\n' % (n // 5, n * 7919 % 10007) for n in range(50_000))
    (tmp_path / "a.nt.gz").write_bytes(gzip.compress(lines)[:-2000])
    (file,) = find_inputs([str(tmp_path / "a.nt.gz")], suffixes=NTRIPLES.suffixes)
    batches: list[TripleRecords] = []

    with pytest.raises(BadRecordError, match="gzip"):
        batches.extend(NTRIPLES.read(InputSlice(file=file), NTriplesOptions(), lambda error: None))

    assert sum(batch.num_records for batch in batches) > 1000
    assert batches[0].contents["lexical"][2].as_py() == b"0"


def test_records_hold_what_the_schema_says(path: Path) -> None:
    (batch,), _ = read(whole(path, b'_:a <a:p> "x"@en .\n'))

    assert batch.contents.schema.names == ["key", "kind", "lexical", "datatype", "language", "scope"]
    assert batch.begin.dtype == batch.end.dtype == np.uint64
    assert batch.subject_content.dtype == np.uint32
    assert pa.Table.from_batches([batch.contents]).validate(full=True) is None
