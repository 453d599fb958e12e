"""Labels joined by key: from facts, from columns, from a file."""

from __future__ import annotations

import bz2
from pathlib import Path

import numpy as np
import pytest

from lisdata.contents import Content, Role, entity
from lisdata.encoding.config import RDFS_LABEL
from lisdata.encoding.label_join import LabelTable, join_dataset_labels, join_file_labels, language_rank
from lisdata.encoding.surfaces import LabelSpeller
from lisdata.errors import SchemaError
from lisdata.schema import ContentKind, StructureKind
from lisdata.shards import IncidenceDataset, write_structures
from lisdata.structure import Incidence, Instance, Occurrence, Structure

LABELS = ((f"{RDFS_LABEL}#subject", f"{RDFS_LABEL}#object"),)


def literal(text: str, language: str | None = None) -> Content:
    return Content(ContentKind.LITERAL, text.encode(), language=language)


def fact(n: int, relation: str, participants: dict[str, Content]) -> Structure:
    return Structure(
        record_id=str(n),
        kind=StructureKind.TRIPLES,
        occurrences=tuple(Occurrence(content=c) for c in participants.values()),
        instances=(Instance(label=relation),),
        incidences=tuple(
            Incidence(occurrence=k, instance=0, role=Role(relation, side)) for k, side in enumerate(participants)
        ),
    )


def dataset_of(path: Path, facts: list[tuple[str, Content, Content]]) -> IncidenceDataset:
    structures = [fact(n, p, {"subject": s, "object": o}) for n, (p, s, o) in enumerate(facts)]
    write_structures(path, structures)
    return IncidenceDataset(path)


def find(path: Path, *contents: Content) -> list[str | None]:
    keys = np.array([list(c.key) for c in contents], np.uint8)
    found = LabelTable(path).find(keys)
    return [found.get(n) for n in range(len(contents))]


def test_the_preferred_language_wins_then_the_first_label(tmp_path: Path) -> None:
    cat, dog, cow = entity("http://x/cat"), entity("http://x/dog"), entity("http://x/cow")
    facts = [
        (RDFS_LABEL, cat, literal("chat", "fr")),
        (RDFS_LABEL, cat, literal("plain cat")),
        (RDFS_LABEL, cat, literal("British cat", "en-GB")),
        (RDFS_LABEL, cat, literal("cat", "EN")),
        (RDFS_LABEL, cat, literal("second cat", "en")),
        (RDFS_LABEL, dog, literal("chien", "fr")),
        (RDFS_LABEL, cow, entity("http://x/label")),
        ("http://x/name", dog, literal("dog", "en")),
    ]

    joined = join_dataset_labels(dataset_of(tmp_path / "lis", facts), LABELS, ("en", ""), tmp_path)

    assert find(joined, cat, dog, cow) == ["cat", None, None]


def test_labels_come_from_columns_too(tmp_path: Path) -> None:
    key = Content(ContentKind.ENTITY, b"1", scope="table:Artist.ArtistId")
    row = fact(0, "Artist", {"ArtistId": key, "Name": literal("AC/DC")})
    nameless = fact(1, "Artist", {"ArtistId": entity("2"), "Name": Content(ContentKind.NULL, b"")})
    write_structures(tmp_path / "lis", [row, nameless])

    roles = (("Artist#ArtistId", "Artist#Name"),)
    joined = join_dataset_labels(IncidenceDataset(tmp_path / "lis"), roles, ("",), tmp_path)

    assert find(joined, key, entity("1"), entity("2")) == ["AC/DC", None, None]


def test_many_keys_in_many_files_are_all_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lisdata.encoding.label_join.CHUNK", 70)
    path = tmp_path / "labels.tsv"
    path.write_text("".join(f"k{n}\tlabel {n}\n" for n in range(1000)) + "k7\tlate\n", encoding="utf-8")

    joined = join_file_labels(str(path), tmp_path)

    entities = [entity(f"k{n}") for n in range(1001)]
    assert find(joined, *entities) == [*(f"label {n}" for n in range(1000)), None]


def test_a_csv_file_has_quotes_and_any_other_has_none(tmp_path: Path) -> None:
    quoted, tabbed = tmp_path / "a.csv.bz2", tmp_path / "a.tsv"
    quoted.write_bytes(bz2.compress(b'key,label\r\n"a","one, ""two"""\r\nkey,label\r\n'))
    tabbed.write_text('a\t"open\nb\tx, y\n', encoding="utf-8")
    (tmp_path / "1").mkdir()

    from_csv = join_file_labels(str(quoted), tmp_path / "1")
    from_tsv = join_file_labels(str(tabbed), tmp_path)

    assert find(from_csv, entity("a"), entity("key")) == ['one, "two"', "label"]
    assert find(from_tsv, entity("a"), entity("b")) == ['"open', "x, y"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.tsv", b"a\tb\nc\n", "a.tsv: row 2: expected two cells, key and label, found 1"),
        ("a.tsv", b"a\t\xff\n", "a.tsv: row 1: expected UTF-8"),
        ("a.csv", b'a,b\nc,"d', "a.csv: row 2: expected UTF-8 text in cells"),
    ],
)
def test_a_damaged_table_is_refused_by_row(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)

    with pytest.raises(SchemaError, match=message):
        join_file_labels(str(path), tmp_path)


def test_the_fallback_is_local_name_then_lexical_and_misses_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("http://x/a\tAlpha\n", encoding="utf-8")
    contents = [entity("http://x/a"), entity("http://x/b"), entity("c"), literal("http://x/d")]
    structures = [fact(0, "r", {str(n): c for n, c in enumerate(contents)})]
    write_structures(tmp_path / "lis", structures)
    part = IncidenceDataset(tmp_path / "lis").parts[0]

    texts, counts = LabelSpeller(LabelTable(join_file_labels(str(path), tmp_path))).spell(part.contents)

    assert texts == ["Alpha", "b", "c", "http://x/d"]
    assert (counts.labels, counts.local_names, counts.misses) == (1, 1, 2)


@pytest.mark.parametrize(
    ("language", "preferences", "rank"),
    [
        ("en", ("en", ""), 0),
        ("en-GB", ("en", ""), 1),
        (None, ("en", ""), 2),
        ("de", ("en", ""), None),
        ("eng", ("en",), None),
        (None, ("en",), None),
        ("de", ("en", "*"), 2),
        (None, ("*",), 0),
        ("DE", ("en", "de"), 2),
    ],
)
def test_languages_are_ranked_by_preference(
    language: str | None, preferences: tuple[str, ...], rank: int | None
) -> None:
    assert language_rank(language, preferences) == rank
