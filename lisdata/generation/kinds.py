"""Which models generate, and how: a maker of sessions for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module

from torch import nn

from lisdata.encoding import Tokenizer
from lisdata.generation.generating import Session
from lisdata.generation.tag_sources import TagSource


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRequest:
    """What a session is made of: room for `capacity` tokens; `tags` None leaves the model its own way.

    `structure` has the columns of the prompt, and of the first token after it, of a model that reads endpoints.
    """

    tokenizer: Tokenizer
    capacity: int
    tags: TagSource | None = None
    structure: Mapping[str, Sequence[int]] = field(default_factory=dict)


MakeSession = Callable[[nn.Module, SessionRequest], Session]

_ADDRESSED = "lisdata.generation.addressed_session:make_session"
GENERATORS: Mapping[str, str] = {
    "rope": _ADDRESSED,
    "alibi": _ADDRESSED,
    "lisformer-lines": _ADDRESSED,
    "zero-offset": _ADDRESSED,
    "own-line": _ADDRESSED,
    "sliding-window": _ADDRESSED,
    "lisformer": _ADDRESSED,
    "sipe-transformer-xl": "lisdata.generation.sessions:make_session",
}
"""For each registered model that goes on with a text the function, as "module:function", that makes its sessions."""


def load_generator(model: str) -> MakeSession:
    """Return what makes sessions of models called `model`; raise ValueError, naming those there are, for others."""
    if model not in GENERATORS:
        raise ValueError(f"the model {model} does not go on with a text: those that do are {', '.join(GENERATORS)}")
    module, _, function = GENERATORS[model].partition(":")
    make: MakeSession = getattr(import_module(module), function)
    return make
