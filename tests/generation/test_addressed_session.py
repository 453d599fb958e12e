"""What the models of LIS go on with is what computing everything anew would give."""

import pytest
import torch
from torch import nn

from lisdata.generation.addressed_session import AddressedSession
from lisdata.generation.generating import draw_tokens
from lisdata.generation.sampling import Sampler, Sampling
from lisdata.models import build_model

TINY = {"vocabulary_size": 7, "width": 16, "num_layers": 2, "num_attention_heads": 2, "seed": 0}
GREEDY = Sampling(temperature=0)


def build_tiny(name: str, **config: object) -> nn.Module:
    return build_model(name, **TINY, **config).double().eval()


@pytest.mark.parametrize(
    ("name", "config"),
    [("rope", {}), ("alibi", {}), ("lisformer-lines", {"newline_id": 0}), ("own-line", {"newline_id": 0})],
)
@pytest.mark.parametrize("sampling", [GREEDY, Sampling(seed=3), Sampling(temperature=0.7, top_k=3, seed=4)])
def test_text_goes_on_as_if_computed_anew_for_each_token(name: str, config: dict[str, int], sampling: Sampling) -> None:
    model = build_tiny(name, **config)
    drawn = draw_tokens(AddressedSession(model), [1, 2, 0, 3], Sampler(sampling), max_tokens=40).token_ids

    sampler, ids = Sampler(sampling), [1, 2, 0, 3]
    for _ in range(40):
        with torch.no_grad():
            ids.append(sampler.draw(model(torch.tensor([ids]))[0, -1]))
    assert drawn == tuple(ids[4:])


def test_a_text_after_facts_goes_on_in_its_role_instance_and_next_position() -> None:
    model = build_tiny("lisformer", num_roles=3)
    structure = {"role": [0, 1, 2], "instance": [0, 0, 1], "position": [0, 0, 0]}

    drawn = draw_tokens(AddressedSession(model, structure), [1, 2], Sampler(GREEDY), max_tokens=9).token_ids

    ids = [1, 2]
    for count in range(9):
        columns = {
            "role": [0, 1, *[2] * count],
            "instance": [0, 0, *[1] * count],
            "position": [0, 0, *range(count)],
        }
        if not count:  # the fact goes on no further, but its last token is the query itself
            columns = {"role": [0, 1], "instance": [0, 0], "position": [0, 0]}
        with torch.no_grad():
            logits = model(torch.tensor([ids]), **{name: torch.tensor([column]) for name, column in columns.items()})
        ids.append(int(logits[0, -1].argmax()))
    assert drawn == tuple(ids[2:])


def test_nothing_to_read_and_columns_without_a_token_are_refused() -> None:
    model = build_tiny("lisformer", num_roles=3)

    with pytest.raises(ValueError, match="at least one token each"):
        AddressedSession(model, {"role": []})
    with pytest.raises(ValueError, match=r"expected columns of role, .*, got kind"):
        AddressedSession(model, {"kind": [1]})
    with pytest.raises(ValueError, match="expected tokens to read"):
        AddressedSession(build_tiny("rope")).read([])
