"""Whatever a sentence holds, what is written is CoNLL-U, and what the reader does not give back is a loss by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rule_parser
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_parser import sentence_of
from small_treebanks import write_row
from small_trees import trees

from lisdata.contents import Content, Role
from lisdata.conversion import convert
from lisdata.exporters.conllu import CONLLU, CONLLU_PLAIN, ConlluExporter
from lisdata.hexatag import NONTERMINAL_GLYPHS, TERMINAL_GLYPHS, encode, projectivize
from lisdata.schema import ContentKind, StructureKind
from lisdata.shards import IncidenceDataset, InputInfo, Part, write_structures
from lisdata.structure import Incidence, Instance, Occurrence, Structure

PIECES = ("a", "b c", "_", "", "\t", "\n", "\r", " ", "a\tb", "\n1\tx", "#", "|", "漢", "\x85", "\u2028", "\0", "é")
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=3).map("".join)
MILD = st.sampled_from(["a", "bc", "漢"])
MILD_FORMS = MILD.map(str.encode)
FORMS = MILD_FORMS | HOSTILE.map(str.encode) | st.sampled_from([b"\xff", b"a\xed\xa0\x80", b"\x80\t"])
MILD_GAPS, GAPS = st.sampled_from([b" ", b" ", b""]), st.sampled_from([b"", b" ", b"  ", b"\t", b"\n", b"\xff"])
SELDOM = st.sampled_from([False, False, False, True])
LOSSES_OF_TEXT = (
    "text around words that is not one space",
    "words that the text spells otherwise",
    "words that no column can hold",
    "multiword tokens that no column can hold",
)
TOKEN = Role("sentence", "token")
SOURCES = {
    "other": InputInfo(index=0, name="a", scope="s", compression=None, source="other", exporter="text"),
    "parsed": InputInfo(index=0, name="a", scope="s", compression=None, source="parsed", exporter="text"),
}


# -- any structure of text -------------------------------------------------------------------------------------------


class OneInput(IncidenceDataset):
    """A dataset whose structures all are of one input."""

    def iter_part_rows(self, file_index: int | None = None) -> Iterator[tuple[Part, Any]]:
        assert file_index == 0
        yield from super().iter_part_rows(None)


@st.composite
def layouts(draw: st.DrawFn, forms: list[bytes]) -> tuple[bytes, list[tuple[int, int] | None]]:
    """A text of the forms with gaps between them, where some neighbours share one surface; seldom spans are any."""
    gaps = GAPS if draw(SELDOM) else MILD_GAPS
    document, places = draw(gaps) if draw(SELDOM) else b"", []
    while len(places) < len(forms):
        number = 2 if draw(SELDOM) else 1
        surface = draw(FORMS if draw(SELDOM) else MILD_FORMS) if number == 2 else forms[len(places)]
        places += [(len(document), len(document) + len(surface))] * min(number, len(forms) - len(places))
        document += surface + draw(gaps)
    if draw(SELDOM):
        ends = st.tuples(*[st.integers(0, len(document))] * 2).map(sorted).map(tuple)
        places = [draw(st.none() | ends) for _ in forms]
    return document, places


@st.composite
def sentences(draw: st.DrawFn) -> Structure:
    """A structure of text with words in the role of tokens; all else may be anything."""
    tree = draw(trees(max_words=4))
    number = len(tree)
    forms = draw(st.lists(FORMS if draw(SELDOM) else MILD_FORMS, min_size=number, max_size=number))
    document, places = draw(layouts(forms))
    heads: list[int | None] = list(tree)
    if draw(SELDOM):
        heads = draw(st.lists(st.none() | st.integers(0, number), min_size=number, max_size=number))
    tags: list[Any] = [(None, None)] * number
    if draw(st.booleans()):
        lifted = projectivize(tree, [""] * number).heads
        tags = [(int(t), int(n)) for t, n in zip(*encode(lifted), strict=True)]
    if draw(SELDOM):
        tags = [(draw(st.none() | st.integers(0, 1)), draw(st.none() | st.integers(0, 4))) for _ in tree]
    relations = HOSTILE if draw(SELDOM) else st.none() | st.just("obj")
    deprels = draw(st.lists(relations, min_size=number, max_size=number))
    has_document = not (draw(SELDOM) and draw(SELDOM))
    occurrences = [
        Occurrence(
            content=Content(ContentKind.WORD, form),
            span=place if has_document else None,
            head=head,
            deprel=deprel,
            terminal=terminal,
            nonterminal=nonterminal,
        )
        for form, place, head, deprel, (terminal, nonterminal) in zip(forms, places, heads, deprels, tags, strict=True)
    ]
    incidences = [Incidence(occurrence=v, instance=0, role=TOKEN, position=v) for v in range(number)]
    instances = [Instance(label="sentence", ordinal=0)]
    if draw(SELDOM):  # a fact about a word
        role = Role("sentence", draw(st.sampled_from(["lemma", "comment", "line", "colour"])))
        incidences.append(Incidence(occurrence=0, instance=0, role=role, position=0))
    if number > 1 and draw(SELDOM) and draw(SELDOM):
        instances.append(Instance(label="sentence", ordinal=1))
        incidences[number - 1] = Incidence(occurrence=number - 1, instance=1, role=TOKEN, position=0)
    return Structure(
        record_id=draw(st.sampled_from(["s#1", "s#1", "s#1", "s\n1\tx#", "s\r#"])),
        kind=StructureKind.TEXT,
        occurrences=tuple(occurrences),
        instances=tuple(instances),
        incidences=tuple(incidences),
        document=document if has_document else None,
    )


def words_of(structure: Structure) -> list[Occurrence]:
    tokens = sorted((i for i in structure.incidences if i.role == TOKEN), key=lambda i: i.position)
    return [structure.occurrences[i.occurrence] for i in tokens]


def name_of(structure: Structure) -> str:
    comments = [i.occurrence for i in structure.incidences if i.role == Role("sentence", "comment")]
    texts = [structure.occurrences[place].content.text for place in comments]
    return next(text for text in texts if text.startswith("# sent_id = ")).removeprefix("# sent_id = ")


def tags_in(path: Path) -> list[tuple[int, int] | None]:
    """Return what MISC says of the tags of each word."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if line[:1].isdigit()]
    items = [dict(item.partition("=")[::2] for item in row[9].split("|")) for row in rows if "-" not in row[0]]
    return [
        (TERMINAL_GLYPHS.index(i["HexTerminal"]), NONTERMINAL_GLYPHS.index(i["HexNonterminal"]))
        if "HexTerminal" in i
        else None
        for i in items
    ]


def num_different(before: list[Any], after: list[Any]) -> int:
    return sum(a != b for a, b in zip(before, after, strict=True))


def check_losses(exporter: ConlluExporter, source: str, written: list[Structure], folder: Path) -> dict[str, int]:
    """Export and read again, by a reader that stops at what is no CoNLL-U: each difference must be counted."""
    write_structures(folder / "data", written)
    path = folder / "back.conllu"
    report = exporter.export(OneInput(folder / "data"), path, (SOURCES[source],))
    convert("conllu", path, folder / "again")
    after = list(IncidenceDataset(folder / "again").iter_structures())

    losses = Counter(report.losses)
    before = [s for s in written if len({i.instance for i in s.incidences if i.role == TOKEN}) == 1]
    assert losses["structures of several sentences"] == len(written) - len(before)
    assert len(after) == len(before) == report.num_records
    old, new = ([w for s in structures for w in words_of(s)] for structures in (before, after))
    assert losses["words that no column can hold"] == num_different(
        [w.content.lexical for w in old], [w.content.lexical for w in new]
    )
    nameless = losses["relations called _, which stands for none"]
    assert losses["relations that no column can hold"] + nameless == num_different(
        [w.deprel for w in old], [w.deprel for w in new]
    )
    assert losses["names of sentences that no column can hold"] == num_different(
        [s.record_id for s in before], [name_of(s) for s in after]
    )
    heads = [[[w.head for w in words_of(s)] for s in structures] for structures in (before, after)]
    assert losses["sentences whose heads are no tree"] == num_different(*heads)
    texts = [[(s.document or b"").removesuffix(b" ") for s in structures] for structures in (before, after)]
    assert texts[0] == texts[1] or any(losses[name] for name in LOSSES_OF_TEXT)
    tags = [(w.terminal, w.nonterminal) for w in old]
    came = tags_in(path) if exporter.with_tags else [(w.terminal, w.nonterminal) for w in new]
    lost = [a for a, b in zip(tags, came, strict=True) if a not in (b, (None, None))]
    assert losses["hexatags"] == len(lost)
    return dict(losses)


@pytest.mark.parametrize("exporter", [CONLLU, CONLLU_PLAIN], ids=lambda exporter: exporter.name)
@settings(max_examples=15, deadline=None)
@given(written=st.lists(sentences(), min_size=1, max_size=12), source=st.sampled_from([*SOURCES]))
def test_whatever_a_structure_of_text_holds_the_export_is_read_and_each_difference_is_a_loss(
    exporter: ConlluExporter, source: str, written: list[Structure], tmp_path_factory: pytest.TempPathFactory
) -> None:
    distinct = [replace(s, record_id=f"{number}{s.record_id}") for number, s in enumerate(written)]

    check_losses(exporter, source, distinct, tmp_path_factory.mktemp("export"))


# -- from a parser ---------------------------------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(
    text=st.lists(st.sampled_from(["a", "bc", " ", "\t", "\n", "漢", ".", "\x1b"]), min_size=1, max_size=12).map(
        "".join
    ),
    random=st.randoms(use_true_random=False),
    relations=st.lists(HOSTILE, min_size=1, max_size=4),
)
def test_whatever_a_parser_names_its_relations_and_words_the_export_is_read(
    round_trip: Any, text: str, random: Any, relations: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    parsed = rule_parser.random_parse(random, text)
    named = [replace(s, deprels=[relations[n % len(relations)] for n in range(len(s.heads))]) for s in parsed]
    rule_parser.SCRIPT[text] = named

    (found,), report = round_trip(
        "parsed", [text.encode()], ".txt", as_format="conllu", parser="python:rule_parser:recite", unit="document"
    )

    folder = tmp_path_factory.mktemp("again")
    (folder / "a.conllu").write_bytes(found)
    convert("conllu", folder / "a.conllu", folder / "d")
    again = list(IncidenceDataset(folder / "d").iter_structures())
    assert len(again) == len(named) == report.num_records
    deprels = [w.deprel for s in again for w in words_of(s)]
    given_names = [name or None for s in named for name in s.deprels]
    lost = [name for name in report.losses if name.startswith("relations ")]
    assert (deprels == given_names) == (lost == [])


HOSTILE_ROWS = [
    ("a relation", {"deprels": ["root\tx\n1"]}, "1\tdu\t_\t_\t_\t_\t0\troot_x_1\t_\tSpaceAfter=No", "relations"),
    ("a form", {"forms": ["d\te"]}, "1\td e\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No", "words"),
    ("a form of line ends", {"forms": ["\n"]}, "1\t_\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No", "words"),
]


@pytest.mark.parametrize(
    ("change", "row", "what"), [case[1:] for case in HOSTILE_ROWS], ids=[c[0] for c in HOSTILE_ROWS]
)
def test_a_column_is_written_without_what_it_cannot_hold(
    round_trip: Any, change: dict[str, Any], row: str, what: str
) -> None:
    rule_parser.SCRIPT["du"] = [replace(sentence_of([(0, 2)], [0]), **change)]

    (found,), report = round_trip(
        "parsed", [b"du"], ".txt", as_format="conllu-plain", parser="python:rule_parser:recite"
    )

    assert found.decode().split("\n")[2:] == [row, "", ""]
    assert report.losses[f"{what} that no column can hold"] == 1


def test_the_surface_of_a_multiword_token_is_one_line(round_trip: Any) -> None:
    rule_parser.SCRIPT["d\nu"] = [replace(sentence_of([(0, 3), (0, 3)], [0, 1]), forms=["de", "le"])]

    (found,), report = round_trip(
        "parsed", [b"d\nu"], ".txt", as_format="conllu-plain", parser="python:rule_parser:recite", unit="document"
    )

    rows = found.decode().split("\n")[2:]
    assert rows[0] == write_row("1-2", "d u", misc="SpaceAfter=No")
    assert report.losses == {"multiword tokens that no column can hold": 1}


# -- MISC ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("misc", "written"),
    [
        ("", ""),
        ("_", ""),
        ("HexHead=3", ""),
        ("HexTerminal=x|HexNonterminal=y", ""),
        ("A=1", "A=1|"),
        ("HexHead=3|A=1|HexTerminal=x", "A=1|"),
        ("A=1|HexHead=3|B", "A=1|B|"),
    ],
)
def test_tags_are_items_of_misc_whatever_it_held(round_trip: Any, misc: str, written: str) -> None:
    data = f"{write_row('1', 'a', 0, 'root', misc)}\n\n".encode()

    (found,), report = round_trip("conllu", [data], ".conllu", as_format="conllu")

    assert found.decode().split("\n")[0].split("\t")[9] == f"{written}HexTerminal=↗|HexNonterminal=EOS"
    assert report.losses == {}
