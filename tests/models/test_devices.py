"""Claims about the device that models lie on."""

import os
import re

import pytest
import torch
from click.testing import CliRunner

from lisdata.cli import main
from lisdata.models import build_model
from lisdata.models.devices import current_device, on_device

SMALL = {"vocabulary_size": 7, "width": 8, "num_layers": 1, "num_attention_heads": 2}
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")


def test_models_lie_on_the_cpu_unless_a_block_says_otherwise() -> None:
    assert current_device() == torch.device("cpu")
    with on_device("auto"):
        assert current_device().type == ("cuda" if torch.cuda.is_available() else "cpu")
        with on_device("cpu"):
            assert current_device() == torch.device("cpu")
    assert current_device() == torch.device("cpu")


def test_a_block_left_by_an_error_is_left() -> None:
    with pytest.raises(KeyError), on_device("auto"):
        raise KeyError
    assert current_device() == torch.device("cpu")


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:-1", "CUDA", "mps", "", "cuda:1.5", "cpu:0", "cuda:99999"])
def test_another_name_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(ValueError, match="expected auto, cpu, cuda or cuda:N"), on_device(name):
        pass


def test_a_gpu_that_is_not_there_is_refused() -> None:
    expected = re.escape(f"device cuda:9999: torch {torch.__version__} can use")
    with pytest.raises(ValueError, match=expected), on_device("cuda:9999"):
        pass


@pytest.mark.parametrize(
    "command",
    [
        ["run", "pipelines/quickstart.toml", "--to", "out"],
        ["train", "pipelines/quickstart.toml", "--to", "out"],
        ["evaluate", "pipelines/quickstart.toml", "--to", "out"],
        ["generate", "pipelines/sipe.toml", "--to", "out", "--prompt", "The"],
        ["reproduce", "lis-table-4", "--to", "out"],
    ],
)
def test_a_command_refuses_a_wrong_device_before_it_does_anything(command: list[str], sample_free_folder: str) -> None:
    result = CliRunner().invoke(main, [*command, "--device", "gpu"])
    assert result.exit_code == 2
    assert "device 'gpu': expected auto, cpu, cuda or cuda:N" in result.output
    assert "out" not in os.listdir(sample_free_folder)


@pytest.fixture
def sample_free_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> str:
    """A folder with the recipes alone, to work in."""
    folder = tmp_path_factory.mktemp("device")
    os.symlink(os.path.abspath("pipelines"), folder / "pipelines")
    monkeypatch.chdir(folder)
    return str(folder)


def test_the_environment_chooses_for_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LISDATA_DEVICE", "cuda:9999")
    result = CliRunner().invoke(main, ["train", "pipelines/quickstart.toml", "--to", "out"])
    assert result.exit_code == 2
    assert "device cuda:9999: torch" in result.output


@GPU
def test_weights_are_the_same_on_any_device() -> None:
    here = build_model("rope", seed=0, **SMALL).state_dict()
    with on_device("cuda"):
        there = build_model("rope", seed=0, **SMALL).state_dict()
    assert all(tensor.is_cuda for tensor in there.values())
    assert all(torch.equal(here[name], tensor.cpu()) for name, tensor in there.items())
