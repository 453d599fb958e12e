"""SiPE's decoder: equal to its equations, causal, and the base model where no tag speaks."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_transformer_xl import naive_logits
from small_sipe import VOCABULARY, WIDTH, logits
from small_transformer_xl import CONFIGS, IN_LAYERS, LENGTH, WITH_TAGS, build_random, build_tiny, draw_batch, name_of
from torch import Tensor

from lisdata.models import relative_attention
from lisdata.models.sipe_config import INJECTIONS
from lisdata.models.transformer_xl import TransformerXl, TransformerXlConfig


@pytest.mark.parametrize("config", CONFIGS, ids=name_of)
def test_logits_are_those_of_the_equations(config: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relative_attention, "QUERY_BLOCK", 3)
    model, batch = build_random(**config), draw_batch(3, num_documents=2)

    torch.testing.assert_close(logits(model, batch), naive_logits(model, batch), rtol=0, atol=1e-10)


@pytest.mark.parametrize("autocast", [False, True], ids=["fp32", "bf16"])
@pytest.mark.parametrize("config", [{"injection": name} for name in IN_LAYERS if "input" not in name], ids=name_of)
def test_with_projections_of_zero_it_is_the_base_model_bit_for_bit(config: dict[str, str], autocast: bool) -> None:
    model, base = build_tiny(projection_std=0.0, **config), build_tiny()
    batch = draw_batch(4, length=150)

    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        assert torch.equal(logits(model, batch), logits(base, batch))


@pytest.mark.parametrize("injection", WITH_TAGS)
def test_where_no_word_is_tagged_it_is_the_base_model_bit_for_bit(injection: str) -> None:
    model, base = build_tiny(injection=injection, projection_std=1.0), build_tiny()
    batch = draw_batch(5, length=150)
    untagged = batch | {name: torch.full_like(batch[name], -100) for name in ("terminal", "nonterminal")}

    assert torch.equal(logits(model, untagged), logits(base, batch))
    assert not torch.equal(logits(model, batch), logits(base, batch))


@pytest.mark.parametrize("injection", [name for name in IN_LAYERS if "input" not in name])
def test_small_projections_change_little_at_first(injection: str) -> None:
    batch = draw_batch(6, length=100)
    base = logits(build_tiny(), batch)

    change = (logits(build_tiny(injection=injection), batch) - base).abs().max()

    assert 0 < change < 1e-3 * base.std()


@pytest.mark.parametrize("injection", INJECTIONS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), changed=st.integers(0, LENGTH - 1))
def test_nothing_of_a_later_position_moves_an_earlier_logit(injection: str, seed: int, changed: int) -> None:
    model, batch = build_random(injection=injection, predicts_tags=True), draw_batch(seed, num_documents=2)
    other = {name: column.clone() for name, column in batch.items()}
    other["input_ids"][:, changed:] = (other["input_ids"][:, changed:] + 1) % VOCABULARY
    other["terminal"][:, changed:] = 1
    other["nonterminal"][:, changed:] = -100

    with torch.no_grad():
        before, after = model.predict(**batch), model.predict(**other)

    for left, right in zip(before, after, strict=True):
        assert torch.equal(left[:, :changed], right[:, :changed])
    assert (before.token != after.token)[:, changed].any(-1).all()


@pytest.mark.parametrize("injection", INJECTIONS)
@pytest.mark.parametrize("column", ["terminal", "nonterminal"])
def test_a_tag_moves_the_logits_from_its_own_position_on(injection: str, column: str) -> None:
    model, batch = build_random(injection=injection), draw_batch(7)
    other = batch | {column: batch[column].clone()}
    other[column][:, 3] = (other[column][:, 3].clamp(min=0) + 1) % 2

    is_moved = (logits(model, batch) != logits(model, other)).any(-1)

    assert not is_moved[:, :3].any()
    assert (is_moved[:, 3:] == (injection != "none")).all()


def test_a_tag_moves_no_attention_where_there_is_nothing_else_to_attend_to() -> None:
    model, batch = build_random(injection="position"), draw_batch(7)
    other = batch | {"terminal": batch["terminal"].clone()}
    other["terminal"][:, 0] = 1 - other["terminal"][:, 0].clamp(min=0)

    is_moved = (logits(model, batch) != logits(model, other)).any(-1)

    assert not is_moved[:, 0].any()
    assert is_moved[:, 1:].all()


@pytest.mark.parametrize("injection", INJECTIONS)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10_000), num_padded=st.integers(1, 70))
def test_packed_documents_are_computed_as_if_each_stood_alone(injection: str, seed: int, num_padded: int) -> None:
    model, batch = build_random(injection=injection), draw_batch(seed, num_rows=1, num_documents=3)
    fill = {"input_ids": 0, "terminal": -100, "nonterminal": -100, "document": -1}
    padded = {name: torch.nn.functional.pad(batch[name], (0, num_padded), value=fill[name]) for name in batch}

    together = logits(model, padded)

    assert together.isfinite().all()
    for document in batch["document"].unique().tolist():
        part = batch["document"][0] == document
        alone = logits(model, {name: column[:, part] for name, column in batch.items() if name != "document"})
        torch.testing.assert_close(together[:, :LENGTH][:, part], alone, rtol=0, atol=1e-11)


def count(**config: object) -> int:
    with torch.device("meta"):
        return sum(p.numel() for p in TransformerXl(TransformerXlConfig(**config)).parameters())  # type: ignore[arg-type]


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_base_model_has_the_parameters_of_its_equations(norm: str) -> None:
    v, d, layers, mlp = 100, 16, 3, 40
    attention, mlp_size, norms = 5 * d * d, 2 * d * mlp + mlp + d, 4 * d
    expected = v * d + 2 * d + layers * (attention + mlp_size + norms) + (2 * d if norm == "pre" else 0)

    sizes = {"vocabulary_size": v, "width": d, "num_layers": layers, "num_attention_heads": 4, "mlp_width": mlp}
    assert count(**sizes, norm=norm) == expected


@pytest.mark.parametrize(
    ("config", "added"),
    [
        ({"injection": "input"}, 0),
        ({"injection": "input", "fusion": "alpha"}, 1),
        ({"injection": "input", "fusion": "concat"}, 3 * 1024**2),
        ({"injection": "position"}, 16 * 1024**2),
        ({"injection": "position", "first_layer": 9}, 8 * 1024**2),
        ({"injection": "position", "target": "d_head"}, 16 * 128 * 1024),
        ({"injection": "position", "sharing": "shared"}, 1024**2),
        ({"injection": "disentangled", "sharing": "shared", "target": "d_head"}, 128 * 1024),
        ({"injection": "attention"}, 2 * 16 * 1024**2),
        ({"injection": "attention", "separate_projections": True}, 4 * 16 * 1024**2),
        ({"injection": "position+attention"}, 3 * 16 * 1024**2),
    ],
    ids=lambda value: name_of(value) if isinstance(value, dict) else "",
)
def test_at_the_papers_size_tags_add_7_d_parameters_and_the_projections(config: dict[str, object], added: int) -> None:
    sizes = {"vocabulary_size": 32_768, "width": 1024, "num_layers": 16, "num_attention_heads": 8}

    assert count(**sizes, **config) - count(**sizes) == 7 * 1024 + added


def test_half_a_width_more_in_the_mlp_makes_a_baseline_of_equal_size() -> None:
    sizes = {"vocabulary_size": 8000, "width": 256, "num_layers": 4}

    position, baseline = count(**sizes, injection="position"), count(**sizes, mlp_width=4 * 256 + 128)

    assert position - baseline == 7 * 256 - 4 * 128  # the tables against the biases of the wider layers


@pytest.mark.parametrize("injection", [name for name in IN_LAYERS if "input" not in name])
def test_projections_of_zero_learn_at_once_and_tag_tables_after_them(injection: str) -> None:
    model = build_tiny(injection=injection, projection_std=0.0).train()

    model(**draw_batch(8)).square().mean().backward()

    assert all(p.grad is not None and p.grad.any() for p in model.tag_projections.parameters())
    assert model.tag_tables is not None
    assert not any(p.grad is not None and p.grad.any() for p in model.tag_tables.parameters())


@pytest.mark.parametrize("config", CONFIGS, ids=name_of)
def test_every_parameter_learns(config: dict[str, object]) -> None:
    model, batch = build_random(**config, predicts_tags=True).train(), draw_batch(9, num_rows=4)

    sum(part.square().mean() for part in model.predict(**batch)).backward()

    untouched = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert untouched == []


def test_gradients_of_tag_terms_are_those_of_finite_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relative_attention, "QUERY_BLOCK", 2)
    model, batch = build_random(injection="position+attention"), draw_batch(10, num_rows=1, length=5)
    parameters = {name: p for name, p in model.named_parameters() if "tag_" in name or "bias" in name}

    def loss(*values: Tensor) -> Tensor:
        chosen = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(model, chosen, kwargs=batch).square().sum()

    assert torch.autograd.gradcheck(loss, tuple(parameters.values()), fast_mode=True)


def test_under_bf16_autocast_logits_stay_near() -> None:
    batch = draw_batch(11, length=100)
    for injection in INJECTIONS:
        model = build_tiny(injection=injection, projection_std=0.5)
        with torch.autocast("cpu", torch.bfloat16):
            rough = logits(model, batch)
        exact = logits(model, batch)
        assert (rough.float() - exact).abs().max() < 0.1 * exact.std()


@pytest.mark.parametrize("injection", INJECTIONS)
def test_one_seed_gives_one_base_model(injection: str) -> None:
    base, model = build_tiny(seed=3).state_dict(), build_tiny(seed=3, injection=injection, predicts_tags=True)

    assert all(torch.equal(value, model.state_dict()[name]) for name, value in base.items())


def test_names_of_the_state_dict_say_what_they_hold() -> None:
    state = build_tiny(injection="position+attention", predicts_tags=True).state_dict()

    assert {name: tuple(value.shape) for name, value in state.items() if "tag" in name or "terminal" in name} == {
        "tag_tables.terminal": (2, WIDTH),
        "tag_tables.nonterminal": (5, WIDTH),
        **{f"tag_projections.{layer}.agreement.weight": (WIDTH, WIDTH) for layer in (0, 1)},
        **{f"tag_projections.{layer}.key.weight": (WIDTH, WIDTH) for layer in (0, 1)},
        **{f"tag_projections.{layer}.value.weight": (WIDTH, WIDTH) for layer in (0, 1)},
        "terminal_output.weight": (2, WIDTH),
        "terminal_output.bias": (2,),
        "nonterminal_output.weight": (5, WIDTH),
        "nonterminal_output.bias": (5,),
    }


@pytest.mark.parametrize("missing", ["terminal", "nonterminal"])
def test_an_injection_without_tags_is_refused(missing: str) -> None:
    batch = {name: column for name, column in draw_batch(0).items() if name != missing}

    assert logits(build_tiny(), batch).shape == (2, LENGTH, VOCABULARY)
    with pytest.raises(ValueError, match="'position' needs terminal and nonterminal"):
        build_tiny(injection="position")(**batch)


def test_a_model_without_tag_outputs_predicts_no_tags() -> None:
    with pytest.raises(ValueError, match="predicts no tags"):
        build_tiny().predict(**draw_batch(0))


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"num_layers": 0}, "num_layers=0 is not a positive number"),
        ({"mlp_width": 0}, "mlp_width=0 is not a positive number"),
        ({"width": 9, "num_attention_heads": 3}, "is not even"),
        ({"width": 10, "num_attention_heads": 4}, "does not split into 4 heads"),
        ({"injection": "output"}, "injection='output' is none of none, input, position"),
        ({"sharing": "some"}, "is none of shared, per-layer"),
        ({"target": "d"}, "is none of d_model, d_head"),
        ({"norm": "both"}, "is none of post, pre"),
        ({"tag_tables": "nonterminal+deprel"}, "is none of terminal.nonterminal$"),
        ({"fusion": "gate"}, "is none of add, concat, residual, alpha"),
        ({"dropout": 1.0}, "outside"),
        ({"projection_std": -1.0}, "is negative"),
        ({"injection": "position", "first_layer": 3}, "first_layer=3 is outside 1..2"),
        ({"injection": "input", "first_layer": 2}, "means nothing"),
        ({"injection": "position", "fusion": "concat"}, "means nothing"),
    ],
    ids=lambda value: name_of(value) if isinstance(value, dict) else "",
)
def test_a_setting_out_of_range_is_refused(setting: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        build_tiny(**setting)
