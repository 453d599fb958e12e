"""How kernels are cached."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from lisdata.kernels import compiled

KERNEL = """
import sys
import numpy as np
from numba import types
from lisdata.kernels.compiled import kernel
from lisdata.kernels.steps import STEP

@kernel(types.int64(types.int64))
def advance(number):
    return number + STEP

print(advance(1), sum(advance.stats.cache_hits.values()), "numba.np.linalg" in sys.modules)
"""


def test_machine_code_is_stale_when_what_it_took_from_changed_and_else_loads_no_compiler(tmp_path: Path) -> None:
    folder = tmp_path / "lisdata" / "kernels"
    folder.mkdir(parents=True)
    for path in (folder / "__init__.py", folder.parent / "__init__.py", folder.parent / "schema.py"):
        path.write_text("")
    shutil.copy(compiled.__file__, folder)
    (folder / "advance.py").write_text(KERNEL)

    def run(step: int) -> str:
        (folder / "steps.py").write_text(f"STEP = {step}\n")
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "lisdata.kernels.advance"]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert run(1).split() == ["2", "0", "True"]
    assert run(1).split() == ["2", "1", "False"]  # from the cache
    assert run(5).split() == ["6", "0", "True"]
