"""Models by name: lazily imported, refused with what exists, described for a checkpoint."""

import inspect
import subprocess
import sys

import pytest
import torch
from torch import nn

from lisdata.models import MODELS, build_model, describe_model

REQUIRED = {
    "added-addresses": {"num_roles": 3},
    "role-biases": {"num_roles": 3},
    "rope": {},
    "alibi": {},
    "random-lines": {"newline_id": 0},
    "lisformer-lines": {"newline_id": 0},
    "zero-offset": {"newline_id": 0},
    "own-line": {"newline_id": 0},
    "sliding-window": {"attention_window": 4},
    "lisformer": {"num_roles": 3},
    "sipe-transformer-xl": {},
    "sipe-roberta": {"mask_id": 4},
    "sipe-deberta": {"mask_id": 4},
    "sipe-modernbert": {"mask_id": 4},
}


def build_tiny(name: str, **config: object) -> nn.Module:
    return build_model(
        name, vocabulary_size=5, width=8, num_layers=1, num_attention_heads=2, **REQUIRED[name], **config
    )


def test_every_model_is_tested_here() -> None:
    assert MODELS.keys() == REQUIRED.keys()


@pytest.mark.parametrize("name", MODELS)
def test_the_registry_lists_the_columns_that_forward_takes(name: str) -> None:
    entry = MODELS[name]
    forward = entry.load_model_class().forward

    assert tuple(inspect.signature(forward).parameters)[1:] == entry.columns + entry.optional_columns


@pytest.mark.parametrize("name", MODELS)
def test_a_described_model_can_be_built_again(name: str) -> None:
    description = describe_model(build_tiny(name, activation="relu"))

    assert description["name"] == name
    assert describe_model(build_model(name, **description["config"])) == description


def test_a_model_from_elsewhere_is_described_by_its_class() -> None:
    assert describe_model(nn.Linear(1, 1)) == {"class": "torch.nn.modules.linear.Linear"}


def test_a_seed_fixes_the_initial_weights_and_leaves_the_global_state_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    first = build_tiny("rope", seed=7)

    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(first.transformer.output.weight, build_tiny("rope", seed=7).transformer.output.weight)


def test_an_unknown_model_is_refused_with_the_names_that_exist() -> None:
    with pytest.raises(ValueError, match=r"no model 'gpt': the models are rope, alibi, random-lines"):
        build_model("gpt", vocabulary_size=5)


def test_an_unknown_setting_is_refused_with_the_settings_that_exist() -> None:
    with pytest.raises(ValueError, match=r"'rope' does not know depth: its settings are vocabulary_size, width"):
        build_model("rope", vocabulary_size=5, depth=3)


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(ValueError, match="'lisformer-lines' needs newline_id, vocabulary_size"):
        build_model("lisformer-lines")


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"width": 10}, "does not split into 4 heads"),
        ({"num_layers": 0}, "num_layers=0 is not a positive number"),
        ({"activation": "tanh"}, "is none of gelu, relu"),
        ({"dropout": 1.0}, "outside"),
        ({"frequency_base": 1.0}, "is not above 1"),
    ],
)
def test_a_setting_out_of_range_is_refused(setting: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        build_model("rope", vocabulary_size=5, **setting)


def test_a_general_lisformer_needs_a_role() -> None:
    with pytest.raises(ValueError, match="num_roles=0"):
        build_model("lisformer", vocabulary_size=5, num_roles=0)


def test_listing_models_does_not_import_torch() -> None:
    code = "import sys, lisdata.models; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
