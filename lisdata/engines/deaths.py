"""Workers that die: each is told, and a unit whose workers keep dying ends the run."""

from __future__ import annotations

import logging
from collections import Counter

from lisdata.engines.inline import JsonDict
from lisdata.errors import RunError

MAX_DEATHS = 3
_LOG = logging.getLogger("lisdata")


class Deaths:
    """Counts how often workers died in the midst of each unit; `worker` is what they are called."""

    def __init__(self, worker: str) -> None:
        self._worker = worker
        self._counts: Counter[str] = Counter()

    def add(self, units: list[JsonDict]) -> None:
        """Count the death of a worker while `units` were being run, and warn that they are run again.

        Raises RunError when it is one unit whose workers died more than MAX_DEATHS times.
        """
        self._counts.update(unit["name"] for unit in units)
        names = ", ".join(unit["name"] for unit in units)
        tries = max(self.tries(unit) for unit in units)
        if tries > MAX_DEATHS + 1:
            raise RunError(
                f"unit {names}: its {self._worker} died {tries - 1} times, killed from outside or out of memory "
                "(fewer workers or smaller units need less); what is done is kept"
            )
        _LOG.warning("a %s died; run again (try %d of %d): unit %s", self._worker, tries, MAX_DEATHS + 1, names)

    def tries(self, unit: JsonDict) -> int:
        """Return which try of the unit is the one now."""
        return 1 + self._counts[unit["name"]]
