"""An addressed model that reads endpoints token by token, each token costing one query a layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor, nn

from lisdata.generation.kinds import SessionRequest
from lisdata.generation.tag_sources import NoTags
from lisdata.models.addresses import AddressedModel
from lisdata.models.key_value_cache import KeyValueCache

STRUCTURE = ("role", "instance", "position", "document")


class AddressedSession:
    """Reads one row with a model of LIS, which must stay as it is meanwhile.

    `structure` gives the columns of the row that the model takes beside `input_ids`, each (T,), for the tokens to be
    read and, as far as it goes, for those to come. After that a token has the role, instance and document of the one
    before, and the next position. A model of text alone takes none.
    """

    def __init__(self, model: AddressedModel, structure: Mapping[str, Sequence[int]] | None = None) -> None:
        unknown = sorted(set(structure or ()) - set(STRUCTURE))
        if unknown:
            raise ValueError(f"expected columns of {', '.join(STRUCTURE)}, got {', '.join(unknown)}")
        if not all(len(column) for column in (structure or {}).values()):
            raise ValueError("expected columns of at least one token each")
        self._cache = KeyValueCache(model)
        self._structure = {name: list(column) for name, column in (structure or {}).items()}
        self._device = model.transformer.embedding.weight.device
        self.token_ids: list[int] = []

    def read(self, token_ids: Sequence[int]) -> Tensor:
        """Read further tokens, at least one, and return the logits (V,) of the next."""
        if not token_ids:
            raise ValueError("expected tokens to read, got none")
        self.token_ids += token_ids
        for name, column in self._structure.items():
            while len(column) < len(self.token_ids):
                column.append(column[-1] + (name == "position"))
        columns = {name: self._row(column) for name, column in self._structure.items()}
        return self._cache.read(self._row(self.token_ids), **columns)[0, -1]

    def _row(self, numbers: Sequence[int]) -> Tensor:
        return torch.tensor([numbers], device=self._device)


def make_session(model: nn.Module, request: SessionRequest) -> AddressedSession:
    """Return a session of a model of LIS; raise ValueError where hexatags are asked for."""
    if request.tags is not None and not isinstance(request.tags, NoTags):
        raise ValueError(f"{type(model).__name__} takes no hexatags")
    return AddressedSession(cast(AddressedModel, model), request.structure)
