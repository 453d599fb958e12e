"""Which hexatags a model is given and which it is to predict: pure functions of batches, for training and evaluation.

A batch has `terminal` and `nonterminal` (B, T) as shards hold them, negative where untagged. Under a regime these are
the tags that the model is given, and `terminal_target` and `nonterminal_target` those that the tag losses predict. A
column `deprel`, if there is one, is given where all tags are, shuffled with them, and else withheld. What is drawn at
random is drawn by a document's own words: it comes out the same in whatever batch, pack, order or epoch.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from lisdata.schema import DEPREL_COLUMN
from lisdata.training.batches import Batch, BatchSource

UNTAGGED = -100
EOS, NOT_EOS = 0, 1

Tags = tuple[Tensor, Tensor]
"""Terminal and nonterminal tags, (B, T) each."""


def remove_tags(batch: Batch) -> Batch:
    """Give no tags, predict none."""
    return _with_tags(batch, given=_none(batch), predicted=_none(batch))


def keep_losses(batch: Batch) -> Batch:
    """Give no tags, predict all."""
    return _with_tags(batch, given=_none(batch), predicted=_tags(batch))


def keep_injection(batch: Batch) -> Batch:
    """Give all tags, predict none."""
    return _with_tags(batch, given=_tags(batch), predicted=_none(batch), deprel=batch.get(DEPREL_COLUMN))


def keep_tags(batch: Batch) -> Batch:
    """Give and predict all tags."""
    return _with_both(batch, _tags(batch), deprel=batch.get(DEPREL_COLUMN))


def keep_eos_bit(batch: Batch) -> Batch:
    """Give and predict of a word's tags only whether its nonterminal is EOS (0) or any other (then 1)."""
    nonterminal = batch["nonterminal"]
    bit = torch.where(nonterminal > EOS, NOT_EOS, nonterminal)
    return _with_both(batch, (_none(batch)[0], bit))


def keep_terminals(batch: Batch) -> Batch:
    """Give and predict terminals only."""
    return _with_both(batch, (batch["terminal"], _none(batch)[1]))


def keep_nonterminals(batch: Batch) -> Batch:
    """Give and predict nonterminals only."""
    return _with_both(batch, (_none(batch)[0], batch["nonterminal"]))


def shuffle_tags(batch: Batch, *, seed: int) -> Batch:
    """Give and predict the pairs of tags of each document in a random order among its tagged positions."""
    tags = {name: batch[name].clone() for name in ("terminal", "nonterminal", DEPREL_COLUMN) if name in batch}
    for row, places, generator in _iter_tagged_documents(batch, "shuffle", seed):
        order = places[torch.randperm(len(places), generator=generator).to(places.device)]
        for name, tag in tags.items():
            tag[row, places] = batch[name][row, order]
    return _with_both(batch, (tags["terminal"], tags["nonterminal"]), deprel=tags.get(DEPREL_COLUMN))


def withhold_newest(batch: Batch) -> Batch:
    """Give and predict all tags but the nonterminal of each document's last tagged word.

    It is for rows that are prefixes with the tags of their own parse, which takes the newest word for the last of its
    sentence whatever follows.
    """
    is_newest = _is_newest(batch)
    return _with_both(batch, (batch["terminal"], batch["nonterminal"].masked_fill(is_newest, UNTAGGED)))


_REGIMES: dict[str, Callable[[Batch], Batch]] = {
    "none": remove_tags,
    "losses-only": keep_losses,
    "injection-only": keep_injection,
    "full": keep_tags,
    "eos-bit": keep_eos_bit,
    "terminal-only": keep_terminals,
    "nonterminal-only": keep_nonterminals,
    "prefix": withhold_newest,
}
TAG_REGIMES = (*_REGIMES, "shuffled")


def apply_tag_regime(batch: Batch, regime: str, *, seed: int = 0) -> Batch:
    """Return the batch under one of `TAG_REGIMES`; `seed` is for "shuffled". Raises ValueError for another name."""
    if regime not in TAG_REGIMES:
        raise ValueError(f"{regime=} is none of {', '.join(TAG_REGIMES)}")
    return shuffle_tags(batch, seed=seed) if regime == "shuffled" else _REGIMES[regime](batch)


def withhold_nonterminals(batch: Batch, *, probability: float, seed: int) -> Batch:
    """Return the batch with each given nonterminal withheld with `probability`; what is predicted stays.

    So a model learns to go without the nonterminal of the newest word, as it has to where it generates.
    """
    nonterminal = batch["nonterminal"].clone()
    for row, places, generator in _iter_tagged_documents(batch, "withhold", seed):
        is_withheld = torch.rand(len(places), generator=generator) < probability
        nonterminal[row, places[is_withheld.to(places.device)]] = UNTAGGED
    predicted = batch.get("nonterminal_target", batch["nonterminal"])
    return batch | {"nonterminal": nonterminal, "nonterminal_target": predicted}


class RegimeBatches:
    """The batches of another source under a regime, with given nonterminals withheld with some probability."""

    def __init__(self, batches: BatchSource, regime: str, *, withhold: float = 0.0, seed: int = 0) -> None:
        if regime not in TAG_REGIMES:
            raise ValueError(f"{regime=} is none of {', '.join(TAG_REGIMES)}")
        if not 0 <= withhold <= 1:
            raise ValueError(f"{withhold=} is no probability")
        if seed < 0:
            raise ValueError(f"{seed=} is negative")
        self._batches, self._regime, self._withhold, self._seed = batches, regime, withhold, seed
        self.state_dict, self.load_state_dict = batches.state_dict, batches.load_state_dict

    def next_batch(self) -> Batch:
        """Return the next batch."""
        batch = apply_tag_regime(self._batches.next_batch(), self._regime, seed=self._seed)
        if not self._withhold:
            return batch
        return withhold_nonterminals(batch, probability=self._withhold, seed=self._seed)

    def description(self) -> dict[str, Any]:
        """Return the description of the source and the settings of the regime."""
        facts = {"tag_regime": self._regime, "tag_seed": self._seed, "withhold": self._withhold}
        return self._batches.description() | facts


def _tags(batch: Batch) -> Tags:
    return batch["terminal"], batch["nonterminal"]


def _none(batch: Batch) -> Tags:
    none = torch.full_like(batch["terminal"], UNTAGGED)
    return none, none


def _with_both(batch: Batch, tags: Tags, *, deprel: Tensor | None = None) -> Batch:
    return _with_tags(batch, given=tags, predicted=tags, deprel=deprel)


def _with_tags(batch: Batch, *, given: Tags, predicted: Tags, deprel: Tensor | None = None) -> Batch:
    names = "terminal", "nonterminal", "terminal_target", "nonterminal_target"
    changed = dict(zip(names, (*given, *predicted), strict=True))
    if DEPREL_COLUMN in batch:
        changed[DEPREL_COLUMN] = torch.full_like(batch[DEPREL_COLUMN], UNTAGGED) if deprel is None else deprel
    return batch | changed


def _is_tagged(batch: Batch) -> Tensor:
    return (batch["terminal"] >= 0) | (batch["nonterminal"] >= 0)


def _is_newest(batch: Batch) -> Tensor:
    """Tell which positions have a tag and no tag after them in their document, or row where there are none."""
    is_tagged = _is_tagged(batch)
    document = batch.get("document", torch.zeros_like(batch["input_ids"]))
    length = is_tagged.shape[1]
    index = torch.arange(length, device=is_tagged.device)
    place = torch.where(is_tagged, index, length)
    following = pad(place, (0, 1), value=length).flip(1).cummin(1).values.flip(1)[:, 1:]
    other = pad(document, (0, 1), value=-1).gather(1, following)
    return is_tagged & ((following == length) | (other != document))


def _iter_tagged_documents(batch: Batch, purpose: str, seed: int) -> Iterator[tuple[int, Tensor, torch.Generator]]:
    """Yield the row, tagged positions and generator of each document that has any, or of each row without documents.

    A generator is seeded by the tokens there, purpose and seed.
    """
    is_tagged, document = _is_tagged(batch), batch.get("document", torch.zeros_like(batch["input_ids"]))
    rows, columns = is_tagged.cpu().nonzero(as_tuple=True)
    if not len(rows):
        return
    numbers = document.cpu()[rows, columns]
    is_new = (rows[1:] != rows[:-1]) | (numbers[1:] != numbers[:-1])
    sizes = torch.cat([is_new.nonzero().flatten() + 1, torch.tensor([len(rows)])]).diff(prepend=torch.tensor([0]))
    salt, person = seed.to_bytes(8, "little"), purpose.encode()
    for own_rows, places in zip(rows.split(sizes.tolist()), columns.split(sizes.tolist()), strict=True):
        row, places = int(own_rows[0]), places.to(is_tagged.device)
        tokens = batch["input_ids"][row, places].cpu().to(torch.int64).numpy().astype("<i8").tobytes()
        digest = hashlib.blake2b(tokens, digest_size=8, salt=salt, person=person).digest()
        yield row, places, torch.Generator().manual_seed(int.from_bytes(digest, "little"))
