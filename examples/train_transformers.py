"""Train GPT-2 with the Trainer of Hugging Face transformers, whose own checkpoints keep the place of the loader.

python examples/train_transformers.py out/prose.tok --to out/trained
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from tiny_model import COLUMNS, next_token_loss
from torch import Tensor
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
    set_seed,
)
from transformers.trainer_callback import ExportableState
from transformers.trainer_utils import get_last_checkpoint

import lisdata

PACK = 256


class LoaderState(TrainerCallback, ExportableState):
    """Puts the state of the loader into each checkpoint, in trainer_state.json."""

    def __init__(self, loader: lisdata.Loader) -> None:
        self.loader = loader

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {"args": {}, "attributes": {"loader": self.loader.state_dict()}}

    def restore(self, checkpoint: str) -> None:
        """Go on from a checkpoint."""
        saved = TrainerState.load_from_json(str(Path(checkpoint) / "trainer_state.json"))
        self.loader.load_state_dict(saved.stateful_callbacks[type(self).__name__]["attributes"]["loader"])


class Batches:
    """One epoch after the other, of no length: a Trainer that knows one takes as many batches from each epoch."""

    def __init__(self, loader: lisdata.Loader) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        while True:
            yield from self.loader


class PackedTrainer(Trainer):
    """A Trainer that takes the batches of a Loader as they are: each rank has its own rows already."""

    def __init__(self, loader: lisdata.Loader, **settings: Any) -> None:
        self.loader = loader
        super().__init__(**settings)

    def get_train_dataloader(self) -> Batches:
        """Return all batches from where the loader stands."""
        return Batches(self.loader)

    def compute_loss(self, model: torch.nn.Module, inputs: dict[str, Tensor], **_: Any) -> Tensor:
        """Return the loss of packs: from positions that begin at 0 again, transformers sees where documents end."""
        logits = model(input_ids=inputs["input_ids"], position_ids=inputs["position_ids"], use_cache=False).logits
        return next_token_loss(logits, inputs)


def train(dataset: Path, to: Path, *, steps: int, save_every: int = 10) -> None:
    """Train for `steps` optimizer steps in all; save into `to` every so many, and go on from what is there."""
    arguments = TrainingArguments(
        str(to),
        max_steps=steps,
        per_device_train_batch_size=2,  # what the Trainer tells of it; the Loader makes the batches
        lr_scheduler_type="constant",
        logging_strategy="no",
        save_steps=save_every,
        ignore_data_skip=True,  # the loader goes on by itself, without reading what was read
        use_cpu=not torch.cuda.is_available(),
        report_to="none",
        disable_tqdm=True,
        seed=0,
    )
    # The loader is made after the arguments, which set up the ranks.
    loader = lisdata.Loader(dataset, batch_size=2, pack_to=PACK, columns=COLUMNS, seed=0)
    vocabulary_size = loader.dataset.schema.column("input_ids").maximum + 1
    set_seed(arguments.seed)  # the Trainer does so only for what comes after the model
    model = GPT2LMHeadModel(GPT2Config(vocab_size=vocabulary_size, n_positions=PACK, n_embd=32, n_layer=2, n_head=2))
    kept = LoaderState(loader)
    trainer = PackedTrainer(loader, model=model, args=arguments, callbacks=[kept])
    checkpoint = get_last_checkpoint(str(to)) if to.exists() else None
    if checkpoint is not None:
        kept.restore(checkpoint)
    trainer.train(resume_from_checkpoint=checkpoint)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, help="folder of a token dataset (lisdata encode)")
    parser.add_argument("--to", type=Path, required=True, help="folder of the checkpoints")
    parser.add_argument("--steps", type=int, default=100)
    train(**vars(parser.parse_args()))
