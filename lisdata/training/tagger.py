"""Training of a hexatagger, from nothing or from another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lisdata.tagger.network import NUM_NONTERMINALS, NUM_TERMINALS, HexatagNetwork, TaggerConfig
from lisdata.training.batches import Batch
from lisdata.training.config import TrainConfig
from lisdata.training.loop import Evaluate, Progress, TrainResult, train
from lisdata.training.loss import NOT_SCORED
from lisdata.training.tagger_batches import SentenceBatches
from lisdata.training.tagger_corpus import TreeCorpus


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggerObjective:
    """Cross-entropy of both hexatags, plus `deprel_weight` times that of the relation, each a mean over words."""

    deprel_weight: float = 0.3

    def __call__(self, model: nn.Module, batch: Batch) -> Tensor:
        """Return the loss of a batch of `SentenceBatches`."""
        vectors = model.embed(batch["features"])  # type: ignore[operator]
        scores = model(vectors, batch["is_word"]).float()
        terminal, nonterminal, deprel = scores.split(
            [NUM_TERMINALS, NUM_NONTERMINALS, scores.shape[-1] - NUM_TERMINALS - NUM_NONTERMINALS], -1
        )
        return (
            _mean_loss(terminal, batch["terminal"])
            + _mean_loss(nonterminal, batch["nonterminal"])
            + self.deprel_weight * _mean_loss(deprel, batch["deprel"])
        )


def _mean_loss(scores: Tensor, targets: Tensor) -> Tensor:
    total = cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=NOT_SCORED, reduction="sum")
    return total / (targets != NOT_SCORED).sum().clamp(min=1)


def train_tagger(
    corpus: TreeCorpus,
    network: HexatagNetwork,
    config: TrainConfig,
    *,
    directory: Path,
    evaluate: Evaluate | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> TrainResult:
    """Train `network` on `corpus`, as `training.train` does it: resumed exactly where it was stopped.

    `config.batch_size` counts words, padding included.
    """
    sizes = network.config
    batches = SentenceBatches(
        corpus, deprels=sizes.deprels, num_rows=sizes.num_rows, num_words=config.batch_size, seed=config.seed
    )
    facts = {"network": {name: value for name, value in asdict(sizes).items() if name != "deprels"}}
    return train(
        network,
        batches,
        config,
        directory=directory,
        objective=TaggerObjective(),
        facts=facts,
        evaluate=evaluate,
        on_progress=on_progress,
    )


def make_network(config: TaggerConfig, *, seed: int, initial: HexatagNetwork | None = None) -> HexatagNetwork:
    """Return a new network, with the weights of `initial` (of the same sizes) for all but the relations' scores.

    Relations that both know keep theirs. Raises ValueError for other sizes.
    """
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        network = HexatagNetwork(config)
    if initial is None:
        return network
    if config != replace(initial.config, deprels=config.deprels, dropout=config.dropout):
        raise ValueError(f"expected the sizes of the tagger that training begins with, got {config}")
    kept = initial.state_dict()
    old_rows, new_rows = _rows_of_scores(initial.config), _rows_of_scores(config)
    shared = [name for name in new_rows if name in old_rows]
    for name in ("scores.weight", "scores.bias"):
        scores = network.state_dict()[name].clone()
        scores[[new_rows[key] for key in shared]] = kept[name][[old_rows[key] for key in shared]]
        kept[name] = scores
    network.load_state_dict(kept)
    return network


def _rows_of_scores(config: TaggerConfig) -> dict[str, int]:
    """Return the row of each score: tags by their number, relations by their name."""
    tags = [f"tag {number}" for number in range(NUM_TERMINALS + NUM_NONTERMINALS)]
    return {name: row for row, name in enumerate([*tags, *(f"relation {name}" for name in config.deprels)])}
