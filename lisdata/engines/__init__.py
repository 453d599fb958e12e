"""Ways to run the units of a plan; each gives the same bytes."""

from lisdata.engines.pool import run_units

__all__ = ["run_units"]
