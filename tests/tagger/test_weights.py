from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from small_taggers import SIZES, drawn_network

from lisdata.tagger.weights import ENGLISH, TaggerError, load_tagger, read_config, save_tagger


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_tagger(drawn_network(), tmp_path / "tagger", about={"seed": 0})
    return tmp_path / "tagger"


def test_a_tagger_comes_back_in_half_precision(folder: Path) -> None:
    found = load_tagger(folder)

    assert found.config == SIZES
    assert not found.training
    for name, tensor in drawn_network().state_dict().items():
        assert torch.equal(found.state_dict()[name], tensor.half().float()), name


def test_what_is_loaded_is_saved_again_byte_for_byte(folder: Path, tmp_path: Path) -> None:
    save_tagger(load_tagger(folder), tmp_path / "again", about={"seed": 0})

    for name in ("config.json", "model.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def change_config(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()

    with pytest.raises(TaggerError, match=f"{name}: expected a file of a tagger, found No such file"):
        load_tagger(folder)


def test_another_version_is_refused(folder: Path) -> None:
    change_config(folder, format="lisdata tagger 2")

    with pytest.raises(TaggerError, match="expected the format 'lisdata tagger 1', found 'lisdata tagger 2'"):
        load_tagger(folder)


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "\udcff"])
def test_what_is_no_config_is_refused(folder: Path, text: str) -> None:
    (folder / "config.json").write_bytes(text.encode("utf-8", "surrogateescape"))

    with pytest.raises(TaggerError, match=r"config\.json: expected"):
        load_tagger(folder)


def test_a_field_of_another_type_is_named(folder: Path) -> None:
    change_config(folder, network=[])

    with pytest.raises(TaggerError, match="network: expected an object"):
        read_config(folder)


@pytest.mark.parametrize("network", [{"deprels": ["a"], "depth": 3}, {"deprels": ["a"], "width": 7}, {"width": 8}])
def test_sizes_that_there_cannot_be_are_refused(folder: Path, network: dict[str, object]) -> None:
    change_config(folder, network=network)

    with pytest.raises(TaggerError, match="expected the weights of the network"):
        load_tagger(folder)


def test_weights_of_another_network_are_refused(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    change_config(folder, network=config["network"] | {"width": 10})

    with pytest.raises(TaggerError, match="expected the weights of the network"):
        load_tagger(folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("num_layers", r"num_layers=1000000000, found weights of 2"),
        ("num_rows", r"tables\.0\.weight of shape \(1000000000, 6\), found \(50, 6\)"),
        ("feature_width", r"tables\.0\.weight of shape \(50, 1000000000\), found \(50, 6\)"),
        ("width", r"mix\.bias of shape \(1000000000,\), found \(8,\)"),
    ],
)
def test_a_network_much_larger_than_its_weights_is_refused_before_it_is_built(
    folder: Path, name: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = json.loads((folder / "config.json").read_text())
    change_config(folder, network=config["network"] | {name: 1_000_000_000})
    monkeypatch.delattr("lisdata.tagger.network.HexatagNetwork.__init__")

    with pytest.raises(TaggerError, match=message):
        load_tagger(folder)


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-1] + b"\xff", lambda data: b""])
def test_damaged_weights_are_refused(folder: Path, damage: object) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]

    with pytest.raises(TaggerError, match="sha256 does not match"):
        load_tagger(folder)


def test_what_is_no_safetensors_is_refused_though_its_hash_is_right(folder: Path) -> None:
    import hashlib

    (folder / "model.safetensors").write_bytes(b"not tensors")
    change_config(folder, sha256=hashlib.sha256(b"not tensors").hexdigest())

    with pytest.raises(TaggerError, match="expected the weights of the network"):
        load_tagger(folder)


def test_the_english_tagger_is_whole_small_and_has_a_card() -> None:
    network = load_tagger(ENGLISH)

    assert "nsubj" in network.config.deprels
    assert sum(path.stat().st_size for path in ENGLISH.iterdir()) < 8_000_000
    assert "licence" in (ENGLISH / "README.md").read_text().lower()
