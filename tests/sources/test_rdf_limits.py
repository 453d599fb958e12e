"""RDF that is deep, or that its entities make large: read in bounded time and memory, or refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rdf_reading import RDF, P, accepted, rejected, texts, whole

from lisdata.conversion import convert
from lisdata.datasets import verify
from lisdata.errors import BadRecordError
from lisdata.sources import rdf_parser
from lisdata.sources.rdf import TURTLE, RdfOptions
from lisdata.sources.rdf_element_depth import MAX_ELEMENTS, ElementDepth


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a"


DEEP = 100_000


@pytest.mark.parametrize(
    ("source", "data"),
    [
        ("ntriples", "<a:s> <a:p> " + "<<( <a:s> <a:p> " * DEEP + "<a:o> " + ")>> " * DEEP + ".\n"),
        ("nquads", "<a:s> <a:p> " + "<<( <a:s> <a:p> " * DEEP + "<a:o> " + ")>> " * DEEP + ".\n"),
        ("turtle", P + ":s :p " + "<<( :s :p " * DEEP + ":o " + ")>> " * DEEP + "."),
        ("turtle", P + ":s :p " + "<<( :s :p #)>>\n" * DEEP + ":o " + ")>> " * DEEP + "."),
        ("jsonld", '{"http://p":' * DEEP + "1" + "}" * DEEP),
    ],
)
def test_what_is_too_deep_is_refused(path: Path, source: str, data: str) -> None:
    (error,) = rejected(path, source, data)

    assert "deep" in str(error) or "Max stack size" in str(error)


def test_triple_terms_of_many_lines_are_not_deep(path: Path) -> None:
    line = P + '\n:s :p <<( :s :p "<<( #" )>>, """\n<<( "" """, \'<<( \\\' \' . # <<(\n' * 300

    assert len(accepted(path, "turtle", line)) == 900


def test_deep_collections_are_read(path: Path) -> None:
    assert len(accepted(path, "turtle", P + ":a :b " + "(" * 10_000 + ")" * 10_000 + " .")) == 19_999


@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY a "aaaaaaaaaa">'
        + "".join(f'<!ENTITY {y} "{f"&{x};" * 10}">' for x, y in zip("abcde", "bcdef", strict=True)),
        f'<!ENTITY a "{"a" * 2000}">',
        '<!ENTITY a SYSTEM "/etc/passwd">',
        '<!ENTITY % a "b">',
    ],
)
def test_entities_that_grow_or_come_from_elsewhere_are_refused(path: Path, entities: str) -> None:
    data = f"<!DOCTYPE r:RDF [{entities}]>\n" + RDF.format('<e:T r:about="http://a"><e:p>&a;</e:p></e:T>')

    (error,) = rejected(path, "rdfxml", data)

    assert "expected entities of at most 1024 bytes" in str(error)
    assert (error.begin, error.end) == (0, len(data))


def test_entities_for_namespaces_are_read(path: Path) -> None:
    data = '<!DOCTYPE r:RDF [<!ENTITY n "http://n/"><!ENTITY m "&n;m#">]>\n' + RDF.format('<e:T r:about="&m;x"/>')

    assert texts(accepted(path, "rdfxml", data))[0].startswith("http://n/m#x ")


# -- deep elements ---------------------------------------------------------------------------------------------------


def nested(depth: int, *, between: str = "") -> str:
    """Return RDF/XML whose deepest element has `depth` others around it, the root among them."""
    pairs = depth // 2
    return RDF.format("<r:Description><e:p>" + between).replace("\n</r:RDF>", "") + (
        f"<r:Description><e:p>{between}" * (pairs - 1) + "</e:p></r:Description>" * pairs + "</r:RDF>"
    )


@pytest.mark.parametrize(
    "between", ["", "<!-- </e:p> <e:q/> -->", "<?x </e:p> ?>", "\n<!---->", "<![CDATA[</e:p>]]>"], ids=repr
)
def test_elements_are_refused_where_they_are_too_deep(path: Path, between: str) -> None:
    data = nested(DEEP, between=between)

    (error,) = rejected(path, "rdfxml", data)

    opened = [tag.start() for tag in re.finditer("<(?:r:RDF|r:Description|e:p)", data)]
    assert (error.expected, error.begin) == ("elements at most 1000 deep in each other", opened[MAX_ELEMENTS])
    assert (error.place.offset, error.end) == (error.begin, len(data))


@pytest.mark.parametrize("size", [1, 3, 7, 50, 1 << 20])
def test_what_hides_tags_is_seen_wherever_blocks_end(path: Path, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = (
        "<!-- <e:p> <e:p> --><e:p>&lt;<![CDATA[<e:p><e:p>]]> > /></e:p><?x <e:p> ?>"
        "<e:p e:q='a>b' e:r=\"'/>\"/><e:p e:q='<'/><e:p></e:p >"
    ).replace("'<'", "'&lt;'")
    data = (RDF.format(f"<r:Description>{hidden}</r:Description>" * 20)).encode()
    monkeypatch.setattr("lisdata.sources.rdf_element_depth.MAX_ELEMENTS", 3)
    depth = ElementDepth(whole(path, data))

    for begin in range(0, len(data), size):
        depth.check(data[begin : begin + size])
    depth.check(b"<a><b><c>")

    with pytest.raises(BadRecordError, match="expected elements at most 3 deep"):
        depth.check(b"<d>")


def test_deep_elements_of_the_limit_are_read_and_what_comes_before_the_deeper_one_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.rdf").write_text(nested(MAX_ELEMENTS - 2))
    fact = '<r:Description r:about="http://a/{}"><e:p>x</e:p></r:Description>\n'
    many = "".join(fact.format(number) for number in range(60_000))
    (tmp_path / "b.rdf").write_text(nested(MAX_ELEMENTS * 2).replace("<r:Description>", many + "<r:Description>", 1))

    first, second = convert("rdfxml", tmp_path, tmp_path / "data", on_error="quarantine")["inputs"]

    assert first["records"] == {"seen": 499, "converted": 499, "rejected": 0}
    assert second["records"]["rejected"] == 1
    assert second["records"]["converted"] > 30_000
    assert verify(tmp_path / "data").problems == ()


def test_blocks_of_long_names_are_cut_by_their_bytes(path: Path) -> None:
    data = f"@prefix l: <http://e/{'x' * 100_000}> . " + "".join(f"l:{n} l:p l:o . " for n in range(100))

    bad: list[BadRecordError] = []
    batches = list(TURTLE.read(whole(path, data), RdfOptions(), bad.append))

    assert bad == []
    assert sum(batch.num_records for batch in batches) == 100
    assert len(batches) > 2
    assert max(batch.num_records for batch in batches) < 60


def test_names_that_a_prefix_multiplies_end_at_the_largest_expansion(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rdf_parser, "SMALL_EXPANSION_BYTES", 1 << 20)
    data = f"@prefix l: <http://e/{'x' * 100_000}> . " + "".join(f"l:s l:p {n} . " for n in range(1000))

    (error,) = rejected(path, "turtle", data)

    assert re.search(r"expected Turtle, found more than \d+ bytes as N-Quads \(--max-expansion\)", str(error))
    assert len(accepted(path, "turtle", data.replace("x" * 100_000, "x" * 1000))) == 1000
