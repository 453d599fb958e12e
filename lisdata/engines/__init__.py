"""Ways to run the units of a plan; each gives the same bytes."""

from lisdata.engines.choice import PROCESSES, Engine, EngineName, run_units
from lisdata.engines.inline import UnitDone

__all__ = ["PROCESSES", "Engine", "EngineName", "UnitDone", "run_units"]
