"""The encoders of Hugging Face's that lisdata has too: their options as its settings, their weights under its names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from lisdata.json_shape import shown
from lisdata.pretrained.hf_folder import HfConfig, PretrainedError

_UNUSED = ("pooler.", "position_ids", "mask_predictions.", "decoder.")
"""Parts of names of tensors that repeat others, or that masked tokens do not need."""


class Weights:
    """The tensors of a checkpoint, each of which has to find its place in a model."""

    def __init__(self, tensors: Mapping[str, Tensor], folder: Path) -> None:
        self._tensors, self._folder = dict(tensors), folder
        self._used: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def take(self, name: str) -> Tensor:
        """Return a tensor; PretrainedError where there is none."""
        if name not in self._tensors:
            raise PretrainedError(f"{self._folder}: expected the tensor {name}, found none")
        self._used.add(name)
        return self._tensors[name]

    def layer(self, name: str, *, to: str) -> dict[str, Tensor]:
        """Return the weight of a layer and its bias, if it has one, under the name `to`."""
        found = {f"{to}.weight": self.take(f"{name}.weight")}
        return found | ({f"{to}.bias": self.take(f"{name}.bias")} if f"{name}.bias" in self else {})

    def joined(self, names: list[str], *, to: str) -> dict[str, Tensor]:
        """Return layers of the same inputs as one layer under the name `to`."""
        return {f"{to}.{part}": torch.cat([self.take(f"{n}.{part}") for n in names]) for part in ("weight", "bias")}

    def put(self, state: Mapping[str, Tensor], model: nn.Module) -> None:
        """Give a model its weights; PretrainedError for one of another shape than it has."""
        own = model.state_dict()
        for name, tensor in state.items():
            if name not in own or own[name].shape != tensor.shape:
                expected = tuple(own[name].shape) if name in own else "no tensor"
                raise PretrainedError(f"{self._folder}: {name}: expected {expected}, found {tuple(tensor.shape)}")
        model.load_state_dict(own | dict(state))

    def check_all_used(self) -> None:
        """Raise PretrainedError for tensors that have found no place."""
        unused = [n for n in self._tensors if n not in self._used and not any(part in n for part in _UNUSED)]
        if unused:
            raise PretrainedError(f"{self._folder}: expected no more tensors, found {shown(sorted(unused))}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HfEncoder:
    """A model of lisdata, its settings from a config.json, and what fills it with weights."""

    name: str
    settings: Callable[[HfConfig], dict[str, Any]]
    fill: Callable[[Weights, HfConfig, nn.Module], None]


def _sizes(config: HfConfig) -> dict[str, Any]:
    config.require({"tie_word_embeddings": True})
    return {
        "vocabulary_size": config.integer("vocab_size"),
        "width": config.integer("hidden_size"),
        "num_layers": config.integer("num_hidden_layers"),
        "num_attention_heads": config.integer("num_attention_heads"),
        "mlp_width": config.integer("intermediate_size"),
        "activation": "gelu",
    }


def _post_norm_layers(weights: Weights, config: HfConfig, model: str, projections: list[str]) -> dict[str, Tensor]:
    """Return the layers that RoBERTa and DeBERTa name alike."""
    state: dict[str, Tensor] = {}
    for number in range(config.integer("num_hidden_layers")):
        here, there = f"blocks.{number}", f"{model}.encoder.layer.{number}"
        names = [f"{there}.attention.self.{projection}" for projection in projections]
        state |= weights.joined(names, to=f"{here}.attention.query_key_value")
        state |= weights.layer(f"{there}.attention.output.dense", to=f"{here}.attention.output")
        state |= weights.layer(f"{there}.attention.output.LayerNorm", to=f"{here}.attention_norm")
        state |= weights.layer(f"{there}.intermediate.dense", to=f"{here}.mlp_input")
        state |= weights.layer(f"{there}.output.dense", to=f"{here}.mlp_output")
        state |= weights.layer(f"{there}.output.LayerNorm", to=f"{here}.mlp_norm")
    return state


def _head(weights: Weights, *, dense: str, norm: str, bias: str) -> dict[str, Tensor]:
    state = weights.layer(dense, to="output.dense") | weights.layer(norm, to="output.norm")
    return state | {"output.bias": weights.take(bias)}


# -- RoBERTa ---------------------------------------------------------------------------------------------------------


def _roberta_settings(config: HfConfig) -> dict[str, Any]:
    config.require({"hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False})
    return _sizes(config) | {
        "max_positions": config.integer("max_position_embeddings", 512) - _first_position(config),
        "dropout": config.number("hidden_dropout_prob", 0.1),
        "norm_epsilon": config.number("layer_norm_eps", 1e-12),
    }


def _first_position(config: HfConfig) -> int:
    """Return the row of a document's first position: the rows before it stand for padding."""
    return config.integer("pad_token_id", 1) + 1


def _fill_roberta(weights: Weights, config: HfConfig, model: nn.Module) -> None:
    embeddings = "roberta.embeddings"
    positions = weights.take(f"{embeddings}.position_embeddings.weight")
    state = {
        "embedding.weight": weights.take(f"{embeddings}.word_embeddings.weight"),
        "position_embedding.weight": positions[_first_position(config) :],
        "segment": weights.take(f"{embeddings}.token_type_embeddings.weight")[0],
    }
    state |= weights.layer(f"{embeddings}.LayerNorm", to="embedding_norm")
    state |= _post_norm_layers(weights, config, "roberta", ["query", "key", "value"])
    state |= _head(weights, dense="lm_head.dense", norm="lm_head.layer_norm", bias="lm_head.bias")
    weights.put(state, model)


# -- DeBERTa-v3 ------------------------------------------------------------------------------------------------------


def _deberta_settings(config: HfConfig) -> dict[str, Any]:
    position_types = config.get("pos_att_type", None)
    if isinstance(position_types, str):
        position_types = position_types.lower().split("|")
    if not isinstance(position_types, list) or sorted(map(str, position_types)) != ["c2p", "p2c"]:
        raise config.error("pos_att_type", "c2p and p2c", position_types)
    config.require_given({"relative_attention": True, "share_att_key": True, "norm_rel_ebd": "layer_norm"})
    config.require_given({"position_biased_input": False})
    config.require({"hidden_act": "gelu", "type_vocab_size": 0, "conv_kernel_size": 0})
    config.require({"embedding_size": config.integer("hidden_size")})
    max_offset = config.integer("max_relative_positions", -1)
    return _sizes(config) | {
        "num_buckets": config.integer("position_buckets", -1),
        "max_offset": config.integer("max_position_embeddings", 512) if max_offset < 1 else max_offset,
        "dropout": config.number("hidden_dropout_prob", 0.1),
        "norm_epsilon": config.number("layer_norm_eps", 1e-7),
    }


def _fill_deberta(weights: Weights, config: HfConfig, model: nn.Module) -> None:
    state = weights.layer("deberta.embeddings.word_embeddings", to="embedding")
    state |= weights.layer("deberta.embeddings.LayerNorm", to="embedding_norm")
    state |= weights.layer("deberta.encoder.rel_embeddings", to="offset_embedding")
    state |= weights.layer("deberta.encoder.LayerNorm", to="offset_norm")
    state |= _post_norm_layers(weights, config, "deberta", ["query_proj", "key_proj", "value_proj"])
    # The head of the published weights, else the one that transformers writes by default.
    head = "lm_predictions.lm_head"
    if f"{head}.bias" in weights:
        state |= _head(weights, dense=f"{head}.dense", norm=f"{head}.LayerNorm", bias=f"{head}.bias")
    else:
        head = "cls.predictions"
        dense, norm = f"{head}.transform.dense", f"{head}.transform.LayerNorm"
        state |= _head(weights, dense=dense, norm=norm, bias=f"{head}.bias")
    weights.put(state, model)


# -- ModernBERT ------------------------------------------------------------------------------------------------------


def _modernbert_settings(config: HfConfig) -> dict[str, Any]:
    config.require({"hidden_activation": "gelu", "classifier_activation": "gelu", "decoder_bias": True})
    config.require(dict.fromkeys(("attention_bias", "mlp_bias", "norm_bias", "classifier_bias"), False))
    global_base, local_base = _rotary_bases(config)
    return _sizes(config) | {
        "global_every": _global_every(config),
        "local_window": config.integer("local_attention", 128),
        "global_base": global_base,
        "local_base": local_base,
        "dropout": config.number("embedding_dropout", 0.0),
        "norm_epsilon": config.number("norm_eps", 1e-5),
    }


def _global_every(config: HfConfig) -> int:
    kinds = config.get("layer_types", None)
    if kinds is None:
        return config.integer("global_attn_every_n_layers", 3)
    for every in range(1, len(kinds) + 1):
        if kinds == ["sliding_attention" if n % every else "full_attention" for n in range(len(kinds))]:
            return every
    raise config.error("layer_types", "full attention in the first layer and every nth one after it", kinds)


def _rotary_bases(config: HfConfig) -> list[float]:
    bases = []
    of_kinds = config.get("rope_parameters", None) or {}
    for kind, name, default in (
        ("full_attention", "global_rope_theta", 160_000.0),
        ("sliding_attention", "local_rope_theta", 10_000.0),
    ):
        parameters = of_kinds.get(kind) or {}
        if parameters.get("rope_type", "default") != "default":
            raise config.error(f"rope_parameters.{kind}.rope_type", "default", parameters["rope_type"])
        bases.append(float(parameters.get("rope_theta", config.number(name, default))))
    return bases


def _fill_modernbert(weights: Weights, config: HfConfig, model: nn.Module) -> None:
    state = weights.layer("model.embeddings.tok_embeddings", to="embedding")
    state |= weights.layer("model.embeddings.norm", to="embedding_norm")
    state |= weights.layer("model.final_norm", to="final_norm")
    for number in range(config.integer("num_hidden_layers")):
        here, there = f"blocks.{number}", f"model.layers.{number}"
        projections = weights.take(f"{there}.attn.Wqkv.weight")
        state[f"{here}.attention.query_key_value.weight"] = interleave(projections, config)
        state |= weights.layer(f"{there}.attn.Wo", to=f"{here}.attention.output")
        if number:
            state |= weights.layer(f"{there}.attn_norm", to=f"{here}.attention_norm")
        state |= weights.layer(f"{there}.mlp_norm", to=f"{here}.mlp_norm")
        state |= weights.layer(f"{there}.mlp.Wi", to=f"{here}.mlp_input")
        state |= weights.layer(f"{there}.mlp.Wo", to=f"{here}.mlp_output")
    state |= _head(weights, dense="head.dense", norm="head.norm", bias="decoder.bias")
    weights.put(state, model)


def interleave(projections: Tensor, config: HfConfig) -> Tensor:
    """Return the projections (3 D, D) with those of queries and keys in the order of lisdata's rotary positions.

    There dimensions 2 t and 2 t + 1 of an attention head are turned together, here t and t + d_head / 2.
    """
    query, key, value = projections.chunk(3)
    heads = config.integer("num_attention_heads")
    turned = [part.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2) for part in (query, key)]
    return torch.cat([*turned, value])


ENCODERS = {
    "roberta": HfEncoder(name="sipe-roberta", settings=_roberta_settings, fill=_fill_roberta),
    "deberta-v2": HfEncoder(name="sipe-deberta", settings=_deberta_settings, fill=_fill_deberta),
    "modernbert": HfEncoder(name="sipe-modernbert", settings=_modernbert_settings, fill=_fill_modernbert),
}
"""By `model_type`."""
