"""Checkpoints of Hugging Face: the logits that transformers gives, and what does not fit refused with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from lisdata.evaluation.benchmarks import BenchmarkRequest, run_blimp
from lisdata.evaluation.causal_scorer import CausalScoring
from lisdata.models import describe_model
from lisdata.pretrained import PretrainedError, from_hf

SIZES = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 24}
NO_SPECIAL = {"bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2, "pad_token_id": 0}
DISENTANGLED = {
    "relative_attention": True, "share_att_key": True, "norm_rel_ebd": "layer_norm", "position_biased_input": False,
    "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0, "position_buckets": 8, "max_position_embeddings": 20,
}  # fmt: skip
CONFIGS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "roberta": ("RobertaForMaskedLM", "RobertaConfig", {"max_position_embeddings": 42, "type_vocab_size": 1}),
    "deberta": ("DebertaV2ForMaskedLM", "DebertaV2Config", DISENTANGLED),
    "deberta published head": ("DebertaV2ForMaskedLM", "DebertaV2Config", DISENTANGLED | {"legacy": False}),
    "modernbert": ("ModernBertForMaskedLM", "ModernBertConfig", NO_SPECIAL | {"local_attention": 8}),
    "modernbert every 2nd": (
        "ModernBertForMaskedLM",
        "ModernBertConfig",
        NO_SPECIAL | {"local_attention": 6, "global_attn_every_n_layers": 2},
    ),
}
INJECTION = {"roberta": "attention", "deberta": "position", "modernbert": "position+attention"}


def save_random(folder: Path, kind: str) -> Any:
    """A model of transformers with weights of the size of 1, saved in `folder`."""
    transformers = pytest.importorskip("transformers", reason="compares with transformers, which is not installed")
    model_class, config_class, options = CONFIGS[kind]
    torch.manual_seed(0)
    model = getattr(transformers, model_class)(getattr(transformers, config_class)(**SIZES, **options)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    model.save_pretrained(folder)
    return model


def draw_ids(num_rows: int = 3, length: int = 33) -> Tensor:
    return torch.randint(3, 30, (num_rows, length), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("kind", CONFIGS)
def test_logits_are_those_of_transformers(kind: str, tmp_path: Path) -> None:
    theirs, ids = save_random(tmp_path, kind), draw_ids()
    ours = from_hf(tmp_path, mask_id=29)

    with torch.no_grad():
        expected = theirs(ids).logits
        torch.testing.assert_close(ours(ids), expected, rtol=1e-4, atol=2e-5 * float(expected.abs().max()))
        assert not ours.training


@pytest.mark.parametrize("kind", CONFIGS)
def test_padding_is_as_little_seen_as_in_transformers(kind: str, tmp_path: Path) -> None:
    theirs, ids = save_random(tmp_path, kind), draw_ids()
    is_there = torch.arange(33) < torch.tensor([33, 20, 9])[:, None]
    pad_id = theirs.config.pad_token_id
    ids = ids.masked_fill(~is_there, pad_id)
    ours = from_hf(tmp_path, mask_id=29)

    with torch.no_grad():
        expected = theirs(ids, attention_mask=is_there.long()).logits[is_there]
        found = ours(ids, document=is_there.long() - 1)[is_there]

    torch.testing.assert_close(found, expected, rtol=1e-4, atol=2e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("kind", CONFIGS)
def test_an_injection_is_added_to_the_weights_and_begins_as_a_new_one(kind: str, tmp_path: Path) -> None:
    save_random(tmp_path, kind)
    base = from_hf(tmp_path, mask_id=29)
    injection = INJECTION[kind.split()[0]]
    ids, tags = draw_ids(), torch.zeros(3, 33, dtype=torch.int64)

    model = from_hf(tmp_path, mask_id=29, injection=injection, projection_std=0.0, predicts_tags=True, dropout=0.0)

    assert all(torch.equal(value, model.state_dict()[name]) for name, value in base.state_dict().items())
    with torch.no_grad():
        assert torch.equal(model(ids, tags, tags), base(ids))
        assert model.predict(ids, tags, tags).terminal.shape == (3, 33, 2)
    assert describe_model(model)["config"]["injection"] == injection


@pytest.mark.parametrize("kind", ["roberta", "modernbert"])
def test_weights_in_several_files_and_in_half_precision_are_read(kind: str, tmp_path: Path) -> None:
    save_random(tmp_path, kind).half().save_pretrained(tmp_path / "whole")
    from_hf(tmp_path / "whole", mask_id=29)
    tensors = load_file(tmp_path / "whole" / "model.safetensors")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "config.json").write_bytes((tmp_path / "whole" / "config.json").read_bytes())
    weight_map = {name: f"model-{n % 2}.safetensors" for n, name in enumerate(tensors)}
    for part in ("model-0.safetensors", "model-1.safetensors"):
        save_file({n: t for n, t in tensors.items() if weight_map[n] == part}, tmp_path / "parts" / part)
    index = {"metadata": {}, "weight_map": weight_map}
    (tmp_path / "parts" / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")

    whole, parts = from_hf(tmp_path / "whole", mask_id=29), from_hf(tmp_path / "parts", mask_id=29)

    assert all(value.dtype == torch.float32 for value in parts.state_dict().values())
    assert all(torch.equal(value, parts.state_dict()[name]) for name, value in whole.state_dict().items())


# -- a folder written by hand: transformers is not needed -------------------------------------------------------------


def write_roberta(folder: Path, **changes: Any) -> Path:
    """A checkpoint of one layer of width 4; an option that is None is left out."""
    width, options = 4, {
        "model_type": "roberta", "vocab_size": 6, "hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 8, "max_position_embeddings": 10, "layer_norm_eps": 1e-5,
    }  # fmt: skip
    options |= changes
    folder.mkdir(exist_ok=True)
    kept = {name: value for name, value in options.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(kept), encoding="utf-8")
    shapes = {
        "word_embeddings.weight": (6, 4),
        "position_embeddings.weight": (10, 4),
        "token_type_embeddings.weight": (1, 4),
    }
    shapes = {f"roberta.embeddings.{name}": shape for name, shape in shapes.items()}
    layer = "roberta.encoder.layer.0"
    for name, rows, columns in (
        *((f"{layer}.attention.self.{part}", width, width) for part in ("query", "key", "value")),
        (f"{layer}.attention.output.dense", width, width),
        (f"{layer}.intermediate.dense", 8, width),
        (f"{layer}.output.dense", width, 8),
        ("lm_head.dense", width, width),
    ):
        shapes |= {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}
    norms = ("roberta.embeddings.LayerNorm", f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm")
    shapes |= {f"{name}.{part}": (4,) for name in (*norms, "lm_head.layer_norm") for part in ("weight", "bias")}
    tensors = {name: torch.zeros(shape) for name, shape in (shapes | {"lm_head.bias": (6,)}).items()}
    save_file(tensors, folder / "model.safetensors")
    return folder


def change_tensors(folder: Path, **changes: Tensor | None) -> None:
    path = folder / "model.safetensors"
    tensors = load_file(path) | {name.replace("__", "."): tensor for name, tensor in changes.items()}
    save_file({name: tensor for name, tensor in tensors.items() if tensor is not None}, path)


def test_options_become_settings_and_rows_for_padding_are_left_out(tmp_path: Path) -> None:
    config = from_hf(write_roberta(tmp_path), mask_id=5).config

    assert (config.vocabulary_size, config.width, config.num_layers, config.mlp_width) == (6, 4, 1, 8)
    assert (config.max_positions, config.norm_epsilon, config.dropout, config.mask_id) == (8, 1e-5, 0.1, 5)


def write_tokenizer(folder: Path) -> dict[str, Any]:
    """Whole words parted by spaces, and a mask token."""
    words = {"type": "WordLevel", "unk_token": "<unk>", "vocab": {"<unk>": 0, "cats": 1, "sleep": 2, "<mask>": 3}}
    tokenizer = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": words}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    return tokenizer


def test_the_mask_token_is_that_of_the_tokenizer(tmp_path: Path) -> None:
    folder = write_roberta(tmp_path)
    tokenizer = write_tokenizer(folder)

    assert from_hf(folder).config.mask_id == 3
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer).replace("<mask>", "mask"), encoding="utf-8")
    with pytest.raises(PretrainedError, match="expected a mask token in the vocabulary, found none; give mask_id"):
        from_hf(folder)


def test_a_folder_is_scored_on_blimp_as_it_is(tmp_path: Path) -> None:
    folder = write_roberta(tmp_path / "roberta")
    change_tensors(folder, lm_head__bias=torch.tensor([0.0, 3.0, 1.0, 0.0, 0.0, 0.0]))
    write_tokenizer(folder)
    pair = {"sentence_good": "cats cats", "sentence_bad": "sleep cats", "field": "syntax", "UID": "toy"}
    (tmp_path / "blimp").mkdir()
    line = json.dumps(pair | {"linguistics_term": "binding", "pairID": "0"})
    (tmp_path / "blimp" / "toy.jsonl").write_text(line, encoding="utf-8")
    request = BenchmarkRequest(
        checkpoints=[folder],
        tokenizer=folder / "tokenizer.json",
        data=tmp_path / "blimp",
        directory=tmp_path / "report",
        scoring=CausalScoring(),
    )

    table = run_blimp(request)

    assert "mean over paradigms (1)  100.00" in table
    (model,) = json.loads((tmp_path / "report" / "blimp.json").read_text(encoding="utf-8"))["facts"]["models"]
    assert (model["name"], model["checkpoint"]) == ("sipe-roberta", "roberta")
    assert model["scoring"]["kind"] == "pseudo-log-likelihood"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"model_type": "bert"}, "model_type: expected one of roberta, deberta-v2, modernbert, found 'bert'"),
        ({"model_type": None}, "model_type: expected a text, found None"),
        ({"hidden_act": "relu"}, "hidden_act: expected 'gelu', found 'relu'"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings: expected True, found False"),
        ({"hidden_size": None}, "hidden_size: expected a whole number, found None"),
        ({"hidden_size": "4"}, "hidden_size: expected a whole number, found '4'"),
        ({"layer_norm_eps": "small"}, "layer_norm_eps: expected a number, found 'small'"),
        (
            {"num_hidden_layers": 2},
            "expected the tensor roberta.encoder.layer.1.attention.self.query.weight, found none",
        ),
        ({"intermediate_size": 9}, r"blocks.0.mlp_input.weight: expected \(9, 4\), found \(8, 4\)"),
    ],
)
def test_an_option_that_does_not_fit_is_named(changes: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    with pytest.raises(PretrainedError, match=complaint):
        from_hf(write_roberta(tmp_path, **changes), mask_id=5)


DEBERTA = {"model_type": "deberta-v2", **DISENTANGLED}
MODERN = {"model_type": "modernbert"}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (DEBERTA | {"share_att_key": None}, "share_att_key: expected True, found None"),
        (DEBERTA | {"pos_att_type": "c2p"}, r"pos_att_type: expected c2p and p2c, found \['c2p'\]"),
        (DEBERTA | {"pos_att_type": None}, "pos_att_type: expected c2p and p2c, found None"),
        (DEBERTA | {"conv_kernel_size": 3}, "conv_kernel_size: expected 0, found 3"),
        (DEBERTA | {"embedding_size": 2}, "embedding_size: expected 4, found 2"),
        (DEBERTA | {"pos_att_type": "p2c|c2p"}, "expected the tensor deberta.embeddings.word_embeddings.weight"),
        (MODERN | {"attention_bias": True}, "attention_bias: expected False, found True"),
        (MODERN | {"layer_types": ["sliding_attention"]}, "layer_types: expected full attention in the first layer"),
        (
            MODERN | {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}},
            "rope_parameters.full_attention.rope_type: expected default, found 'yarn'",
        ),
        (MODERN, "expected the tensor model.embeddings.tok_embeddings.weight, found none"),
    ],
)
def test_an_architecture_that_lisdata_does_not_have_is_named(
    changes: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(PretrainedError, match=complaint):
        from_hf(write_roberta(tmp_path, **changes), mask_id=5)


def test_tensors_that_find_no_place_are_named_and_those_of_other_heads_are_not(tmp_path: Path) -> None:
    folder = write_roberta(tmp_path)
    change_tensors(folder, roberta__pooler__dense__weight=torch.zeros(4, 4), lm_head__decoder__weight=torch.zeros(6, 4))
    from_hf(folder, mask_id=5)
    change_tensors(folder, roberta__extra__weight=torch.zeros(1))

    with pytest.raises(PretrainedError, match=r"expected no more tensors, found \['roberta.extra.weight'\]"):
        from_hf(folder, mask_id=5)


def test_a_checkpoint_without_a_head_of_masked_tokens_is_refused(tmp_path: Path) -> None:
    folder = write_roberta(tmp_path)
    change_tensors(folder, lm_head__dense__weight=None)

    with pytest.raises(PretrainedError, match=r"expected the tensor lm_head.dense.weight, found none"):
        from_hf(folder, mask_id=5)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PretrainedError, match=r"config.json: expected JSON, found"):
        from_hf(tmp_path)
    folder = write_roberta(tmp_path / "a")
    with pytest.raises(PretrainedError, match=r"tokenizer.json: expected a tokenizer, .* give mask_id"):
        from_hf(folder)
    (folder / "model.safetensors").write_bytes(b"none")
    with pytest.raises(PretrainedError, match="expected safetensors, found"):
        from_hf(folder, mask_id=5)
    (folder / "model.safetensors").unlink()
    with pytest.raises(
        PretrainedError, match=r"expected model.safetensors, or model.safetensors.index.json, found none"
    ):
        from_hf(folder, mask_id=5)
    index = folder / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "../b.safetensors"}}', encoding="utf-8")
    with pytest.raises(PretrainedError, match=r"expected files of tensors beside it, found '../b.safetensors'"):
        from_hf(folder, mask_id=5)
    index.write_text('{"weight_map": 3}', encoding="utf-8")
    with pytest.raises(PretrainedError, match="weight_map: expected an object"):
        from_hf(folder, mask_id=5)
    (folder / "config.json").write_text("[]", encoding="utf-8")
    with pytest.raises(PretrainedError, match=r"config.json: expected an object, found \[\]"):
        from_hf(folder, mask_id=5)


def test_what_the_checkpoint_decides_cannot_be_set(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="num_layers, width: what the checkpoint has cannot be set"):
        from_hf(write_roberta(tmp_path), mask_id=5, width=8, num_layers=2)
