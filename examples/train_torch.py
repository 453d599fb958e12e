"""Train in plain PyTorch, on one process or under torchrun; a training that was stopped goes on exactly.

python examples/train_torch.py out/prose.tok --to out/plain
torchrun --nproc-per-node 2 examples/train_torch.py out/prose.tok --to out/plain
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import torch
from tiny_model import COLUMNS, TinyModel, next_token_loss
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

import lisdata

PACK = 256


def train(dataset: Path, to: Path, *, epochs: int, save_every: int = 10) -> None:
    """Train until `epochs` are done; save into `to` every so many steps, and go on from what is there."""
    if "RANK" in os.environ:
        distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    torch.manual_seed(0)
    loader = lisdata.Loader(dataset, batch_size=2, pack_to=PACK, columns=COLUMNS, seed=0)  # of this rank
    own = TinyModel(loader.dataset.schema.column("input_ids").maximum + 1, PACK)
    model = DistributedDataParallel(own) if distributed.is_initialized() else own
    optimizer = torch.optim.AdamW(own.parameters(), lr=1e-3)
    step, checkpoint = 0, to / "checkpoint.pt"
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        own.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])  # on any number of ranks
        step = saved["step"]
    while loader.epoch < epochs:
        for batch in loader:
            loss = next_token_loss(model(*(batch[name] for name in COLUMNS)), batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if loader.rank == 0:
                print(f"epoch {loader.epoch}, step {step}: loss {loss.item():.3f}")
            if step % save_every == 0:
                _save(checkpoint, model=own, optimizer=optimizer, loader=loader, step=step)
    _save(checkpoint, model=own, optimizer=optimizer, loader=loader, step=step)
    if distributed.is_initialized():
        distributed.destroy_process_group()


def _save(
    checkpoint: Path, *, model: TinyModel, optimizer: torch.optim.Optimizer, loader: lisdata.Loader, step: int
) -> None:
    """Write all that a training goes on from, on rank 0: the state of the loader is the same on each."""
    if loader.rank:
        return
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    part = checkpoint.with_suffix(".part")
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict()}
    torch.save(state | {"step": step}, part)
    part.replace(checkpoint)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, help="folder of a token dataset (lisdata encode)")
    parser.add_argument("--to", type=Path, required=True, help="folder of the checkpoint")
    parser.add_argument("--epochs", type=int, default=1)
    train(**vars(parser.parse_args()))
