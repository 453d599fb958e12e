"""One writer to a folder: a second one is refused, a dead one's lock is let go."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lisdata.errors import PlanError
from lisdata.locks import LOCK, hold_lock


def test_a_second_writer_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    with hold_lock(tmp_path / "new", "another run"):
        with (
            pytest.raises(PlanError, match=f"^{tmp_path / 'new'}: another run is writing here$"),
            hold_lock(tmp_path / "new", "another run"),
        ):
            pass
        with hold_lock(tmp_path / "other", "another run"):
            pass

    with hold_lock(tmp_path / "new", "another run"):
        assert (tmp_path / "new" / LOCK).exists()
    assert list((tmp_path / "new").iterdir()) == []


def test_an_error_inside_lets_the_lock_go(tmp_path: Path) -> None:
    with pytest.raises(KeyError), hold_lock(tmp_path, "another run"):
        raise KeyError

    with hold_lock(tmp_path, "another run"):
        pass


def test_the_lock_of_a_process_that_was_killed_is_let_go(tmp_path: Path) -> None:
    code = f"""
import time
from pathlib import Path
from lisdata.locks import hold_lock
with hold_lock(Path({str(tmp_path)!r}), "another run"):
    print("held", flush=True)
    time.sleep(3600)
"""
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(PlanError, match="another run"), hold_lock(tmp_path, "another run"):
        pass

    holder.send_signal(signal.SIGKILL)
    holder.communicate()

    with hold_lock(tmp_path, "another run"):
        pass
