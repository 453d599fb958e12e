"""Facts read from token shards, and the questions they give: one participant asked for, its role and the rest known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from lisdata.loader import BatchCollator
from lisdata.sources.nary_layout import LAYOUT, LINE, SUBJECT, VALUE
from lisdata.token_shards import TokenDataset
from lisdata.training import Batch, BatchSource

COLUMNS = ("role", "occurrence", "content")
_ROWS_AT_ONCE = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class FactVocabulary:
    """The numbers of contents and roles: `content_ids` is sorted, a content's number is its place there.

    By role: `is_participant` (what tells how a file was written takes no part in facts), `is_main` (subject or value of
    a statement, head or tail of a triple) and the number of its relation.
    """

    content_ids: Tensor
    is_participant: Tensor
    is_main: Tensor
    relation: Tensor
    num_relations: int

    @property
    def num_contents(self) -> int:
        """The number of contents that any of the facts shows."""
        return len(self.content_ids)

    @classmethod
    def of(cls, datasets: Sequence[TokenDataset]) -> FactVocabulary:
        """Return the vocabulary of datasets whose roles are numbered alike."""
        sides = [label.rpartition("#") for label in datasets[0].roles]  # that of no role is no participant's
        is_participant = [bool(mark) and name not in (LAYOUT, LINE) and "." not in side for name, mark, side in sides]
        names = [name for name, _, _ in sides]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        vocabulary = cls(
            content_ids=torch.empty(0, dtype=torch.int64),
            is_participant=torch.tensor(is_participant),
            is_main=torch.tensor([side in (SUBJECT, VALUE) for _, _, side in sides]),
            relation=torch.tensor([numbers[name] for name in names]),
            num_relations=len(numbers),
        )
        shown = [facts.content[facts.is_there] for data in datasets for facts in iter_facts(data, vocabulary)]
        return cls(
            content_ids=torch.cat(shown).unique(),
            **{name: getattr(vocabulary, name) for name in ("is_participant", "is_main", "relation", "num_relations")},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """F facts of up to E participants: content ids (not numbers) and roles (F, E), the first `size` (F) of each."""

    content: Tensor
    role: Tensor
    size: Tensor

    @property
    def is_there(self) -> Tensor:
        """Which places hold a participant, (F, E)."""
        return torch.arange(self.role.shape[1]) < self.size[:, None]


def read_facts(batch: Batch, vocabulary: FactVocabulary) -> Facts:
    """Return the facts of two participants or more that the rows of a batch with `COLUMNS` show."""
    occurrence, role = batch["occurrence"], batch["role"]
    is_first = pad(occurrence[:, 1:] != occurrence[:, :-1], (1, 0), value=True)
    is_first &= torch.arange(occurrence.shape[1]) < batch["length"][:, None]
    is_first &= vocabulary.is_participant[role]
    size = is_first.sum(1)
    place = is_first.cumsum(1) - 1
    row, column = is_first.nonzero(as_tuple=True)
    num_places = max(int(size.max()), 1) if len(size) else 1
    found = [torch.zeros(len(size), num_places, dtype=torch.int64) for _ in range(2)]
    for table, values in zip(found, (batch["content"], role), strict=True):
        table[row, place[row, column]] = values[row, column]
    is_fact = size >= 2
    return Facts(content=found[0][is_fact], role=found[1][is_fact], size=size[is_fact])


def iter_facts(dataset: TokenDataset, vocabulary: FactVocabulary) -> Iterator[Facts]:
    """Yield the facts of a dataset in order."""
    collate = BatchCollator()
    for begin in range(0, len(dataset), _ROWS_AT_ONCE):
        rows = np.arange(begin, min(begin + _ROWS_AT_ONCE, len(dataset)))
        yield read_facts(collate(dataset.gather(rows, COLUMNS)), vocabulary)


def ask(facts: Facts, vocabulary: FactVocabulary) -> Batch:
    """Return a question for each participant of each fact, its others in order and then itself.

    Columns `content` and `role` (Q, E) hold numbers; `length` (Q) counts the participants, of which the last is asked
    for; `answer` (Q) is its content. `fact` and `asked` say which it is.
    """
    fact, asked = facts.is_there.nonzero(as_tuple=True)
    size = facts.size[fact]
    place = torch.arange(facts.role.shape[1])
    order = torch.where(place < asked[:, None], place, place + 1)
    order = torch.where(place == size[:, None] - 1, asked[:, None], order).clamp(max=len(place) - 1)
    content = torch.searchsorted(vocabulary.content_ids, facts.content)[fact].gather(1, order)
    role = facts.role[fact].gather(1, order)
    answer = content.gather(1, size[:, None] - 1)[:, 0]
    return {"content": content, "role": role, "length": size, "answer": answer, "fact": fact, "asked": asked}


class QuestionBatches:
    """The questions of the facts that a loader's batches show, put into the `form` that a model reads."""

    def __init__(
        self, batches: BatchSource, vocabulary: FactVocabulary, form: Callable[[Batch, FactVocabulary], Batch]
    ) -> None:
        self._batches, self._vocabulary, self._form = batches, vocabulary, form
        self.state_dict, self.load_state_dict = batches.state_dict, batches.load_state_dict

    def next_batch(self) -> Batch:
        """Return the questions of the next batch that has any."""
        while True:
            asked = self._form(
                ask(read_facts(self._batches.next_batch(), self._vocabulary), self._vocabulary), self._vocabulary
            )
            if len(asked["answer"]):
                return asked

    def description(self) -> dict[str, Any]:
        """Return what decides the batches."""
        return self._batches.description() | {"form": self._form.__name__}


def endpoints(asked: Batch, vocabulary: FactVocabulary) -> Batch:
    """Return questions as the general LISformer reads them: an endpoint a participant, the last one's content masked.

    The mask has the number after all contents. All participants are in one instance, none has a place but its role.
    """
    place = torch.arange(asked["role"].shape[1])
    is_there = place < asked["length"][:, None]
    is_asked = place == asked["length"][:, None] - 1
    none = torch.zeros_like(asked["role"])
    return asked | {
        "input_ids": asked["content"].masked_fill(is_asked, vocabulary.num_contents),
        "instance": none,
        "position": none,
        "document": none.masked_fill(~is_there, -1),
    }


def serialized(asked: Batch, vocabulary: FactVocabulary) -> Batch:
    """Return questions as text: a marker of its role before each participant, the last one's content to come."""
    marker = asked["role"] + vocabulary.num_contents
    tokens = torch.stack([marker, asked["content"]], dim=-1).flatten(1)[:, :-1]
    return asked | {"input_ids": tokens, "length": 2 * asked["length"] - 1}


def triples(asked: Batch, vocabulary: FactVocabulary) -> Batch:
    """Return the questions for a main participant as triples: `entity`, the other main one, and `relation`.

    Whatever else a fact says is left out; so are questions of facts with other than two main participants.
    """
    place = torch.arange(asked["role"].shape[1])
    is_main = vocabulary.is_main[asked["role"]] & (place < asked["length"][:, None])
    is_asked = place == asked["length"][:, None] - 1
    chosen = (is_main.sum(1) == 2) & (is_main & is_asked).any(1)
    other = (is_main & ~is_asked)[chosen].int().argmax(1, keepdim=True)
    kept = {name: column[chosen] for name, column in asked.items()}
    entity = kept["content"].gather(1, other)[:, 0]
    relation = vocabulary.relation[kept["role"].gather(1, other)[:, 0]]
    return kept | {"input_ids": kept["content"], "entity": entity, "relation": relation}
