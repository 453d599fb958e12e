"""A prompt as endpoints: participants of a fact, then the participant, or the text, that is to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lisdata.encoding import Tokenizer

TEXT_SIDE = "#token"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointPrompt:
    """Token ids, and the columns of an endpoint model for them and for the first token to come."""

    token_ids: list[int]
    structure: dict[str, list[int]]


def lay_out(
    prompt: str, facts: Sequence[tuple[str, str]], role: str | None, *, roles: Sequence[str], tokenizer: Tokenizer
) -> EndpointPrompt:
    """Return the endpoints `facts`, pairs of role and text, and `prompt` in `role`, as one structure.

    What goes on is one more participant of the facts' instance, or, in a role of text, an instance of its own, as rows
    packed with facts before text have it. The role is that of text by default. Raises ValueError for a role that the
    data do not have, listing some that they do.
    """
    if role is None:
        role = next((label for label in roles if label.endswith(TEXT_SIDE)), None)
        if role is None:
            raise ValueError(f"the data have no text: expected the role to go on with, one of {_some(roles)}")
    ids: list[int] = []
    structure: dict[str, list[int]] = {"role": [], "instance": [], "position": []}
    next_position: dict[str, int] = {}
    steps = [(label, text, 0, 0) for label, text in facts]
    for label, text, instance, num_to_come in [
        *steps,
        (role, prompt, int(role.endswith(TEXT_SIDE) and bool(facts)), 1),
    ]:
        if label not in roles:
            raise ValueError(f"the data have no role {label!r}: expected one of {_some(roles)}")
        pieces = tokenizer.encode_batch([text]).ids.tolist()
        count = len(pieces) + num_to_come
        first = next_position.get(label, 0)
        next_position[label] = first + count
        ids += pieces
        structure["role"] += [roles.index(label)] * count
        structure["instance"] += [instance] * count
        structure["position"] += range(first, first + count)
    return EndpointPrompt(token_ids=ids, structure=structure)


def _some(roles: Sequence[str]) -> str:
    shown = [label for label in roles if "#" in label]
    return ", ".join(shown[:8]) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")
