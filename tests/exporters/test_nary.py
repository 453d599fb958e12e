from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lisdata
from lisdata.conversion import convert
from lisdata.errors import ExportError
from lisdata.exporters.conversion_losses import REJECTED
from lisdata.exporters.nary import NARY
from lisdata.registry import load_exporter
from lisdata.shards import IncidenceDataset

IRI = "http://www.wikidata.org/entity/"
PREFIXES = [[], [f"Q={IRI}", f"P={IRI}"]]
NAMES = st.sampled_from(
    ["Q1", "Q2", "P1", f"{IRI}Q1", f"{IRI}P1", "a", "é", "\u2028", "\x0b", '"', "#", "{"]
) | st.text(st.characters(codec="utf-8", exclude_characters=",\n\r\t "), min_size=1, max_size=3)
TEXTS = NAMES | st.sampled_from(["", "\ud800", "+1903-01-01T00:00:00Z#0", "+1-01-01T0Z", "a b", "\t", "\\"])


@st.composite
def lines(draw: st.DrawFn, line: st.SearchStrategy[str], first: str) -> bytes:
    usual = draw(st.sampled_from(["\n", "\r\n"]))
    texts = [first, *draw(st.lists(line | st.just(""), max_size=10))]
    endings = [usual, *(draw(st.sampled_from([usual, usual, usual, "\n", "\r\n"])) for _ in texts[1:])]
    if draw(st.booleans()):
        endings[-1] = "" if texts[-1] else endings[-1]
    mark = draw(st.sampled_from(["", "\ufeff"]))
    return (mark + "".join(map("".join, zip(texts, endings, strict=True)))).encode(errors="surrogatepass")


STATEMENTS = st.tuples(
    st.lists(NAMES, min_size=3, max_size=3), st.lists(st.tuples(NAMES, NAMES), max_size=4)
).map(lambda parts: ",".join([*parts[0], *(name for pair in parts[1] for name in pair)]))  # fmt: skip
ARGUMENTS = st.tuples(st.lists(NAMES, min_size=1, max_size=5), st.sampled_from(["", "", "\t", "\t\t"])).map(
    lambda parts: "\t".join(parts[0]) + parts[1]
)
ROLES = st.dictionaries(
    NAMES.filter(lambda n: n != "N" and not n.endswith(("_h", "_t"))), st.lists(TEXTS, max_size=3) | TEXTS, max_size=3
)


@st.composite
def objects(draw: st.DrawFn) -> str:
    roles: dict[str, Any] = dict(draw(ROLES))
    if draw(st.booleans()):
        relation = draw(NAMES)
        roles = {f"{relation}_h": draw(TEXTS), f"{relation}_t": draw(TEXTS), "N": 2} | roles
    if draw(st.booleans()):
        roles["N"] = draw(st.integers(0, 5))
    separators = draw(st.sampled_from([(", ", ": "), (",", ":")]))
    return json.dumps(roles, separators=separators, ensure_ascii=draw(st.booleans()) or "\ud800" in str(roles))


def test_it_is_registered() -> None:
    assert load_exporter("nary") is NARY


@settings(max_examples=20, deadline=None)
@given(
    statements=st.lists(lines(STATEMENTS, "a,b,c"), min_size=1, max_size=6),
    arguments=st.lists(lines(ARGUMENTS, "a\tb"), min_size=1, max_size=6),
    id_prefix=st.sampled_from(PREFIXES),
)
def test_any_lines_of_names_come_back_byte_for_byte(
    round_trip: Any, statements: list[bytes], arguments: list[bytes], id_prefix: list[str]
) -> None:
    for files, options in ((statements, {}), (arguments, {"layout": "hype"})):
        found, report = round_trip("nary", files, ".txt", id_prefix=id_prefix, **options)

        assert found == files
        assert report.losses == {}


@settings(max_examples=20, deadline=None)
@given(
    files=st.lists(lines(objects(), '{"a_h": "b", "a_t": "c", "N": 2}'), min_size=1, max_size=8),
    id_prefix=st.sampled_from(PREFIXES),
)
def test_any_lines_of_objects_come_back_byte_for_byte(
    round_trip: Any, files: list[bytes], id_prefix: list[str]
) -> None:
    files = [data for data in files if b"\xed\xa0" not in data]

    assert round_trip("nary", files or [b"{}\n"], ".json", id_prefix=id_prefix)[0] == (files or [b"{}\n"])


@pytest.mark.parametrize("text", ["\n\ufeffa,b,c\n", "\ufeff\r\na,b,c\r\n", "\ufeff\n\n", "\ufeffr"])
def test_marks_and_lines_of_nothing_else_come_back(round_trip: Any, text: str) -> None:
    data = text.encode()

    assert round_trip("nary", [data], ".txt", layout="hype")[0] == [data]


def test_lines_with_ids_come_back(round_trip: Any) -> None:
    data = b"7 r a b\n8 r a\n8 r a b c"

    assert round_trip("nary", [data], ".txt", layout="hype", leading_id=True)[0] == [data]


@pytest.mark.parametrize("id_prefix", PREFIXES)
def test_real_files_come_back_byte_for_byte(round_trip: Any, shared: Path, id_prefix: list[str]) -> None:
    folder = shared / "data" / "kg"
    paths = [*sorted(folder.glob("nary/*/*.txt")), folder / "nary/wikipeople/valid.json"]
    paths += sorted(folder.glob("triples/*/t*t.txt"))
    files = [path.read_bytes() for path in paths]

    found, report = round_trip("nary", files, ".txt", id_prefix=id_prefix)

    assert len(files) == 9
    assert found == files
    assert report.losses == {}


def test_the_samples_come_back(round_trip: Any, root: Path) -> None:
    files = [path.read_bytes() for path in sorted((root / "sample_data/nary").iterdir())]

    assert len(files) == 3
    assert round_trip("nary", files, ".txt")[0] == files


def test_rejected_lines_are_a_loss_and_the_others_are_written(round_trip: Any) -> None:
    found, report = round_trip("nary", [b"a,b,c\na,b\nd,e,f\n"], ".txt", on_error="quarantine")

    assert found == [b"a,b,c\nd,e,f\n"]
    assert report.losses == {"rejected records": 1}


@pytest.mark.parametrize(
    ("source", "data", "message"),
    [
        ("text", b"one\n", "expected hyperedges, found a text structure"),
        ("hif", b'{"incidences": [{"edge": 1, "node": 2}]}', "expected a fact that tells the layout first"),
    ],
)
def test_structures_of_other_sources_are_refused(round_trip: Any, source: str, data: bytes, message: str) -> None:
    with pytest.raises(ExportError, match=message):
        round_trip(source, [data], ".json" if source == "hif" else ".txt", as_format="nary", allow_losses=True)


def test_of_a_file_without_a_good_line_nothing_is_kept_and_none_comes_back(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/bad.txt").write_bytes(b"a,b\n,\n")
    (tmp_path / "in/good.txt").write_bytes(b"a,b\n" * 3 + b"a,b,c\n")

    convert("nary", tmp_path / "in", tmp_path / "out", on_error="quarantine")
    (report,) = lisdata.export(tmp_path / "out", tmp_path / "back")

    dataset = IncidenceDataset(tmp_path / "out")
    assert [len(list(dataset.iter_structures(info.index))) for info in dataset.inputs] == [0, 2]
    assert [path.name for path in report.files] == ["good.txt"]
    assert (tmp_path / "back/good.txt").read_bytes() == b"a,b,c\n"
    assert report.losses == {REJECTED: 5}
    assert lisdata.audit(tmp_path / "out", tmp_path / "back").ok


def test_a_file_whose_first_unit_has_no_good_line_still_tells_its_layout(tmp_path: Path) -> None:
    lines = b"".join(b"b%07d,b\n" % n for n in range(110_000))
    (tmp_path / "a.txt").write_bytes(lines + b"a,b,c\n")

    convert("nary", tmp_path / "a.txt", tmp_path / "out", on_error="skip", unit_mib=1)
    lisdata.export(tmp_path / "out", tmp_path / "back.txt")

    assert (tmp_path / "back.txt").read_bytes() == b"a,b,c\n"
