"""What a training run leaves for people: report.json and loss.png."""

import json
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

import lisdata
from lisdata.plots import plot_loss

FORMAT = "lisdata training report 1"
MAX_POINTS = 1000


@dataclass(slots=True)
class LossCurve:
    """The training loss, averaged over so many steps that at most about 1,000 points stand for a run."""

    interval: int
    points: list[tuple[int, float]] = field(default_factory=list)
    pending: float = 0.0
    num_pending: int = 0

    @classmethod
    def for_run(cls, num_steps: int) -> "LossCurve":
        """Return an empty curve for a run of `num_steps`."""
        return cls(interval=-(-num_steps // MAX_POINTS))

    def add(self, step: int, loss: float) -> None:
        """Add the loss of the step that ended as number `step`, counted from 1."""
        self.pending += loss
        self.num_pending += 1
        if self.num_pending == self.interval:
            self.points.append((step, self.pending / self.interval))
            self.pending, self.num_pending = 0.0, 0


def describe_versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    return {
        "python": platform.python_version(),
        "lisdata": lisdata.__version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def write_report(report: dict[str, Any], curve: LossCurve, directory: Path) -> Path:
    """Write `report` with the loss curve as report.json, and loss.png; return the path of the first."""
    path = directory / "report.json"
    partial = directory / ".report.json.partial"
    content = {"format": FORMAT, **report, "versions": describe_versions(), "loss": curve.points}
    partial.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    partial.replace(path)
    plot_loss(curve.points, directory / "loss.png")
    return path
