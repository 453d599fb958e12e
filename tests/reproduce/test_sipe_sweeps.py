"""The studies of SiPE's decoders by layers and by projections, and of its encoder by fusion, on a tiny corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_sipe_data import RULE, check_models_know_their_tokenizer, write_sipe_data

from lisdata.models import build_model
from lisdata.reproduce import load_experiment, sipe_axes, sipe_layers, sipe_variants
from lisdata.reproduce.runner import choose_scale, read_runs, reproduce
from lisdata.reproduce.sipe_report import items_path
from lisdata.reproduce.sipe_variants_report import PUBLISHED, masked_perplexity
from lisdata.token_shards import TokenDataset

SIZES = ["width=8", "num_attention_heads=2", "length=24", "batch_size=2", "num_warmup_steps=1", f"parser={RULE}"]
SHORT: dict[str, Any] = {
    "num_steps": 4,
    "evaluate_every": 2,
    "checkpoint_every": 1,
    "vocabulary_size": 280,
    "num_valid": 3,
    "num_test": 4,
    "blimp_pairs": 2,
}
DEPREL_VARIANTS = [name for name in sipe_variants.VARIANTS if "deprel" in name]


def tiny(name: str, **settings: Any) -> Any:
    return choose_scale(load_experiment(name), "reduced", SIZES, **(SHORT | settings))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sipe_data(tmp_path_factory.mktemp("data"))


def do(name: str, data: Path, to: Path, scale: Any, **changes: Any) -> str:
    return reproduce(name, data=data, directory=to, scale=scale, **({"num_seeds": 1} | changes))


@pytest.fixture(scope="module")
def layers(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("layers")
    do("sipe-layers", data, directory, tiny("sipe-layers", num_layers=2, first_layers=(1, 2)))
    return directory


def test_a_scale_has_one_variant_for_each_of_its_first_layers_and_one_without_tags(layers: Path) -> None:
    runs = read_runs(sipe_layers.EXPERIMENT, layers)

    assert [run["variant"] for run in runs] == ["none", "from-1", "from-2"]
    assert sipe_layers.variants_at(sipe_layers.LAYERS_SCALES["paper"])[1:] == tuple(
        f"from-{k}" for k in (1, 2, 4, 6, 8, 10, 12, 14)
    )
    assert (layers / "table.png").read_bytes().startswith(b"\x89PNG")


def test_a_later_first_layer_has_fewer_projections(layers: Path) -> None:
    size = {run["variant"]: run["num_parameters"] for run in read_runs(sipe_layers.EXPERIMENT, layers)}

    assert size["from-1"] - size["from-2"] == 8 * 8  # one layer's W_E


def test_the_paper_s_figures_stand_beside_models_of_its_depth_only(layers: Path) -> None:
    rows = {row["variant"]: row for row in json.loads((layers / "table.json").read_text())["rows"]}

    assert rows["none"]["paper"] == [18.63, 75.3, 73.09]
    assert rows["from-1"]["paper"] is None
    assert sipe_layers.PUBLISHED["from-1", "full"] == (16.95, None, 80.6)


def test_a_variant_that_a_scale_does_not_have_is_refused(data: Path, tmp_path: Path) -> None:
    scale = tiny("sipe-layers", num_layers=2, first_layers=(1,))

    with pytest.raises(ValueError, match="sipe-layers has no variant from-2: it has none, from-1"):
        do("sipe-layers", data, tmp_path, scale, variants=("from-2",))
    with pytest.raises(ValueError, match=r"expected self.first_layers=\(3,\) within 1\.\.2"):
        tiny("sipe-layers", num_layers=2, first_layers=(3,))


@pytest.mark.parametrize("name", sipe_axes.VARIANTS)
def test_each_axis_is_a_model_and_has_the_paper_s_figures(name: str) -> None:
    variant, scale = sipe_axes.VARIANTS[name], tiny("sipe-axes", num_layers=2)
    model = build_model("sipe-transformer-xl", vocabulary_size=5, **variant.model_settings(scale))

    added = sum(parameter.numel() for key, parameter in model.named_parameters() if "agreement" in key)

    num_matrices = (1 if "shared" in name else 2) * ("d_model" in name or "d_head" in name or "position+" in name)
    assert added == num_matrices * 8 * (4 if "d_head" in name else 8)
    assert (name, variant.readings[0]) in sipe_axes.PUBLISHED


def test_the_axes_are_run_and_their_table_names_the_paper_s(data: Path, tmp_path: Path) -> None:
    chosen = ("none", "disentangled-shared-d_head", "attention-per-layer")

    text = do("sipe-axes", data, tmp_path, tiny("sipe-axes", num_layers=1), variants=chosen)

    assert [run["variant"] for run in read_runs(sipe_axes.EXPERIMENT, tmp_path)] == list(chosen)
    assert text.startswith("SiPE decoders by how tags enter them")
    assert "74.17" in text
    assert "16.24" in text


@pytest.fixture(scope="module")
def variants(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("variants")
    do("sipe-variants", data, directory, tiny("sipe-variants", num_layers=1))
    return directory


def test_every_fusion_and_every_set_of_tables_is_trained_and_measured(variants: Path) -> None:
    runs = read_runs(sipe_variants.EXPERIMENT, variants)

    assert [run["variant"] for run in runs] == list(sipe_variants.VARIANTS)
    for run in runs:
        variant = sipe_variants.VARIANTS[run["variant"]]
        assert tuple(run["readings"]) == variant.readings
        for reading, found in run["readings"].items():
            items = json.loads(items_path(variants, f"{run['variant']}-seed-0").read_text())[reading]
            assert sum(items["nll"]) == pytest.approx(found["nll"], abs=1e-3)
            assert 1 < masked_perplexity(found) < 1e6
            assert ("blimp_hidden" in found) == ("blimp_hidden" in items) == (reading == "full")
    assert len({run["readings"][next(iter(run["readings"]))]["num_masked"] for run in runs}) == 1  # the same masks


def test_relations_have_a_table_of_their_own_and_are_withheld_with_the_other_tags(variants: Path) -> None:
    runs = {run["variant"]: run for run in read_runs(sipe_variants.EXPERIMENT, variants)}
    manifest = TokenDataset(variants / "tokens" / "train").manifest

    assert manifest["deprels"]["num_deprels"] == 2  # root, dep
    assert runs["add-deprel"]["num_parameters"] - runs["add"]["num_parameters"] == 2 * 8
    for name in DEPREL_VARIANTS:
        full, none = (runs[name]["readings"][reading]["nll"] for reading in ("full", "none"))
        assert full != none


def test_a_killed_run_of_an_encoder_ends_with_the_same_figures(data: Path, variants: Path, tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def kill(_done: float, _total: int, remark: str) -> None:
        if remark.startswith("alpha-deprel-for-terminal-seed-0: step 3 "):
            raise KilledError

    scale, only = tiny("sipe-variants", num_layers=1), ("alpha-deprel-for-terminal",)
    with pytest.raises(KilledError):
        do("sipe-variants", data, tmp_path, scale, variants=only, on_progress=kill)
    do("sipe-variants", data, tmp_path, scale, variants=only)

    (found,) = read_runs(sipe_variants.EXPERIMENT, tmp_path)
    (expected,) = (r for r in read_runs(sipe_variants.EXPERIMENT, variants) if r["variant"] == only[0])
    assert found["readings"] == expected["readings"]


def test_the_table_of_variants_has_the_paper_s_averages_over_glue(variants: Path) -> None:
    text = (variants / "table.txt").read_text(encoding="utf-8")

    assert set(PUBLISHED) == set(sipe_variants.VARIANTS) - {"losses-only"}
    for averages in PUBLISHED.values():
        assert all(f"{value:.2f}" in text for value in averages if value is not None)
    assert (variants / "table.png").read_bytes().startswith(b"\x89PNG")


def test_the_models_know_the_tokenizer_that_they_were_trained_with(variants: Path) -> None:
    check_models_know_their_tokenizer(variants)
