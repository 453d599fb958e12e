"""Turtle, TriG, RDF/XML, JSON-LD and N3: contents, names of blank nodes, language tags and errors."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdf_reading import FORMATS, RDF, P, accepted, as_parsed, canonical, read, rejected, texts, whole

from lisdata.conversion import convert
from lisdata.datasets import open as open_dataset
from lisdata.datasets import verify
from lisdata.inputs import InputSlice, find_inputs
from lisdata.registry import load_source
from lisdata.schema import ContentKind, StructureKind
from lisdata.shards import IncidenceDataset
from lisdata.sources import rdf_input, rdf_parser


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a"


# -- terms -----------------------------------------------------------------------------------------------------------

EXAMPLES = {
    "turtle": P + ':a :b "01", "1" , [ :c () ] . :x :y << :a :b :c >> .',
    "trig": P + ':g { :a :b "01", [ :c 1.0 ] } :a :b _:x . [] { _:x :b :c }',
    "rdfxml": RDF.format('<e:T r:nodeID="n"><e:p r:datatype="http://d">01</e:p><e:q r:parseType="Resource"/></e:T>'),
    "jsonld": '{"@id": "http://a", "http://p": [{"http://q": 1.5}, "01"], "@graph": {"http://q": true}}',
    "n3": P + "{ :a :b [] } => { :c :d 01 } . :a :b :c .",
}


@pytest.mark.parametrize("source", EXAMPLES)
def test_a_file_is_read_as_by_the_parser_and_the_same_each_time(path: Path, source: str) -> None:
    data = EXAMPLES[source]
    expected = list(pyoxigraph.parse(data, FORMATS[source]))

    first, again = (accepted(path, source, data) for _ in range(2))

    assert first == again
    assert [str(q.predicate) for q in as_parsed(first)] == [str(q.predicate) for q in expected]
    assert canonical(q for q in as_parsed(first) if "<<" not in str(q)) == canonical(
        q for q in expected if "<<" not in str(q)
    )


def test_lexical_forms_are_exact(path: Path) -> None:
    objects = [quad[2] for quad in accepted(path, "turtle", P + ':a :b "01"^^:d, "1"^^:d, 01, +1, 1e0, 1.0E0 .')]

    assert [c.lexical for c in objects if c] == [b"01", b"1", b"01", b"+1", b"1e0", b"1.0E0"]


def test_nameless_blank_nodes_are_numbered_by_first_appearance_and_named_ones_keep_their_names(path: Path) -> None:
    name = "_:abcdefabcdefabcdefabcdefabcdef01"  # looks like one that a parser invents
    data = P + f"[] :p [ :q {name} ] . {name} :p _:b0 ; :q [] ."

    found = texts(accepted(path, "turtle", data))
    prefix = f"anon-{InputSlice(file=find_inputs([str(path)], suffixes=('',))[0]).file.digest[:8]}-"

    assert [line.replace(prefix, "#").replace("http://e/", ":") for line in found] == [
        f"#1 :q {name[2:]}",
        "#2 :p #1",
        f"{name[2:]} :p b0",
        f"{name[2:]} :q #3",
    ]


def test_blank_nodes_of_two_files_differ(path: Path) -> None:
    one, two = (accepted(path.with_name(n), "turtle", P + f"[] :{n} _:b .")[0] for n in "ab")

    assert {one[0], one[2]}.isdisjoint({two[0], two[2]})


@pytest.mark.parametrize(
    ("source", "data", "tags"),
    [
        ("turtle", P + ':a :b "x"@en-US, "y"@de .', ["en-US", "de"]),
        ("turtle", P + ':a :b "x"@en-US, "y"@en-us, "z"@DE .', ["en-us", "en-us", "DE"]),
        ("turtle", P + ':a :b "x"@AR--rtl .', ["AR--rtl"]),
        ("turtle", P + ':a :b << :s :p "x"@EN >> , "x"@EN .', ["EN"]),
        ("rdfxml", RDF.format('<e:T r:about="http://a" xml:lang="EN"><e:p>x</e:p></e:T>'), ["EN"]),
        ("rdfxml", RDF.format('<e:T r:about="http://a" xml:lang="&#69;N"><e:p>x</e:p></e:T>'), ["en"]),
        ("jsonld", '{"@id": "http://a", "http://p": {"@value": "x", "@language": "EN"}}', ["EN"]),
        ("jsonld", '{"@id": "http://a", "http://p": {"@value": "x", "@language": "\\u0045N"}}', ["en"]),
        (
            "jsonld",
            '{"@context": {"p": {"@id": "http://p", "@container": "@language"}}, "@id": "http://a", "p": {"EN": "x"}}',
            ["EN"],
        ),
    ],
)
def test_a_language_tag_is_as_written_unless_it_is_written_in_several_ways(
    path: Path, source: str, data: str, tags: list[str]
) -> None:
    languages = [quad[2].language for quad in accepted(path, source, data) if quad[2] and quad[2].language]

    assert languages == tags


def test_tags_in_lower_case_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(P + ':a :b "x"@en-US, "y"@en-us, "z"@DE .')

    manifest = convert("turtle", tmp_path / "a.ttl", tmp_path / "data")

    assert manifest["report"] == {"literals whose language tag is in lower case": 1}


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(st.sampled_from(["@en", "@EN-us", "_:" + "ab" * 15, "_:b", ":x"]), max_size=12),
    size=st.integers(1, 40),
)
def test_names_are_noted_wherever_blocks_end(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], size: int
) -> None:
    terms = [f'"x"{name}' if name.startswith("@") else name for name in names]
    piece = whole(tmp_path_factory.mktemp("rdf") / "a", P + "".join(f":a :b {term} .\n" for term in terms))
    expected = read("turtle", piece)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rdf_input, "MEBIBYTE", size)
        assert read("turtle", piece) == expected


# -- grouping --------------------------------------------------------------------------------------------------------

LINES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", ":g", ":h"])), max_size=30)


@settings(max_examples=15, deadline=None)
@given(lines=LINES, block=st.integers(1, 6), group_by=st.sampled_from(["subject", "graph", "none", "2"]))
@pytest.mark.parametrize("source", ["nquads", "trig"])
def test_groups_are_those_of_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory, source: str, lines: list[tuple[str, str]], block: int, group_by: str
) -> None:
    folder = tmp_path_factory.mktemp("rdf")
    if source == "trig":
        text = P + "".join(f"{g} {{ :{s} :p :o{n} }}\n" for n, (s, g) in enumerate(lines))
    else:
        text = "".join(f"<x:{s}> <x:p> <x:o{n}> {g and f'<x{g}>'} .\n" for n, (s, g) in enumerate(lines))
    (folder / "a").write_text(text)
    keys = {"subject": lambda n: lines[n][0], "graph": lambda n: lines[n][1], "none": lambda n: n}
    key = keys.get(group_by, lambda n: n // 2)
    sizes = [0] if lines else []
    for number in range(len(lines)):
        if number and key(number) != key(number - 1):
            sizes.append(0)
        sizes[-1] += 1

    with pytest.MonkeyPatch.context() as patch:
        if group_by in ("subject", "graph"):
            patch.setattr(rdf_parser, "_QUADS_A_BLOCK", block)
            patch.setattr("lisdata.sources.ntriples_lines.BLOCK_BYTES", 25 * block)
        convert(source, folder / "a", folder / "data", options={"group_by": group_by})

    dataset = open_dataset(folder / "data")
    assert isinstance(dataset, IncidenceDataset)
    assert [len(s.instances) for s in dataset.iter_structures()] == sizes
    assert not verify(folder / "data").problems


@pytest.mark.parametrize("group_by", ["", "fact", "0", "-1", "1.5"])
def test_a_group_by_that_is_none_is_a_wrong_argument(group_by: str) -> None:
    with pytest.raises(ValueError, match="expected subject, graph, none or a number"):
        load_source("turtle").options_type(group_by=group_by)


# -- triple terms ----------------------------------------------------------------------------------------------------


def test_a_triple_term_is_an_instance_with_a_handle(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(
        P + ":x :says <<( :a :b <<( :c :d _:e )>> )>> ; :p :o . :y :says <<( :a :b :c )>> ."
    )
    convert("turtle", tmp_path / "a.ttl", tmp_path / "data")
    dataset = open_dataset(tmp_path / "data")
    assert isinstance(dataset, IncidenceDataset)

    first, second = dataset.iter_structures()

    assert not verify(tmp_path / "data").problems
    assert first.kind == StructureKind.TRIPLES
    assert Counter(i.label for i in first.instances)["triple_term"] == 2
    handles = [i.handle for i in first.instances if i.handle is not None]
    shown = {o.content for o in first.occurrences if o.content.kind == ContentKind.INSTANCE}
    assert set(handles) == shown
    number = next(n for n, i in enumerate(second.instances) if i.label == "triple_term")
    roles = {
        i.role.side: second.occurrences[i.occurrence].content.text for i in second.incidences if i.instance == number
    }
    assert roles == {"subject": "http://e/a", "predicate": "http://e/b", "object": "http://e/c"}


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "data", "message"),
    [
        ("turtle", P + "\n:a :b :c .\n:a :b <x y> .\n:a :b :d .", "a:3:7: expected Turtle, found"),
        ("turtle", "<rel> <a:b> <a:c> .", "No scheme found"),
        ("turtle", P + ":a :b :c", "a:1"),
        ("turtle", P + ":a ex:b :c .", "prefix"),
        ("turtle", P.encode() + b':a :b "\xff" .', "UTF-8"),
        ("trig", P + ":g { :a :b :c ", "a:1"),
        ("rdfxml", RDF.format("<e:T>\n<e:p></e:q></e:T>"), "a:3: expected RDF/XML"),
        ("rdfxml", RDF.format('<e:T r:about="rel"/>'), "rel"),
        ("jsonld", '[{"@id": "http://a",\n "http://p": 1,}]', "a:2:16: expected JSON-LD"),
        ("jsonld", '[\n{"http://p": {"@value": 1, "@id": "http://a"}}]', "a:2: expected JSON-LD"),
        ("jsonld", '{"@id": "rel", "http://p": 1}', "the relative IRI 'rel' without a base"),
        ("jsonld", '{"@context": "https://c.example/x", "p": 1}', "--context https://c.example/x=FILE"),
        ("n3", P + "\n?x :b :c .\n:a :b :c .", "a:2: expected N3"),
        ("nquads", "<a:a> <a:b> <a:c> <a:d> <a:e> .", "a:1:25: expected a statement in N-Quads"),
        ("nquads", '<a:a> <a:b> <a:c> "g" .', "expected a statement in N-Quads"),
    ],
)
def test_what_is_not_valid_is_rejected_with_its_place(path: Path, source: str, data: str, message: str) -> None:
    errors = rejected(path, source, data)

    assert len(errors) == 1
    assert message in str(errors[0])
    assert 0 <= errors[0].begin <= errors[0].end <= len(data)


def test_good_statements_around_a_bad_line_are_kept_and_the_bad_one_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(P + "\n:a :b :c .\n:bad :b <x y>, <z z> .\n:a :b :d .\n")

    manifest = convert("turtle", tmp_path / "a.ttl", tmp_path / "data", on_error="quarantine")

    assert manifest["inputs"][0]["records"] == {"seen": 3, "converted": 2, "rejected": 1}
    kept = b"".join(path.read_bytes() for path in (tmp_path / "data" / "rejects").glob("*.bin"))
    assert kept == b":bad :b <x y>, <z z> .\n"


def test_of_xml_all_from_the_first_error_on_is_rejected(path: Path) -> None:
    good = '<e:T r:about="http://a/{}"/>\n'
    data = RDF.format(good.format(1) + '<e:T r:about="http://a/ 2"/>\n' + good.format(3))

    quads, (error,) = read("rdfxml", whole(path, data))

    assert texts(quads) == ["http://a/1 http://www.w3.org/1999/02/22-rdf-syntax-ns#type http://e/T"]
    assert (error.place.line, error.end) == (3, len(data))


def test_lenient_takes_what_is_not_valid(path: Path) -> None:
    assert texts(accepted(path, "turtle", "<a:s> <a:p> <a:%zz> .", lenient=True)) == ["a:s a:p a:%zz"]
    assert texts(accepted(path, "jsonld", '{"@id": "rel", "http://p": 1}', lenient=True)) == ["rel http://p 1"]


def test_a_base_resolves_relative_iris(path: Path) -> None:
    assert texts(accepted(path, "turtle", "<x> <y> <#z> .", base_iri="http://b/a")) == [
        "http://b/x http://b/y http://b/a#z"
    ]
    assert texts(accepted(path, "jsonld", '{"@id": "x", "http://p": "y"}', base_iri="http://b/a")) == [
        "http://b/x http://p y"
    ]


def test_a_base_that_is_no_iri_is_a_wrong_argument() -> None:
    with pytest.raises(ValueError, match="base_iri: expected an absolute IRI"):
        load_source("turtle").options_type(base_iri="x y")


def test_what_comes_before_damage_is_kept(tmp_path: Path) -> None:
    data = gzip.compress((P + "".join(f":a{n} :b :c{n * n} .\n" for n in range(200_000))).encode())
    (tmp_path / "a.ttl.gz").write_bytes(data[: len(data) // 2])

    manifest = convert("turtle", tmp_path / "a.ttl.gz", tmp_path / "data", on_error="skip")

    records = manifest["inputs"][0]["records"]
    assert records["rejected"] == 1
    assert 50_000 < records["converted"] < 150_000
