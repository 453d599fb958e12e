from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_treebanks import treebanks, write_row, write_sentence
from small_trees import read_trees, treebank_paths

from lisdata.conversion import convert
from lisdata.errors import BadRecordError
from lisdata.hexatag import decode, projectivize
from lisdata.inputs import InputSlice, find_inputs
from lisdata.records import SentenceRecords
from lisdata.registry import load_source
from lisdata.schema import NO_ROW, UNTAGGED
from lisdata.sources import conllu, conllu_blocks
from lisdata.sources.conllu import CONLLU
from lisdata.sources.conllu_records import ConlluOptions

GOOD = write_sentence([2, 0])
CROSSING = write_sentence([0, 1, 1, 2])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("conllu") / "a.conllu"


def whole(path: Path, data: bytes) -> InputSlice:
    path.write_bytes(data)
    return InputSlice(file=find_inputs([str(path)], suffixes=CONLLU.suffixes)[0])


def stop(error: BadRecordError) -> None:
    raise error


def read(piece: InputSlice, reject: Any = stop, **options: Any) -> list[dict[str, Any]]:
    """Each sentence as what the tables say of it."""
    return [s for r in CONLLU.read(piece, ConlluOptions(**options), reject) for s in iter_sentences(r)]


def iter_sentences(records: SentenceRecords) -> Iterator[dict[str, Any]]:
    contents = records.contents.column("lexical").to_pylist()
    labels = records.labels.column("label").to_pylist()
    for number in range(records.num_records):
        words, notes = (slice(*o[number : number + 2]) for o in (records.word_offsets, records.note_offsets))
        yield {
            "begin": int(records.begin[number]),
            "end": int(records.end[number]),
            "document": records.documents[number].as_py(),
            "forms": [contents[i] for i in records.word_content[words]],
            "spans": list(zip(records.word_begin[words].tolist(), records.word_end[words].tolist(), strict=True)),
            "heads": records.head[words].tolist(),
            "deprels": [None if i == NO_ROW else labels[i] for i in records.deprel_label[words]],
            "terminal": records.terminal[words].tolist(),
            "nonterminal": records.nonterminal[words].tolist(),
            "notes": [
                (labels[role], position, contents[text])
                for role, position, text in zip(
                    records.note_role[notes].tolist(),
                    records.note_position[notes].tolist(),
                    records.note_content[notes].tolist(),
                    strict=True,
                )
            ],
        }


def counts_of(piece: InputSlice, reject: Any = stop, **options: Any) -> dict[str, int]:
    found: Counter[str] = Counter()
    for records in CONLLU.read(piece, ConlluOptions(**options), reject):
        found.update(records.counts)
    return dict(found)


def test_it_is_registered() -> None:
    assert load_source("conllu") is CONLLU


def test_a_sentence_has_its_words_tree_tags_and_notes(path: Path) -> None:
    rows = [
        "# text = She can't.",
        write_row("1", "She", 3, "nsubj"),
        write_row("2-3", "can't", misc="SpaceAfter=No"),
        "2\tca\tcan\tAUX\tMD\tA=b\t3\taux\t3:aux\tX=y",
        write_row("3", "n't", 0, "root"),
        write_row("3.1", "gone"),
        write_row("4", ".", 3, "_", "SpaceAfter=No"),
    ]

    (sentence,) = read(whole(path, "\n".join([*rows, "", ""]).encode()))

    assert sentence["document"] == b"She can't."
    assert sentence["forms"] == [b"She", b"ca", b"n't", b"."]
    assert sentence["spans"] == [(0, 3), (4, 6), (6, 9), (9, 10)]  # "ca" and "n't" spell "can't"
    assert sentence["heads"] == [3, 3, 0, 3]
    assert sentence["deprels"] == ["nsubj", "aux", "root", None]
    assert decode(sentence["terminal"], sentence["nonterminal"]).tolist() == sentence["heads"]
    assert sentence["notes"] == [
        ("sentence#lemma", 1, b"can"),
        ("sentence#upos", 1, b"AUX"),
        ("sentence#xpos", 1, b"MD"),
        ("sentence#feats", 1, b"A=b"),
        ("sentence#deps", 1, b"3:aux"),
        ("sentence#misc", 1, b"X=y"),
        ("sentence#misc", 3, b"SpaceAfter=No"),
        ("sentence#comment", 0, rows[0].encode()),
        ("sentence#line", 1, rows[2].encode()),
        ("sentence#line", 3, rows[5].encode()),
    ]


def test_words_that_do_not_spell_their_multiword_token_share_its_span(path: Path) -> None:
    rows = [
        write_row("1-2", "du"),
        write_row("1", "de", 3, "case"),
        write_row("2", "le", 3, "det"),
        write_row("3", "pain", 0, "root"),
    ]

    (sentence,) = read(whole(path, "\n".join([*rows, "", ""]).encode()))

    assert sentence["document"] == b"du pain"
    assert sentence["spans"] == [(0, 2), (0, 2), (3, 7)]


def test_with_heads_alone_there_are_no_notes_and_the_rest_is_the_same(path: Path, shared: Path) -> None:
    piece = whole(path, (shared / "data" / "ud" / "en_ewt-ud-dev.conllu").read_bytes()[:200_000] + b"\n\n")
    piece = replace(piece, end=CONLLU.find_cut(piece, 190_000, ConlluOptions()))

    found = read(piece, columns="heads")

    assert found == [sentence | {"notes": []} for sentence in read(piece)]


# -- trees -----------------------------------------------------------------------------------------------------------


def test_the_golden_tags_of_english_ewt_come_out_of_its_files(shared: Path) -> None:
    golden = [json.loads(line) for line in (shared / "data/hexatag/golden_open.jsonl").read_text().splitlines()]
    wanted = {g["sent_id"]: g for g in golden if g["source"].startswith("en_ewt")}
    files = find_inputs([str(p) for p in sorted((shared / "data/ud").glob("en_ewt*"))], suffixes=CONLLU.suffixes)

    found = {}
    for sentence in (s for file in files for s in read(InputSlice(file=file))):
        comments = [text.decode() for role, _, text in sentence["notes"] if role == "sentence#comment"]
        (name,) = [c.removeprefix("# sent_id = ") for c in comments if c.startswith("# sent_id = ")]
        found[name] = sentence

    assert len(wanted) >= 90
    for name, expected in wanted.items():
        assert found[name]["terminal"] == expected["terminal_id"]
        assert found[name]["nonterminal"] == expected["nonterminal_id"]


def test_treebanks_round_trip_through_their_tags(shared: Path) -> None:
    non_projective = lifted = 0
    for path in treebank_paths(shared):
        (file,) = find_inputs([str(path)], suffixes=CONLLU.suffixes)
        found = read(InputSlice(file=file), columns="heads")
        trees = list(read_trees(path))
        assert [sentence["heads"] for sentence in found] == [heads for heads, _ in trees]
        for sentence, (heads, deprels) in zip(found, trees, strict=True):
            decoded = decode(sentence["terminal"], sentence["nonterminal"]).tolist()
            if decoded != heads:
                tree = projectivize(heads, deprels)
                assert decoded == list(tree.heads)
                non_projective, lifted = non_projective + 1, lifted + len(tree.lifted)
        assert [sentence["deprels"] for sentence in found] == [deprels for _, deprels in trees]
    assert (non_projective, lifted) == (1490, 2871)


def test_english_ewt_has_57_sentences_that_are_not_projective(shared: Path) -> None:
    pieces = [
        InputSlice(file=file)
        for file in find_inputs(
            [str(p) for p in sorted((shared / "data/ud").glob("en_ewt*"))], suffixes=CONLLU.suffixes
        )
    ]
    errors: list[BadRecordError] = []

    lifted, dropped = (
        [counts_of(piece, columns="heads", non_projective=policy) for piece in pieces]
        for policy in ("projectivize", "drop")
    )
    refused = [counts_of(piece, errors.append, columns="heads", non_projective="raise") for piece in pieces]

    assert [c["non-projective sentences"] for c in lifted] == [31, 26]
    assert sum(c["lifted arcs"] for c in lifted) == 63
    assert [c["dropped sentences"] for c in dropped] == [31, 26]
    assert len(errors) == 57
    assert refused == [{"words": c["words"]} for c in dropped]


def test_a_sentence_that_is_not_projective_keeps_its_heads_and_has_the_lifted_tree_s_tags(path: Path) -> None:
    first, second = read(whole(path, CROSSING + GOOD))

    assert first["heads"] == [0, 1, 1, 2]
    assert decode(first["terminal"], first["nonterminal"]).tolist() == [0, 1, 1, 1]
    assert decode(second["terminal"], second["nonterminal"]).tolist() == [2, 0]


def test_a_sentence_without_heads_is_kept_untagged_and_counted(path: Path) -> None:
    data = b"1\ta" + b"\t_" * 8 + b"\n\n"

    first, second = read(whole(path, data + GOOD))

    assert (first["heads"], first["terminal"], first["nonterminal"]) == ([-1], [UNTAGGED], [UNTAGGED])
    assert second["heads"] == [2, 0]
    assert counts_of(whole(path, data + GOOD)) == {"words": 3, "sentences without a tree": 1}


def test_further_roots_are_attached_to_the_first_for_the_tags_alone(path: Path) -> None:
    piece = whole(path, GOOD + write_sentence([2, 0, 0, 3, 0]) + GOOD)

    found = read(piece, multi_root="attach")

    assert [s["heads"] for s in found] == [[2, 0], [2, 0, 0, 3, 0], [2, 0]]
    assert decode(found[1]["terminal"], found[1]["nonterminal"]).tolist() == [2, 0, 2, 3, 2]
    assert counts_of(piece, multi_root="attach") == {"words": 9, "attached roots": 2}


# -- faults ----------------------------------------------------------------------------------------------------------

FAULTS = {
    "1\ta\n": (2, "10 columns with tabs between them, found 2 in '1\\ta'"),
    write_row("1", "a", 0) + "\t_\n": (2, "10 columns with tabs between them, found 11 in"),
    write_row("1", "a", 0).replace("\t", "  ") + "\n": (2, "10 columns with tabs between them, found 1 in"),
    write_row("1", "", 0) + "\n": (2, "a FORM, found an empty one for ID 1"),
    write_row("a", "a", 0) + "\n": (2, "an ID of the form N, N-M or N.M, found ID 'a'"),
    write_row("2", "a", 0) + "\n": (2, "ID 1, found ID '2'"),
    write_row("1", "a", 0) + "\n" + write_row("3", "b", 1) + "\n": (3, "ID 2, found ID '3'"),
    write_row("1-2", "a") + "\n" + write_row("1", "a", 0) + "\n": (
        2,
        "a multiword token over words of the sentence that no other one holds, found 1-2 in a sentence of 1 word",
    ),
    write_row("1-0", "a") + "\n" + write_row("1", "a", 0) + "\n" + write_row("2", "b", 1) + "\n": (
        2,
        "that no other one holds, found 1-0 in a sentence of 2 words",
    ),
    write_row("1-99999999999", "a") + "\n" + write_row("1", "a", 0) + "\n# c\n" + write_row("1.1", "e") + "\n": (
        2,
        "that no other one holds, found 1-99999999999 in a sentence of 1 word",
    ),
    write_row("1", "a", "root") + "\n": (2, "a number or _ in column HEAD, found 'root' for word 1"),
    write_row("1", "a", 0) + "\n" + write_row("2", "b") + "\n": (3, "a HEAD for each word, or for none, found '_'"),
    "# a comment\n": (2, "a sentence with words, found none"),
    write_row("1", "a", 0) + "\n" + write_row("2", "b", 9) + "\n": (
        3,
        "a tree with one root, found word 2 has head 9 in a sentence of 2 words",
    ),
    write_row("1", "a", 0) + "\n" + write_row("2", "b", 1 << 32) + "\n": (
        3,
        "found word 2 has head 4294967296 in a sentence of 2 words",
    ),
    write_row("1", "a", "9" * 90) + "\n": (2, f"found word 1 has head {'9' * 60}... in a sentence of 1 word"),
    write_row("1", "a", 0) + "\n" + write_row("2", "b", 2) + "\n": (3, "found word 2 is its own head"),
    write_row("1", "a", 2) + "\n" + write_row("2", "b", 1) + "\n": (2, "found no word is the root: none has head 0"),
    write_row("1", "a", 0) + "\n" + write_row("2", "b", 0) + "\n": (3, "found words 1 and 2 are both roots"),
    write_row("1", "a", 0) + "\n" + write_row("2", "b", 3) + "\n" + write_row("3", "c", 2) + "\n": (
        2,
        "found words 2 and 3 go round in a cycle",
    ),
    "# \udcff\n" + write_row("1", "a", 0) + "\n": (2, "UTF-8, found byte 0xff (invalid start byte)"),
}


@pytest.mark.parametrize("lines", FAULTS, ids=[message for _, message in FAULTS.values()])
def test_a_bad_sentence_is_named_by_its_line_and_touches_no_other(path: Path, lines: str) -> None:
    line, message = FAULTS[lines]
    data = lines.encode(errors="surrogateescape") + b"\n"
    errors: list[BadRecordError] = []
    around = read(whole(path, GOOD + GOOD))

    found = read(whole(path, b"\n" + data + GOOD + data + GOOD), errors.append)

    assert [s | {"begin": 0, "end": 0} for s in found] == [s | {"begin": 0, "end": 0} for s in around]
    assert [e.data for e in errors] == [b"\n" + data, data]
    assert [e.place.line for e in errors] == [line, line + data.count(b"\n") + 3]
    assert all(message in str(e) for e in errors)
    with pytest.raises(BadRecordError, match=rf"^a\.conllu:{line}:\d+: expected "):
        read(whole(path, b"\n" + data + GOOD))


def test_a_sentence_is_refused_for_crossing_arcs_where_that_is_asked_for(path: Path) -> None:
    with pytest.raises(BadRecordError, match=r"a\.conllu:4:1: expected a projective tree, found the arc from 2 to 4"):
        read(whole(path, GOOD + CROSSING), non_projective="raise")


@settings(deadline=None, max_examples=60)
@given(parts=st.lists(st.sampled_from([GOOD, CROSSING, b"#\n\n", b"1\t\xff\n\n", write_sentence([1])]), max_size=8))
def test_every_byte_is_in_a_sentence_that_was_converted_rejected_or_dropped(path: Path, parts: list[bytes]) -> None:
    errors: list[BadRecordError] = []

    found = read(whole(path, b"".join(parts)), errors.append, non_projective="drop")

    begins = np.cumsum([0, *map(len, parts)]).tolist()
    assert [(s["begin"], s["end"]) for s in found] == [
        (begins[i], begins[i + 1]) for i, part in enumerate(parts) if part == GOOD
    ]
    assert [(e.begin, e.end, e.data) for e in errors] == [
        (begins[i], begins[i + 1], part) for i, part in enumerate(parts) if part not in (GOOD, CROSSING)
    ]


@pytest.mark.parametrize("block", [1, 50, 1000])
@pytest.mark.parametrize("num_before", [0, 3])
def test_lines_are_counted_across_blocks_and_from_the_file_s_begin(
    path: Path, monkeypatch: pytest.MonkeyPatch, block: int, num_before: int
) -> None:
    parts = [GOOD, GOOD, b"# none\n\n\n", GOOD, b"#\n1\ta\n\n", b"2\n\n", GOOD, b"# \xff\n" + GOOD]
    monkeypatch.setattr(conllu, "_BLOCK_BYTES", block)
    errors: list[BadRecordError] = []

    read(replace(whole(path, b"".join(parts)), begin=sum(map(len, parts[:num_before]))), errors.append)

    places = [(7, 1), (14, 1), (16, 1), (21, 3)]
    assert [(e.place.line, e.place.column) for e in errors] == (places[1:] if num_before else places)


def test_a_file_of_blank_lines_alone_is_one_bad_record(path: Path) -> None:
    with pytest.raises(BadRecordError, match=r"^a\.conllu:1:1: expected a sentence with words, found none$"):
        read(whole(path, b"\n\n"))
    assert read(whole(path, b"")) == []


# -- blocks and cuts -------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=80)
@given(data=treebanks(), wanted=st.integers(0, 400), block=st.integers(1, 80))
def test_cut_anywhere_and_read_in_blocks_of_any_size_the_sentences_are_the_same(
    path: Path, data: bytes, wanted: int, block: int
) -> None:
    piece, wanted = whole(path, data), min(wanted, len(data))
    expected = read(piece)

    cut = CONLLU.find_cut(piece, wanted, ConlluOptions())

    assert wanted <= cut <= len(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conllu, "_BLOCK_BYTES", block)
        halves = [replace(piece, end=cut)] if cut else []
        halves += [replace(piece, begin=cut)] if cut < len(data) else []
        assert [sentence for half in halves for sentence in read(half)] == expected


def test_a_cut_stands_after_a_blank_line_however_it_is_written(path: Path) -> None:
    data = b"# one\n\n\n# two\r\n\r\n# three\n  \n# four\n"
    piece = whole(path, data)

    cuts = {CONLLU.find_cut(piece, wanted, ConlluOptions()) for wanted in range(len(data) + 1)}

    assert {data[cut : cut + 5] for cut in cuts} == {b"# one", b"# two", b"# thr", b"# fou", b""}


PARTS = st.sampled_from([GOOD, GOOD, CROSSING, b"#\n\n", b"1\t\xff\n\n", write_sentence(range(40)), b"# c\n" * 60])


@settings(deadline=None, max_examples=150)
@given(
    mark=st.sampled_from([b"", "\ufeff".encode()]),
    blank=st.sampled_from([b"", b"\n", b"\n\n", b" \n\r\n\n", b"\n" * 70]),
    parts=st.lists(PARTS, max_size=5),
    blocks=st.lists(st.integers(1, 300), min_size=2, max_size=2),
    limit=st.integers(40, 2000),
)
def test_what_is_converted_and_what_is_refused_does_not_depend_on_blocks(
    path: Path, mark: bytes, blank: bytes, parts: list[bytes], blocks: list[int], limit: int
) -> None:
    data = mark + blank + b"".join(parts)
    piece, outcomes = whole(path, data), []
    for block in (1 << 20, *blocks):
        errors: list[BadRecordError] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(conllu, "_BLOCK_BYTES", block)
            patch.setattr(conllu_blocks, "MAX_SENTENCE_BYTES", limit)
            found = read(piece, errors.append)
        assert all(error.data in (None, data[error.begin : error.end]) for error in errors)
        bounds = sorted([(s["begin"], s["end"]) for s in found] + [(e.begin, e.end) for e in errors])
        assert [begin for begin, _ in bounds] + [len(data)] == [0, *(end for _, end in bounds)]
        outcomes.append((found, list(map(str, errors))))

    assert outcomes[1:] == outcomes[:1] * 2


def test_a_mark_and_blank_lines_belong_to_the_first_sentence_wherever_blocks_are_cut(path: Path) -> None:
    piece = whole(path, "\ufeff\n\n".encode() + GOOD + GOOD)
    for block in range(1, 60):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(conllu, "_BLOCK_BYTES", block)
            found = read(piece)
        assert [(s["begin"], s["heads"]) for s in found] == [(0, [2, 0]), (5 + len(GOOD), [2, 0])]


def test_a_sentence_too_long_to_be_held_is_one_bad_record_and_the_next_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conllu_blocks, "MAX_SENTENCE_BYTES", 300)
    monkeypatch.setattr(conllu, "_BLOCK_BYTES", 64)
    errors: list[BadRecordError] = []
    long = b"# a long comment\n" * 40 + GOOD  # of which the end could be taken for a sentence

    found = read(whole(path, GOOD + long + GOOD + b"1\n\n"), errors.append)

    assert [s["heads"] for s in found] == [[2, 0], [2, 0]]
    assert (errors[0].begin, errors[0].end) == (len(GOOD), len(GOOD + long))
    expected = f"a.conllu:4:1: expected a blank line after less than 300 bytes, found a sentence of {len(long)} bytes"
    assert [str(e) for e in errors] == [
        expected,
        "a.conllu:50:1: expected 10 columns with tabs between them, found 1 in '1'",
    ]


def test_a_sentence_too_long_is_counted_and_quarantined_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conllu_blocks, "MAX_SENTENCE_BYTES", 300)
    monkeypatch.setattr(conllu, "_BLOCK_BYTES", 64)
    long = write_sentence([0, *range(1, 60)])
    (tmp_path / "a.conllu").write_bytes(GOOD + long + GOOD)

    manifest = convert("conllu", tmp_path / "a.conllu", tmp_path / "a.lis", on_error="quarantine", workers=1)

    assert [file["records"] for file in manifest["inputs"]] == [{"seen": 3, "converted": 2, "rejected": 1}]
    (kept,) = (tmp_path / "a.lis" / "rejects").glob("*.bin")
    assert kept.read_bytes() == long


def test_a_sentence_that_a_damaged_stream_cuts_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sentences = [write_sentence([0], [rng.bytes(200).hex()]) for _ in range(400)]
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress(b"".join(sentences))[:-4000])
    (file,) = find_inputs([str(tmp_path / "a.conllu.gz")], suffixes=CONLLU.suffixes)
    found: list[dict[str, Any]] = []

    with pytest.raises(BadRecordError):  # noqa: PT012
        for records in CONLLU.read(InputSlice(file=file), ConlluOptions(), stop):
            found += iter_sentences(records)

    assert 0 < len(found) < len(sentences)
    assert found[-1]["end"] == sum(map(len, sentences[: len(found)]))
