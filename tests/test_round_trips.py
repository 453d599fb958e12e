"""Every real file goes there and back under the promise of its source, and `audit` finds nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_files import ROADS, SHARED, real_names, roads_of
from way_back import walk_file

NAMES = real_names()
MISSING = pytest.param("", marks=pytest.mark.skip(reason=f"real inputs not found at {SHARED}: set LISDATA_SHARED"))


@pytest.mark.parametrize("name", NAMES or [MISSING])
def test_a_real_file_comes_back_as_its_source_promises(tmp_path: Path, name: str) -> None:
    walked = walk_file(name, tmp_path)

    assert walked
    for found in walked:
        assert found.faults == [], found.road
        assert found.num_inputs > 0
        assert found.structures > 0 or found.contents == 0


@pytest.mark.skipif(not NAMES, reason=f"real inputs not found at {SHARED}: set LISDATA_SHARED")
def test_no_real_file_is_without_a_road_and_no_road_without_a_file() -> None:
    assert all(roads_of(name) for name in NAMES)
    used = {id(roads_of(name)) for name in NAMES}
    assert [pattern for pattern, roads in ROADS if id(roads) not in used] == []


def test_a_file_that_no_line_of_the_table_is_for_is_an_error() -> None:
    with pytest.raises(LookupError, match=r"new/thing\.bin: expected a line in ROADS"):
        roads_of("new/thing.bin")
