"""The manifest of a run by ranks, whichever kind of run it is."""

from __future__ import annotations

from pathlib import Path

from lisdata.errors import PlanError
from lisdata.paths import StrPath
from lisdata.runs import PLAN, JsonDict
from lisdata.shards.manifest import TOKEN_FORMAT, read_sealed


def finish(to: StrPath) -> JsonDict:
    """Write the manifest of a conversion, encoding or regrouping by ranks that is all done, and return its body.

    Raises RunError, naming the ranks that have units to do, when some are not done.
    """
    from lisdata.regrouping import UNSORTED, in_first_stage

    directory = Path(to)
    if in_first_stage(directory):
        from lisdata.regrouping import finish as finish_regrouping

        return finish_regrouping(to)
    if (directory / UNSORTED / PLAN).exists() and not (directory / PLAN).exists():
        raise PlanError(f"{to}: expected a run that ranks do, found convert --sort-by: the same command goes on")
    plan = read_sealed(directory / PLAN)
    if "converter" in plan:
        from lisdata.conversion import finish as finish_conversion

        return finish_conversion(to)
    if "spilled" in plan:
        from lisdata.regrouping import finish as finish_regrouping

        return finish_regrouping(to)
    if plan["format"] == TOKEN_FORMAT and "tokenizer" in plan:
        from lisdata.encoding import finish as finish_encoding

        return finish_encoding(to)
    raise PlanError(f"{to}: expected a run that ranks do: of convert, encode or regroup")
