"""Run an example's `train`, noting the rows that its loss sees: one line of JSON a batch, a file a rank."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

PACK = 64  # shorter than the examples', so that small data makes several batches


class StoppedError(Exception):
    """A training was stopped on purpose."""


def run(name: str, record: Path, *, stop_after: int | None = None, **settings: Any) -> None:
    """Call `train` of the example `name` with `settings`; raise StoppedError in the batch after so many."""
    module = import_module(name)
    loss, pack, num_batches = module.next_token_loss, module.PACK, 0

    def recorded(logits: Any, batch: dict[str, Any]) -> Any:
        nonlocal num_batches
        if num_batches == stop_after:
            raise StoppedError
        num_batches += 1
        rows = batch["row"][batch["real"][batch["pack"]]].tolist()
        with record.with_suffix(f".{os.environ.get('RANK', '0')}").open("a", encoding="utf-8") as file:
            file.write(json.dumps(rows) + "\n")
        return loss(logits, batch)

    module.next_token_loss, module.PACK = recorded, PACK
    try:
        module.train(**settings)
    finally:
        module.next_token_loss, module.PACK = loss, pack


if __name__ == "__main__":
    examples, name, record, given = sys.argv[1:]
    sys.path.insert(0, examples)
    settings = json.loads(given)
    paths = {key: Path(settings.pop(key)) for key in ("dataset", "to")}
    run(name, Path(record), **paths, **settings)
