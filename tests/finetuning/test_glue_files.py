"""GLUE's files: every task's layout as it is handed out, real files, and what is refused with its line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from lisdata.errors import SchemaError
from lisdata.finetuning.glue_files import Examples, find_task_folder, read_split
from lisdata.finetuning.glue_tasks import MACRO_TASKS, TASKS, find_task

QUOTED = 'He said "no'
# header (none for CoLA), a row of two labels each, and the texts and labels that are read
LAYOUTS: dict[str, tuple[str, list[str], list[tuple[str, ...]], list[float]]] = {
    "cola": ("", [f"gj04\t1\t\t{QUOTED}.", "gj04\t0\t*\tHe no say."], [(f"{QUOTED}.",), ("He no say.",)], [1, 0]),
    "sst2": ("sentence\tlabel", ["so good \t1", f"{QUOTED} \t0"], [("so good ",), (f"{QUOTED} ",)], [1, 0]),
    "mrpc": (
        "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String",
        ["1\t70\t71\ta\tb", f"0\t72\t73\t{QUOTED}\td"],
        [("a", "b"), (QUOTED, "d")],
        [1, 0],
    ),
    "stsb": (
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore",
        ["0\tm\tf\t2012\t0\tn\tn\ta\tb\t5.000", "1\tm\tf\t2012\t1\tn\tn\tc\td\t0.25"],
        [("a", "b"), ("c", "d")],
        [5.0, 0.25],
    ),
    "qqp": (
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate",
        ["1\t2\t3\ta?\tb?\t0", "4\t5\t6\tonly one", "7\t8\t9\tc?\td?\t1"],
        [("a?", "b?"), ("c?", "d?")],
        [0, 1],
    ),
    "mnli": (
        "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
        "sentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label",
        [
            "0\t1\t1c\tf\t( a )\t( b )\t(a)\t(b)\ta\tb\tneutral\tneutral",
            "1\t2\t2e\tf\t( c )\t( d )\t(c)\t(d)\tc\td\tneutral\tcontradiction",
        ],
        [("a", "b"), ("c", "d")],
        [1, 2],
    ),
    "qnli": (
        "index\tquestion\tsentence\tlabel",
        ["0\tq?\ta\tentailment", "1\tr?\tb\tnot_entailment"],
        [("q?", "a"), ("r?", "b")],
        [0, 1],
    ),
    "rte": (
        "index\tsentence1\tsentence2\tlabel",
        ["0\ta\tb\tnot_entailment", "1\tc\td\tentailment"],
        [("a", "b"), ("c", "d")],
        [1, 0],
    ),
    "wnli": ("index\tsentence1\tsentence2\tlabel", ["0\ta\tb\t1", "1\tc\td\t0"], [("a", "b"), ("c", "d")], [1, 0]),
}


def write(folder: Path, name: str, *, suffix: str = ".tsv", split: str = "train") -> Path:
    header, rows, _, _ = LAYOUTS[name]
    path = folder / f"{split}{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(f"{line}\n" for line in ([header] if header else []) + rows).encode()
    path.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    return path


def read(folder: Path, name: str) -> Examples:
    return read_split(TASKS[name], folder, "train")


def test_every_task_has_a_layout_and_eight_count() -> None:
    assert set(LAYOUTS) == set(TASKS)
    assert set(MACRO_TASKS) == set(TASKS) - {"wnli"}


@pytest.mark.parametrize("suffix", [".tsv", ".tsv.gz"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_texts_and_labels_are_found_in_the_layout_of_each_task(name: str, suffix: str, tmp_path: Path) -> None:
    write(tmp_path, name, suffix=suffix)

    found = read(tmp_path, name)

    assert list(found.texts) == LAYOUTS[name][2]
    assert found.labels.tolist() == LAYOUTS[name][3]
    assert found.num_left_out == (1 if name == "qqp" else 0)
    assert found.labels.dtype == ("float64" if name == "stsb" else "int64")


@pytest.mark.parametrize(
    ("name", "folder", "split", "number", "first", "label"),
    [
        (
            "cola",
            "CoLA",
            "train",
            7250,
            ("Our friends won't buy this analysis, let alone the next one we propose.",),
            1,
        ),
        ("cola", "CoLA", "dev", 1043, ("The sailors rode the breeze clear of the rocks.",), 1),
        ("sst2", "SST-2", "train", 67349, ("hide new secretions from the parental units ",), 0),
        ("sst2", "SST-2", "dev", 872, ("it 's a charming and often affecting journey . ",), 1),
        ("rte", "RTE", "train", 2490, None, 1),
        ("rte", "RTE", "dev", 277, None, 1),
        ("wnli", "WNLI", "train", 518, None, 1),
        (
            "wnli",
            "WNLI",
            "dev",
            71,
            ("The drain is clogged with hair. It has to be cleaned.", "The hair has to be cleaned."),
            0,
        ),
        ("mrpc", "MRPC_fixture", "dev", 6, None, 1),
        (
            "stsb",
            "STS-B_fixture",
            "dev",
            9,
            ("A man with a hard hat is dancing.", "A man wearing a hard hat is dancing."),
            5,
        ),
    ],
)
def test_real_files_are_read_whole(
    shared: Path, name: str, folder: str, split: str, number: int, first: tuple[str, ...] | None, label: float
) -> None:
    found = read_split(find_task(name), shared / "data" / "glue" / folder, split)

    assert (len(found), len(found.labels)) == (number, number)
    assert first in (None, found.texts[0])
    assert found.labels[0] == label


def test_the_folder_is_that_of_glue_or_of_the_command_or_the_one_given(tmp_path: Path) -> None:
    task = TASKS["sst2"]
    for folder in (tmp_path / "a" / "SST-2", tmp_path / "b" / "sst2", tmp_path / "c"):
        write(folder, "sst2")
        given = folder if folder.name == "c" else folder.parent
        assert find_task_folder(given, task) == folder
    with pytest.raises(SchemaError, match=r"expected SST-2/train.tsv, found none"):
        find_task_folder(tmp_path, task)


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        (
            "rte",
            ["index\tsentence1\tsentence2\tlabel", "0\ta\tb\tmaybe"],
            r"train.tsv:2: expected a label out of ent.*'maybe'",
        ),
        ("rte", ["index\tsentence1\tsentence2\tlabel", "0\ta"], r"train.tsv:2: expected 4 columns, found 2"),
        (
            "rte",
            ["index\tpremise\tsentence2\tlabel", "0\ta\tb\tentailment"],
            r":1: expected a column sentence1, found index",
        ),
        ("rte", ["index\tsentence1\tsentence2\tlabel"], r"train.tsv: expected examples, found none"),
        ("rte", [], r":1: expected a column sentence1, found nothing"),
        ("mrpc", ["Quality\tx"], r"expected a column #1 String or sentence1, found Quality, x"),
        (
            "stsb",
            [LAYOUTS["stsb"][0], "0\tm\tf\t2\t0\tn\tn\ta\tb\tnan"],
            r"train.tsv:2: expected a number, found 'nan'",
        ),
        ("stsb", [LAYOUTS["stsb"][0], "0\tm\tf\t2\t0\tn\tn\ta\tb\tx"], r"train.tsv:2: expected a number, found 'x'"),
        ("cola", ["gj04\t1\t*"], r"train.tsv:1: expected 4 columns, found 3"),
    ],
)
def test_what_is_not_the_task_s_is_told_with_its_line(
    name: str, lines: list[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "train.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    with pytest.raises(SchemaError, match=message):
        read(tmp_path, name)


def test_bytes_that_are_no_text_are_told_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_bytes(b"gj04\t1\t\tfine\ngj04\t1\t\t\xff\n")

    with pytest.raises(SchemaError, match=r"train.tsv:2: expected UTF-8"):
        read(tmp_path, "cola")


def test_marks_of_windows_are_no_part_of_names_and_labels(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_bytes(b"\xef\xbb\xbfsentence\tlabel\r\nfine\t1\r\n")

    assert read(tmp_path, "sst2").texts == (("fine",),)


def test_a_split_that_is_not_there_is_told(tmp_path: Path) -> None:
    write(tmp_path, "cola")

    with pytest.raises(SchemaError, match=r"expected dev.tsv, found none"):
        read_split(TASKS["cola"], tmp_path, "dev")


def test_the_hash_is_of_texts_and_labels(tmp_path: Path) -> None:
    write(tmp_path, "rte")
    write(tmp_path / "packed", "rte", suffix=".tsv.gz")
    (tmp_path / "other").mkdir()
    changed = (tmp_path / "train.tsv").read_text().replace("\ta\t", "\tA\t")
    (tmp_path / "other" / "train.tsv").write_text(changed)

    assert read(tmp_path, "rte").sha256() == read(tmp_path / "packed", "rte").sha256()
    assert read(tmp_path, "rte").sha256() != read(tmp_path / "other", "rte").sha256()


def test_an_unknown_task_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no task 'cb': the tasks are cola, sst2, mrpc"):
        find_task("cb")
