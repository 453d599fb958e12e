"""Train with Hugging Face accelerate, whose own checkpoints keep the place of the loader.

accelerate launch --num_processes 2 examples/train_accelerate.py out/prose.tok --to out/accelerated
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import send_to_device, set_seed
from tiny_model import COLUMNS, TinyModel, next_token_loss

import lisdata

PACK = 256


class StepCount:
    """How many optimizer steps were made, as a thing that accelerate puts into its checkpoints."""

    step = 0

    def state_dict(self) -> dict[str, int]:
        """Return what a checkpoint keeps."""
        return {"step": self.step}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on from a checkpoint."""
        self.step = state["step"]


def train(dataset: Path, to: Path, *, epochs: int, save_every: int = 10) -> None:
    """Train until `epochs` are done; save into `to` every so many steps, and go on from what is there."""
    accelerator = Accelerator(cpu=not torch.cuda.is_available())
    set_seed(0)
    # The loader is made after the Accelerator, which sets up the ranks, and does not go through `prepare`: it hands
    # each rank its own rows.
    loader = lisdata.Loader(dataset, batch_size=2, pack_to=PACK, columns=COLUMNS, seed=0)
    model = TinyModel(loader.dataset.schema.column("input_ids").maximum + 1, PACK)
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-3))
    count = StepCount()
    accelerator.register_for_checkpointing(loader, count)  # save_state and load_state take them along
    if (to / "latest").exists():
        accelerator.load_state(str(to / "latest"))
    while loader.epoch < epochs:
        for host_batch in loader:
            batch = send_to_device(host_batch, accelerator.device)
            loss = next_token_loss(model(*(batch[name] for name in COLUMNS)), batch)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
            count.step += 1
            accelerator.print(f"epoch {loader.epoch}, step {count.step}: loss {loss.item():.3f}")
            if count.step % save_every == 0:
                accelerator.save_state(str(to / "latest"))
    accelerator.save_state(str(to / "latest"))
    accelerator.end_training()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, help="folder of a token dataset (lisdata encode)")
    parser.add_argument("--to", type=Path, required=True, help="folder of the checkpoint")
    parser.add_argument("--epochs", type=int, default=1)
    train(**vars(parser.parse_args()))
