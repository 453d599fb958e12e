"""CoNLL-U for tests: sentences with trees, written in every way that the format allows."""

from __future__ import annotations

from hypothesis import strategies as st
from small_trees import Heads, trees

TEXTS = st.sampled_from(["_", "a", "2 001", "x\u00a0y", "漢字", "é", "#", "|", "don't", "\r", "a\u2028b", "\x85", ""])
FORMS = TEXTS.filter(bool)
MISC = st.sampled_from(["_", "SpaceAfter=No", "Gloss=x|SpaceAfter=No", "NoSpaceAfter=No", "SpaceAfter=No.", "A=1"])
COMMENTS = st.sampled_from(["#", "# text = a\tb  ", "# sent_id = 1", "#_", "#1\t2"])


def write_row(identity: str, form: str, head: int | str = "_", deprel: str = "_", misc: str = "_") -> str:
    """Return a line whose other columns are _."""
    return "\t".join([identity, form, "_", "_", "_", "_", str(head), deprel, "_", misc])


def write_sentence(heads: Heads, forms: list[str] | None = None) -> bytes:
    """Return a sentence with these heads."""
    names = forms or [f"w{number}" for number in range(1, len(heads) + 1)]
    rows = [write_row(str(n), form, head, "dep") for n, (form, head) in enumerate(zip(names, heads, strict=True), 1)]
    return "\n".join([*rows, "", ""]).encode()


@st.composite
def sentences(draw: st.DrawFn) -> bytes:
    """Draw a sentence with a tree or without heads, up to its blank lines."""
    heads = draw(trees(max_words=5))
    has_tree = draw(st.integers(0, 5)) > 0
    rows: list[str] = draw(st.lists(COMMENTS, max_size=2))
    reach = 0
    for number, head in enumerate(heads, 1):
        if number > reach and draw(st.integers(0, 3)) == 0:
            reach = draw(st.integers(number, len(heads)))
            rows.append(write_row(f"{number}-{reach}", draw(FORMS), misc=draw(MISC)))
        zeros = draw(st.sampled_from(["", "", "", "0"]))
        columns = [
            f"{zeros}{number}",
            draw(FORMS),
            *draw(st.lists(TEXTS, min_size=4, max_size=4)),
            str(head) if has_tree else "_",
        ]
        rows.append("\t".join([*columns, draw(TEXTS), draw(TEXTS), draw(MISC)]))
        if draw(st.integers(0, 4)) == 0:
            rows.append(write_row(f"{number}.1", draw(FORMS)))
        rows += draw(st.lists(COMMENTS, max_size=1)) if draw(st.integers(0, 4)) == 0 else []
    end = draw(st.sampled_from(["\n", "\n", "\n", "\r\n"]))
    blank = draw(st.sampled_from(["", "", "", "  "])) + end
    return ("".join(row + end for row in rows) + blank * draw(st.sampled_from([1, 1, 1, 2]))).encode()


@st.composite
def treebanks(draw: st.DrawFn) -> bytes:
    """Draw a file of sentences."""
    data = b"".join(draw(st.lists(sentences(), max_size=6)))
    mark = draw(st.sampled_from(["", "", "\ufeff"])).encode()
    before = draw(st.sampled_from([b"", b"", b"\n", b"\n\n", b" \n\r\n\n"]))
    return mark + before + (data[:-1] if draw(st.booleans()) else data) if data else b""
