"""The scanner of CoNLL-U and the gatherer of its words against their plain twin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.kernels import conllu_scan
from lisdata.kernels.conllu_notes import Note
from lisdata.kernels.conllu_scan import NO_HEAD, PADDING, SentenceFault, scan
from lisdata.kernels.conllu_words import gather_words
from lisdata.kernels.plain_conllu import PlainSentence, iter_sentences
from lisdata.schema import NO_ROW

CELLS = st.sampled_from(
    [b"_", b"a", b"SpaceAfter=No", b"x|SpaceAfter=No|y", b"SpaceAfter=Nope", b"", b"long " * 5, b"\r"]
)
IDS = st.sampled_from(
    [b"1", b"2", b"3", b"1-2", b"2-3", b"2-2", b"3-2", b"1.1", b"0.1", b"01", b"x", b"1-", b"", b"-1"]
)
HEADS = st.sampled_from([b"_", b"0", b"1", b"2", b"00", b"99999999999999999999", b"-1", b"", b"1x"])
ENDS = st.sampled_from([b"\n"] * 8 + [b"\r\n", b""])
ODD_LINES = st.sampled_from([b"", b"", b"", b" ", b"# text = \t x", b"#", b"\t", b"one\ttwo", b"\r"])


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    if draw(st.integers(0, 3)) == 0:
        return draw(ODD_LINES) + draw(ENDS)
    row = [
        draw(IDS),
        *draw(st.lists(CELLS, min_size=5, max_size=5)),
        draw(HEADS),
        *draw(st.lists(CELLS, min_size=3, max_size=3)),
    ]
    return b"\t".join(row) + draw(ENDS)


@st.composite
def good_sentences(draw: st.DrawFn) -> bytes:
    """Sentences with words in order, so that most have no fault."""
    count = draw(st.integers(1, 4))
    rows = [draw(ODD_LINES.filter(lambda x: x.startswith(b"#")))] if draw(st.booleans()) else []
    has_heads = draw(st.booleans())
    for number in range(1, count + 1):
        if draw(st.integers(0, 4)) == 0:
            rows.append(
                b"\t".join([b"%d-%d" % (number, min(count, number + 1)), draw(CELLS), *[b"_"] * 7, draw(CELLS)])
            )
        if draw(st.integers(0, 4)) == 0:
            rows.append(b"\t".join([b"%d.1" % (number - 1), *[b"e"] * 9]))
        head = b"%d" % draw(st.integers(0, count)) if has_heads else b"_"
        cells = draw(st.lists(CELLS, min_size=8, max_size=8))
        rows.append(b"\t".join([b"%d" % number, *cells[:5], head, *cells[5:]]))
    end = draw(st.sampled_from([b"\n"] * 3 + [b"\r\n"]))
    return b"".join(row + end for row in [*rows, b""])


DATA = st.lists(lines() | good_sentences(), max_size=8).map(b"".join)


def outcomes(data: bytes, *, keeps_notes: bool = True) -> list[dict[str, Any]]:
    """What the kernels say of each sentence, in the terms of the twin."""
    scanned = scan(data + PADDING)
    rows = scanned.sentences
    good = rows["fault"] == SentenceFault.NONE
    words = gather_words(scanned, rows[good], keeps_notes=keeps_notes)
    forms, noted, deprels = words.forms.to_pylist(), words.noted.to_pylist(), [*words.deprels.to_pylist(), None]
    found: list[dict[str, Any]] = []
    first = number = 0
    for row in rows:
        begin, end = int(row["begin"]), int(row["end"])
        sentence: dict[str, Any] = {"data": data[begin:end], "fault": SentenceFault(row["fault"])}
        if row["fault"]:
            at = int(row["fault_at"])
            sentence["fault_line"] = data[at:end].partition(b"\n")[0].removesuffix(b"\r")
        else:
            own, notes = slice(first, first + int(row["num_words"])), slice(*words.notes.offsets[number : number + 2])
            sentence["forms"] = [forms[i] for i in words.word_form[own]]
            sentence["heads"] = scanned.heads[own].tolist()
            sentence["deprels"] = [deprels[-1 if i == NO_ROW else i] for i in words.word_deprel[own]]
            sentence["spans"] = list(zip(words.word_begin[own].tolist(), words.word_end[own].tolist(), strict=True))
            sentence["surface"] = words.surfaces[number].as_py()
            kinds, positions = words.notes.kind[notes].tolist(), words.notes.position[notes].tolist()
            texts = [noted[i] for i in words.notes.text[notes]]
            sentence["notes"] = list(zip(map(Note, kinds), positions, texts, strict=True))
            first, number = own.stop, number + 1
        found.append(sentence)
    assert words.notes.num_of_kind.tolist() == np.bincount(words.notes.kind, minlength=len(Note)).tolist()
    return found


def expected(sentence: PlainSentence) -> dict[str, Any]:
    found: dict[str, Any] = {"data": sentence.data, "fault": sentence.fault}
    if sentence.fault:
        line = sentence.data.partition(b"\n")[0].removesuffix(b"\r")
        return found | {"fault_line": line if sentence.fault_line is None else sentence.fault_line}
    names = ("forms", "heads", "deprels", "spans", "surface", "notes")
    found |= {name: getattr(sentence, name) for name in names}
    found["heads"] = [min(head, 2**31 - 1) for head in sentence.heads]
    return found


@given(data=DATA)
@settings(deadline=None, max_examples=400)
def test_any_lines_are_read_as_the_plain_twin_does(data: bytes) -> None:
    assert outcomes(data) == [expected(sentence) for sentence in iter_sentences(data)]


@pytest.mark.parametrize("name", ["en_ewt-ud-dev", "fr_gsd-ud-test", "nl_alpino-ud-dev"])
def test_treebanks_are_read_as_the_plain_twin_does(shared: Path, name: str) -> None:
    data = (shared / "data" / "ud" / f"{name}.conllu").read_bytes()

    assert outcomes(data) == [expected(sentence) for sentence in iter_sentences(data)]


def test_without_notes_the_words_are_the_same() -> None:
    data = b"# c\r\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\tA\t_\t_\t_\t2\tx\t_\t_\n2\tb\tB\t_\t_\t_\t0\ty\t_\t_\n\n"

    found = outcomes(data, keeps_notes=False)

    assert found == [{**s, "notes": []} for s in outcomes(data)]


def test_tables_of_texts_grow_as_long_as_new_ones_come() -> None:
    rows = [b"%d\tform %d\tlemma %d\t_\t_\t_\t_\tlabel %d\t_\t_\n" % (n, n, n, n) for n in range(1, 40_001)]
    data = b"".join(rows) + b"\n"

    words = gather_words(scanned := scan(data + PADDING), scanned.sentences, keeps_notes=True)

    assert words.forms.to_pylist() == [b"form %d" % n for n in range(1, 40_001)]
    assert words.noted.to_pylist() == [b"lemma %d" % n for n in range(1, 40_001)]
    assert words.deprels.to_pylist() == [b"label %d" % n for n in range(1, 40_001)]
    assert (words.word_form == np.arange(40_000)).all()
    assert (scanned.heads == NO_HEAD).all()


def test_what_stands_before_the_lines_belongs_to_the_first_sentence() -> None:
    data = b"\xef\xbb\xbf1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n"

    (row,) = scan(data + PADDING, begin=3).sentences

    assert (row["begin"], row["end"], row["fault"], row["is_plain"]) == (0, len(data), SentenceFault.NONE, 0)


def test_a_block_without_padding_or_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="must end in PADDING"):
        scan(b"1\n")
    monkeypatch.setattr(conllu_scan, "MAX_BYTES", 3)
    with pytest.raises(ValueError, match="at most 3 bytes"):
        scan(PADDING)
