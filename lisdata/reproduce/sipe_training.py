"""What the SiPE experiments train with: the schedule of a scale, and packs of sentences under a tag regime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lisdata.loader import Loader
from lisdata.reproduce.sipe_corpus import COLUMNS
from lisdata.reproduce.sipe_settings import SipeScale
from lisdata.token_shards import TokenDataset
from lisdata.training import Batch, BatchSource, LoaderBatches, RegimeBatches, TrainConfig


def train_config(scale: SipeScale, *, seed: int, num_steps: int | None = None) -> TrainConfig:
    """Return how long and how fast a model of the scale trains, on one thread; `num_steps` are the scale's."""
    return TrainConfig(
        num_steps=num_steps or scale.num_steps,
        batch_size=scale.batch_size,
        learning_rate=scale.learning_rate,
        weight_decay=scale.weight_decay,
        clip_norm=scale.clip_norm,
        num_warmup_steps=scale.num_warmup_steps,
        seed=seed,
        checkpoint_every=scale.checkpoint_every,
        evaluate_every=scale.evaluate_every,
        precision=scale.precision,
        num_threads=1,
    )


def pack_batches(
    dataset: TokenDataset,
    scale: SipeScale,
    *,
    regime: str,
    seed: int,
    withhold: float = 0.0,
    columns: Sequence[str] = COLUMNS,
) -> BatchSource:
    """Return batches of packs of sentences that do not see each other, one token longer than the scale's length.

    The tags are those of the `regime`, a share `withhold` of the given nonterminals withheld.
    """
    loader = Loader(
        dataset,
        scale.batch_size,
        pack_to=scale.length + 1,
        seed=seed,
        tail="drop",
        columns=(*columns, "document"),
    )
    facts: dict[str, Any] = {"batch_size": scale.batch_size, "pack_to": scale.length + 1, "seed": seed}
    packs = _Packs(LoaderBatches(loader, description={"dataset": dataset.fingerprint} | facts), columns)
    return RegimeBatches(packs, regime, withhold=withhold, seed=seed)


class _Packs:
    """Batches of packs without what tells of the rows in them: `document` says all that a model and its loss need."""

    def __init__(self, batches: LoaderBatches, columns: Sequence[str]) -> None:
        self._batches, self._columns = batches, columns
        self.state_dict, self.load_state_dict = batches.state_dict, batches.load_state_dict
        self.description = batches.description

    def next_batch(self) -> Batch:
        """Return the next batch, (B, T + 1) each."""
        batch = self._batches.next_batch()
        return {name: batch[name] for name in (*self._columns, "document")}
