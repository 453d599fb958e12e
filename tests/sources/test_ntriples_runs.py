"""Where N-Triples may be cut: never inside the run of one subject."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ntriples_reading import read, whole

from lisdata.inputs import InputSlice
from lisdata.sources import ntriples_lines, ntriples_runs
from lisdata.sources.ntriples import NTRIPLES, NTriplesOptions

SUBJECTS = st.sampled_from(["<a:a>", "<a:a>", "<a:b>", "_:a", "_:b"])
TRIPLES = st.builds("{}{} <a:p> <a:o> .".format, st.sampled_from(["", " "]), SUBJECTS)
RUNS = st.lists(TRIPLES | st.sampled_from(["# c", "", "_:a<a:p><a:o>."]))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ntriples") / "a.nt"


def runs_of(piece: InputSlice) -> list[list[bytes]]:
    """Lines of the triples of each adjacent run of one subject, as a reader of structures groups them."""
    runs: list[list[bytes]] = []
    for batch in read(piece)[0]:
        data = piece.read()
        previous = None
        for subject, begin, end in zip(batch.subject_content, batch.begin.tolist(), batch.end.tolist(), strict=True):
            if subject != previous:
                runs.append([])
            runs[-1].append(data[begin - piece.begin : end - piece.begin])
            previous = subject
    return runs


@settings(max_examples=80, deadline=None)
@given(lines=RUNS, size=st.integers(1, 200), ending=st.sampled_from(["", "\n"]))
def test_no_block_cuts_a_run_of_one_subject(path: Path, lines: list[str], size: int, ending: str) -> None:
    piece = whole(path, ("\n".join(lines) + ending).encode())
    expected = runs_of(piece)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ntriples_lines, "BLOCK_BYTES", size)
        found = runs_of(piece)
        blocks = [(offset, b"".join(chunks)) for offset, chunks in ntriples_runs.iter_runs(piece.blocks(size))]

    assert found == expected
    assert b"".join(data for _, data in blocks) == piece.read()
    assert [offset for offset, _ in blocks] == np.cumsum([0, *(len(data) for _, data in blocks)])[:-1].tolist()


@settings(max_examples=80, deadline=None)
@given(lines=RUNS, wanted=st.integers(0, 300))
@example(lines=[], wanted=0)
def test_no_unit_cuts_a_run_of_one_subject(path: Path, lines: list[str], wanted: int) -> None:
    piece = whole(path, "\n".join(lines).encode())
    wanted = min(wanted, piece.file.size)

    cut = NTRIPLES.find_cut(piece, wanted, NTriplesOptions())

    assert wanted <= cut <= piece.file.size
    parts = (InputSlice(file=piece.file, end=cut), InputSlice(file=piece.file, begin=cut))
    assert [run for part in parts for run in runs_of(part)] == runs_of(piece)


def test_a_run_that_does_not_fit_in_memory_is_cut_at_a_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntriples_runs, "MAX_RUN_BYTES", 1000)
    monkeypatch.setattr(ntriples_lines, "BLOCK_BYTES", 100)
    line = b"<a:s> <a:p> <a:o> .\n"
    piece = whole(path, line * 500)

    sizes = [batch.num_records for batch in read(piece)[0]]
    cut = NTRIPLES.find_cut(piece, 500, NTriplesOptions())

    assert sum(sizes) == 500
    assert max(sizes) * len(line) < 2000
    assert 1500 < cut < 1600
    assert cut % len(line) == 0
