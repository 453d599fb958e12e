from __future__ import annotations

import gc

import pytest

from lisdata.sources.cycle_collection import no_cycle_collection


def _fail_without_collection() -> None:
    assert not gc.isenabled()
    raise KeyError


def test_the_search_for_cycles_is_off_inside_and_on_again_after_an_error() -> None:
    assert gc.isenabled()

    with pytest.raises(KeyError), no_cycle_collection():
        _fail_without_collection()

    assert gc.isenabled()


def test_what_is_off_already_stays_off() -> None:
    gc.disable()
    try:
        with no_cycle_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
