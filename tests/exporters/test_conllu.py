from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_treebanks import treebanks, write_row, write_sentence
from small_trees import read_trees, treebank_paths

from lisdata.conversion import convert
from lisdata.datasets import export, merge
from lisdata.exporters.conllu import CONLLU, CONLLU_PLAIN
from lisdata.hexatag import NONTERMINAL_GLYPHS, TERMINAL_GLYPHS, encode, projectivize
from lisdata.registry import load_exporter

GOOD = write_sentence([2, 0])
CROSSING = write_sentence([0, 1, 1, 2])


def test_they_are_registered() -> None:
    assert load_exporter("conllu") is CONLLU
    assert load_exporter("conllu-plain") is CONLLU_PLAIN


# -- byte for byte ---------------------------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(files=st.lists(treebanks(), min_size=1, max_size=4))
def test_any_treebank_comes_back_byte_for_byte(round_trip: Any, files: list[bytes]) -> None:
    found, report = round_trip("conllu", files, ".conllu")

    assert found == files
    assert report.losses == {}


def test_every_treebank_of_ud_comes_back_byte_for_byte(round_trip: Any, shared: Path) -> None:
    files = [path.read_bytes() for path in treebank_paths(shared)]

    found, report = round_trip("conllu", files, ".conllu", arcs=False)

    assert len(files) == 15
    assert [a == b for a, b in zip(found, files, strict=True)] == [True] * len(files)
    assert (report.losses, report.num_records) == ({}, 14_490)


def test_rejected_and_dropped_sentences_are_losses(round_trip: Any) -> None:
    data = GOOD + b"# none\n\n" + CROSSING + GOOD

    found, report = round_trip("conllu", [data], ".conllu", on_error="skip", non_projective="drop")

    assert found == [GOOD + GOOD]
    assert report.losses == {"rejected records": 1, "dropped sentences": 1}
    assert report.num_records == 2


def test_quarantined_sentences_are_kept_byte_for_byte(tmp_path: Path) -> None:
    bad = [b"# none\r\n\r\n", b"1\t\xff\n\n\n"]
    (tmp_path / "a.conllu").write_bytes(GOOD + bad[0] + GOOD + bad[1])

    convert("conllu", tmp_path / "a.conllu", tmp_path / "d", on_error="quarantine")

    (rejects,) = (tmp_path / "d" / "rejects").glob("*.bin")
    assert rejects.read_bytes() == b"".join(bad)


def test_units_cut_from_one_file_come_back_as_that_file(shared: Path, tmp_path: Path) -> None:
    data = (shared / "data/ud/de_gsd-ud-test.conllu").read_bytes()
    (tmp_path / "a.conllu").write_bytes(data)

    manifest = convert("conllu", tmp_path / "a.conllu", tmp_path / "d", unit_mib=1)
    export(tmp_path / "d", tmp_path / "back")

    assert len(manifest["parts"]) == 2
    assert (tmp_path / "back").read_bytes() == data
    assert manifest["report"]["non-projective sentences"] == 93


# -- tags ------------------------------------------------------------------------------------------------------------


def test_tags_stand_behind_what_misc_has(round_trip: Any) -> None:
    rows = [write_row("1", "Dogs", 2, "nsubj"), write_row("2", "bark", 0, "root", "SpaceAfter=No"), "", ""]

    (found,), report = round_trip("conllu", ["\n".join(rows).encode()], ".conllu", as_format="conllu")

    assert found.decode().splitlines() == [
        write_row("1", "Dogs", 2, "nsubj", "HexTerminal=↗|HexNonterminal=⇗R"),
        write_row("2", "bark", 0, "root", "SpaceAfter=No|HexTerminal=↖|HexNonterminal=EOS"),
        "",
    ]
    assert report.losses == {}


@pytest.mark.parametrize("name", ["en_pud-ud-test", "fr_gsd-ud-test"])
def test_without_its_tags_a_tagged_treebank_is_the_treebank(round_trip: Any, shared: Path, name: str) -> None:
    path = shared / "data" / "ud" / f"{name}.conllu"
    expected = []
    for heads, deprels in read_trees(path):
        terminal, nonterminal = encode(projectivize(heads, deprels).heads)
        expected += [(TERMINAL_GLYPHS[t], NONTERMINAL_GLYPHS[n]) for t, n in zip(terminal, nonterminal, strict=True)]

    (found,), _ = round_trip("conllu", [path.read_bytes()], ".conllu", as_format="conllu")

    tags, lines = [], []
    for line in found.decode().split("\n"):
        before, mark, behind = line.partition("HexTerminal=")
        if mark:
            tags.append(tuple(behind.partition("|HexHead=")[0].split("|HexNonterminal=")))
        lines.append(before.removesuffix("|") + ("_" if before.endswith("\t") else "") if mark else line)
    assert tags == expected
    assert "\n".join(lines) == path.read_text(encoding="utf-8")


def test_an_unusual_layout_is_a_loss_where_tags_are_written(round_trip: Any) -> None:
    data = GOOD.replace(b"\n", b"\r\n") + b"1\ta" + b"\t_" * 8

    (found,), report = round_trip("conllu", [data], ".conllu", as_format="conllu")

    assert b"\r" not in found
    assert found.endswith(b"EOS\n\n1\ta" + b"\t_" * 8 + b"\n\n")
    assert report.losses == {"layouts of sentences": 2}


# -- what the words alone say ----------------------------------------------------------------------------------------


def test_with_heads_alone_the_words_their_trees_and_their_surface_come_back(round_trip: Any) -> None:
    rows = [
        write_row("1", "Elle", 2, "nsubj"),
        write_row("2", "vient", 0, "root"),
        write_row("3-4", "du", misc="_"),
        write_row("3", "de", 5, "case"),
        write_row("4", "le", 5, "det"),
        write_row("5", "port", 2, "obl", misc="SpaceAfter=No"),
        write_row("6", ".", 2, "punct"),
        "",
        "",
    ]
    data = "\n".join(["# sent_id = x", *rows]).encode()

    (found,), report = round_trip("conllu", [data], ".conllu", columns="heads")

    first, second, *rest = found.decode().split("\n")
    assert first.startswith("# sent_id = ")
    assert second == "# text = Elle vient du port."
    assert rest == rows
    assert report.losses == {"other columns and comments of sentences": 1}


def test_treebanks_keep_heads_and_labels_with_heads_alone(round_trip: Any, shared: Path, tmp_path: Path) -> None:
    path = shared / "data/ud/en_ewt-ud-dev.conllu"

    (found,), _ = round_trip("conllu", [path.read_bytes()], ".conllu", columns="heads")

    (tmp_path / "a.conllu").write_bytes(found)
    assert list(read_trees(tmp_path / "a.conllu")) == list(read_trees(path))
    texts = [[x for x in data.split(b"\n") if x.startswith(b"# text = ")] for data in (found, path.read_bytes())]
    assert sum(a == b for a, b in zip(*texts, strict=True)) >= 1990  # a few texts have more than one space somewhere


@pytest.mark.parametrize("as_format", ["conllu", "conllu-plain"])
def test_sentences_of_a_parser_are_written_with_spaces_and_comments(round_trip: Any, as_format: str) -> None:
    text = b"I don't know\n\nwho\tcame  \n"

    (found,), report = round_trip(
        "parsed", [text], ".txt", as_format=as_format, parser="python:small_parser:parse", unit="line"
    )

    lines = found.decode().split("\n")
    assert [line for line in lines if line.startswith("# text")] == ["# text = I don't know", "# text = who came"]
    rows = [line.split("\t") for line in lines if line[:1].isdigit()]
    assert [row[1] for row in rows] == ["I", "don", "'t", "know", "who came"]
    assert [row[6] for row in rows] == ["0", "1", "2", "3", "0"]
    assert [row[9].startswith("SpaceAfter=No") for row in rows] == [False, True, False, False, False]
    assert ["HexTerminal" in row[9] for row in rows] == [as_format == "conllu"] * 5
    assert report.losses == {
        "structures without words of a sentence": 1,
        "words that no column can hold": 1,
        "text around words that is not one space": 2,
    }


def test_structures_of_other_kinds_are_losses(round_trip: Any) -> None:
    (found,), report = round_trip("text", [b"a line\nand one\n"], ".txt", as_format="conllu", allow_losses=True)

    assert found == b""
    assert (report.num_records, report.losses) == (0, {"structures without words of a sentence": 2})


def test_inputs_of_a_merged_dataset_are_written_by_what_their_source_kept(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_bytes(GOOD)
    (tmp_path / "b.conllu").write_bytes(write_sentence([0]))
    convert("conllu", tmp_path / "a.conllu", tmp_path / "one")
    convert("conllu", tmp_path / "b.conllu", tmp_path / "two", options={"columns": "heads"})
    merge([tmp_path / "one", tmp_path / "two"], tmp_path / "both")

    (report,) = export(tmp_path / "both", tmp_path / "back")

    assert (tmp_path / "back" / "a.conllu").read_bytes() == GOOD
    assert (tmp_path / "back" / "b.conllu").read_bytes().endswith(b"# text = w1\n" + write_sentence([0]))
    assert report.losses == {"other columns and comments of sentences": 1}


def test_an_earlier_tagging_in_misc_is_replaced_and_lifted_words_have_their_head(round_trip: Any) -> None:
    heads = [2, 4, 4, 0, 7, 7, 2, 4, 4]
    stale = "HexTerminal=x|SpaceAfter=No|HexNonterminal=y|HexHead=9"
    rows = [write_row(str(n), f"w{n}", head, "dep", misc=stale) for n, head in enumerate(heads, 1)]
    data = "\n".join([*rows, "", ""]).encode()

    (found,), _ = round_trip("conllu", [data], ".conllu", as_format="conllu")
    (again,), _ = round_trip("conllu", [found], ".conllu", as_format="conllu")

    assert again == found
    miscs = [line.split("\t")[9] for line in found.decode().split("\n") if line]
    assert all(misc.startswith("SpaceAfter=No|HexTerminal=") for misc in miscs)
    assert [misc.count("Hex") for misc in miscs] == [2, 2, 2, 2, 2, 2, 3, 2, 2]
    assert miscs[6].endswith("|HexHead=4")


def test_a_space_after_a_sentence_of_running_text_is_the_usual_and_none_is_marked(round_trip: Any) -> None:
    (found,), report = round_trip(
        "parsed", [b"One two. Three four.Five six."], ".txt", as_format="conllu", parser="python:rule_parser:parse"
    )

    last = [block.strip().split("\n")[-1].split("\t") for block in found.decode().strip().split("\n\n")]
    glued = ["SpaceAfter=No" in row[9] for row in last]
    assert glued[0] is False
    assert "text around words that is not one space" not in report.losses
