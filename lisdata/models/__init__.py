"""Reference models by name; a model's module, and with it torch, is imported when the model is asked for."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from lisdata.models.devices import current_device

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """Where a model is, and the columns of a batch that its forward takes, in order.

    After those that it needs come `optional_columns`, which only some of its settings make it read.
    """

    module: str
    config_name: str
    model_name: str
    columns: tuple[str, ...]
    summary: str
    optional_columns: tuple[str, ...] = ()
    is_masked: bool = False
    """Whether it says what stands at masked positions, rather than what comes next."""

    def load_config_class(self) -> type[Any]:
        """Return the dataclass of the model's settings."""
        config_class: type[Any] = getattr(import_module(self.module), self.config_name)
        return config_class

    def load_model_class(self) -> type[nn.Module]:
        """Return the model's class, which takes one settings object."""
        model_class: type[nn.Module] = getattr(import_module(self.module), self.model_name)
        return model_class


MODELS: dict[str, ModelEntry] = {
    "rope": ModelEntry(
        module="lisdata.models.rope",
        config_name="RopeConfig",
        model_name="RopeTransformer",
        columns=("input_ids",),
        summary="characters under continuous rotary positions",
    ),
    "alibi": ModelEntry(
        module="lisdata.models.alibi",
        config_name="AlibiConfig",
        model_name="AlibiTransformer",
        columns=("input_ids",),
        summary="characters under linear distance biases",
    ),
    "random-lines": ModelEntry(
        module="lisdata.models.random_lines",
        config_name="RandomLinesConfig",
        model_name="RandomLines",
        columns=("input_ids",),
        summary="characters addressed by place in the line and a drawn angle per line",
    ),
    "lisformer-lines": ModelEntry(
        module="lisdata.models.lisformer_lines",
        config_name="LisformerLinesConfig",
        model_name="LisformerLines",
        columns=("input_ids",),
        summary="characters addressed by place in the line and by the line's content",
    ),
    "zero-offset": ModelEntry(
        module="lisdata.models.zero_offset",
        config_name="ZeroOffsetConfig",
        model_name="ZeroOffset",
        columns=("input_ids",),
        summary="characters addressed by place in the line alone",
    ),
    "own-line": ModelEntry(
        module="lisdata.models.own_line",
        config_name="OwnLineConfig",
        model_name="OwnLine",
        columns=("input_ids",),
        summary="characters that see their own line only",
    ),
    "sliding-window": ModelEntry(
        module="lisdata.models.sliding_window",
        config_name="SlidingWindowConfig",
        model_name="SlidingWindow",
        columns=("input_ids",),
        summary="characters under rotary positions that see the last few only",
    ),
    "lisformer": ModelEntry(
        module="lisdata.models.lisformer",
        config_name="LisformerConfig",
        model_name="Lisformer",
        columns=("input_ids", "role", "instance", "position", "document"),
        summary="endpoints of any token shards, addressed by position, role and instance",
    ),
    "added-addresses": ModelEntry(
        module="lisdata.models.added_addresses",
        config_name="AddedAddressesConfig",
        model_name="AddedAddresses",
        columns=("input_ids", "role", "instance", "position", "document"),
        summary="the LISformer's role and instance vectors, added instead of turned by",
    ),
    "role-biases": ModelEntry(
        module="lisdata.models.role_biases",
        config_name="RoleBiasesConfig",
        model_name="RoleBiases",
        columns=("input_ids", "role", "position", "document"),
        summary="endpoints under a scalar bias for each pair of roles",
    ),
    "sipe-transformer-xl": ModelEntry(
        module="lisdata.models.transformer_xl",
        config_name="TransformerXlConfig",
        model_name="TransformerXl",
        columns=("input_ids", "terminal", "nonterminal", "document"),
        summary="tokens under relative positions, with hexatags injected in any of SiPE's ways",
    ),
    "sipe-roberta": ModelEntry(
        module="lisdata.models.roberta",
        config_name="RobertaConfig",
        model_name="Roberta",
        columns=("input_ids", "terminal", "nonterminal", "document"),
        summary="masked tokens under absolute positions, with hexatags in the input or the attention",
        optional_columns=("deprel",),
        is_masked=True,
    ),
    "sipe-deberta": ModelEntry(
        module="lisdata.models.deberta",
        config_name="DebertaConfig",
        model_name="Deberta",
        columns=("input_ids", "terminal", "nonterminal", "document"),
        summary="masked tokens under disentangled relative positions, with hexatags",
        optional_columns=("deprel",),
        is_masked=True,
    ),
    "sipe-modernbert": ModelEntry(
        module="lisdata.models.modernbert",
        config_name="ModernBertConfig",
        model_name="ModernBert",
        columns=("input_ids", "terminal", "nonterminal", "document"),
        summary="masked tokens under rotary positions, with hexatags in the input, the angles or the attention",
        optional_columns=("deprel",),
        is_masked=True,
    ),
}


def build_model(name: str, *, seed: int | None = None, **config: Any) -> nn.Module:
    """Build the model `name` from its settings, with initial weights drawn under `seed` (else the current state).

    It lies on the device of `on_device`; weights are drawn on the CPU, so they are the same on any.

    Raises ValueError for an unknown name, an unknown or missing setting, or a setting out of its range.
    """
    import torch

    entry = find_model(name)
    config_class = entry.load_config_class()
    known = {field.name: field.default is MISSING for field in fields(config_class)}
    unknown = sorted(config.keys() - known)
    missing = sorted(key for key, is_required in known.items() if is_required and key not in config)
    if unknown or missing:
        complaint = f"does not know {', '.join(unknown)}" if unknown else f"needs {', '.join(missing)}"
        raise ValueError(f"model {name!r} {complaint}: its settings are {', '.join(known)}")
    model_class, device = entry.load_model_class(), current_device()
    if seed is None:
        model = model_class(config_class(**config))
    else:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = model_class(config_class(**config))
    return model if device.type == "cpu" else model.to(device)


def describe_model(model: nn.Module) -> dict[str, Any]:
    """Return `name` and `config` of a model listed in `MODELS`, ready for JSON, or the `class` of any other."""
    kind = type(model)
    for name, entry in MODELS.items():
        if (kind.__module__, kind.__qualname__) == (entry.module, entry.model_name):
            return {"name": name, "config": asdict(model.config)}  # type: ignore[call-overload]
    return {"class": f"{kind.__module__}.{kind.__qualname__}"}


def find_model(name: str) -> ModelEntry:
    """Return the entry of a model; raise ValueError, listing those there are, for an unknown name."""
    if name not in MODELS:
        raise ValueError(f"there is no model {name!r}: the models are {', '.join(MODELS)}")
    return MODELS[name]
