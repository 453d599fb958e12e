"""Train with Lightning, whose own checkpoints keep the place of the loader.

python examples/train_lightning.py out/prose.tok --to out/lightning --devices 2
"""

from __future__ import annotations

import argparse
from pathlib import Path

import lightning
import torch
from tiny_model import COLUMNS, TinyModel, next_token_loss
from torch import Tensor

import lisdata

PACK = 256


class PackedData(lightning.LightningDataModule):
    """Packs of a token dataset for this rank; Lightning adds no sampler of its own to a loader that is no DataLoader.

    Its checkpoints hold the state of the loader and restore it in the middle of an epoch; at the begin of one
    `set_epoch` goes where the trainer is. The trainer asks anew in each epoch (`reload_dataloaders_every_n_epochs`),
    since not every one has as many packs.
    """

    def __init__(self, dataset: Path) -> None:
        super().__init__()
        self.dataset = lisdata.open(dataset)

    def setup(self, stage: str) -> None:
        """Make the loader, when the ranks are known."""
        self.loader = lisdata.Loader(self.dataset, batch_size=2, pack_to=PACK, columns=COLUMNS, seed=0)

    def train_dataloader(self) -> lisdata.Loader:
        """Return the loader, in the epoch that the trainer is in."""
        self.loader.set_epoch(self.trainer.current_epoch)
        return self.loader


class TinyModule(lightning.LightningModule):
    """The model, its loss and its optimizer."""

    def __init__(self, vocabulary_size: int) -> None:
        super().__init__()
        self.model = TinyModel(vocabulary_size, PACK)

    def training_step(self, batch: dict[str, Tensor], index: int) -> Tensor:
        """Return the loss of a batch."""
        return next_token_loss(self.model(*(batch[name] for name in COLUMNS)), batch)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return AdamW."""
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def train(dataset: Path, to: Path, *, epochs: int, save_every: int = 10, devices: int = 1) -> None:
    """Train until `epochs` are done; save into `to` every so many steps, and go on from what is there."""
    lightning.seed_everything(0, verbose=False)
    data = PackedData(dataset)
    trainer = lightning.Trainer(
        max_epochs=epochs,
        reload_dataloaders_every_n_epochs=1,
        accelerator="auto" if torch.cuda.is_available() else "cpu",
        devices=devices,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[lightning.pytorch.callbacks.ModelCheckpoint(to, save_last=True, every_n_train_steps=save_every)],
    )
    module = TinyModule(data.dataset.schema.column("input_ids").maximum + 1)
    last = to / "last.ckpt"
    trainer.fit(module, data, ckpt_path=str(last) if last.exists() else None, weights_only=True)
    trainer.save_checkpoint(to / "trained.ckpt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, help="folder of a token dataset (lisdata encode)")
    parser.add_argument("--to", type=Path, required=True, help="folder of the checkpoints")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--devices", type=int, default=1)
    train(**vars(parser.parse_args()))
