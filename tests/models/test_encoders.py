"""SiPE's encoders: equal to their equations, each document by itself, and the base model where no tag speaks."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_encoders import bucket, naive_logits
from small_encoders import (
    CASES,
    CLEAN_INPUT,
    CONFIGS,
    ENCODERS,
    LENGTH,
    NT_DR,
    T_NT_DR,
    Config,
    build_random,
    build_tiny,
    draw_batch,
    name_of,
    untagged,
)
from small_sipe import VOCABULARY, logits

from lisdata.models import MODELS
from lisdata.models.deberta import bucket_offsets
from lisdata.models.encoder import document_mask, document_positions


@pytest.mark.parametrize(("name", "config"), CONFIGS, ids=name_of)
def test_logits_are_those_of_the_equations(name: str, config: Config) -> None:
    model, batch = build_random(name, **config), draw_batch(3, num_rows=1, num_documents=2)

    torch.testing.assert_close(logits(model, batch), naive_logits(model, batch), rtol=0, atol=1e-10)


@pytest.mark.parametrize("autocast", [False, True], ids=["fp32", "bf16"])
@pytest.mark.parametrize(("name", "injection"), CLEAN_INPUT)
def test_with_projections_of_zero_it_is_the_base_model_bit_for_bit(name: str, injection: str, autocast: bool) -> None:
    more = {"max_positions": 150} if name == "sipe-roberta" else {}
    model = build_tiny(name, injection=injection, projection_std=0.0, **more)
    batch = draw_batch(4, length=150, num_documents=3)

    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        assert torch.equal(logits(model, batch), logits(build_tiny(name, **more), batch))


@pytest.mark.parametrize(("name", "injection"), [case for case in CASES if case[1] != "none"])
def test_where_no_word_is_tagged_it_is_the_base_model_bit_for_bit(name: str, injection: str) -> None:
    model, batch = build_tiny(name, injection=injection, projection_std=1.0), draw_batch(5, num_documents=2)
    base = logits(build_tiny(name), batch)

    assert torch.equal(logits(model, untagged(batch)), base)
    assert not torch.equal(logits(model, batch), base)


@pytest.mark.parametrize(("name", "injection"), CLEAN_INPUT)
def test_the_first_projections_leave_the_base_model_as_the_paper_says(name: str, injection: str) -> None:
    """At almost nothing (footnote 4), and for ModernBERT at nothing at all (appendix A.6)."""
    batch = draw_batch(6)
    base = logits(build_tiny(name).double(), batch)

    change = (logits(build_tiny(name, injection=injection).double(), batch) - base).abs().max()

    assert change == 0 if name == "sipe-modernbert" else 0 < change < 1e-3 * base.std()


@pytest.mark.parametrize(("name", "injection"), CASES)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10_000), num_padded=st.integers(1, 20))
def test_packed_and_padded_documents_are_computed_as_if_each_stood_alone(
    name: str, injection: str, seed: int, num_padded: int
) -> None:
    model, batch = build_random(name, injection=injection), draw_batch(seed, num_rows=1, num_documents=3)
    fill = {"input_ids": 0, "terminal": -100, "nonterminal": -100, "document": -1, "deprel": -100}
    padded = {key: torch.nn.functional.pad(batch[key], (0, num_padded), value=fill[key]) for key in batch}

    together = logits(model, padded)

    assert together.isfinite().all()
    for document in batch["document"].unique().tolist():
        part = batch["document"][0] == document
        alone = logits(model, {key: column[:, part] for key, column in batch.items() if key != "document"})
        torch.testing.assert_close(together[:, :LENGTH][:, part], alone, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("name", "injection"), CASES)
@pytest.mark.parametrize("column", ["terminal", "nonterminal"])
def test_a_tag_moves_the_logits_of_its_whole_document_and_of_no_other(name: str, injection: str, column: str) -> None:
    model, batch = build_random(name, injection=injection), draw_batch(7)
    batch["document"] = (torch.arange(LENGTH)[None] >= 5).long().expand(2, -1)
    other = batch | {column: batch[column].clone()}
    other[column][:, 3] = (other[column][:, 3].clamp(min=0) + 1) % 2

    is_moved = (logits(model, batch) != logits(model, other)).any(-1)

    assert not is_moved[:, 5:].any()
    assert (is_moved[:, :5] == (injection != "none")).all()


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize(("tables", "is_read"), [(T_NT_DR, True), (NT_DR, True), ("terminal+nonterminal", False)])
def test_a_relation_moves_its_document_and_no_other_and_only_a_model_with_a_table_of_it(
    name: str, tables: str, is_read: bool
) -> None:
    model, batch = build_random(name, injection="input", tag_tables=tables), draw_batch(7)
    batch["document"] = (torch.arange(LENGTH)[None] >= 5).long().expand(2, -1)
    other = batch | {"deprel": batch["deprel"].clone()}
    other["deprel"][:, 3] = (other["deprel"][:, 3].clamp(min=0) + 1) % 2

    is_moved = (logits(model, batch) != logits(model, other)).any(-1)

    assert not is_moved[:, 5:].any()
    assert (is_moved[:, :5] == is_read).all()


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("tables", [T_NT_DR, NT_DR])
def test_where_no_word_has_tags_or_a_relation_it_is_the_base_model(name: str, tables: str) -> None:
    model, batch = build_tiny(name, injection="input", tag_tables=tables), untagged(draw_batch(5, num_documents=2))

    assert torch.equal(logits(model, batch), logits(build_tiny(name), batch))


@pytest.mark.parametrize("name", ENCODERS)
def test_a_token_is_seen_from_both_sides(name: str) -> None:
    model, batch = build_random(name), draw_batch(7)
    other = batch | {"input_ids": batch["input_ids"].clone()}
    other["input_ids"][:, 4] = (other["input_ids"][:, 4] + 1) % VOCABULARY

    assert (logits(model, batch) != logits(model, other)).any(-1).all()


@pytest.mark.parametrize("name", ENCODERS)
def test_the_order_of_tokens_counts(name: str) -> None:
    model, batch = build_random(name), draw_batch(8)
    turned = batch | {"input_ids": batch["input_ids"].flip(1)}

    assert not torch.allclose(logits(model, turned), logits(model, batch).flip(1))


def test_a_local_layer_sees_half_a_window_on_either_side() -> None:
    batch = draw_batch(9, length=12)
    for window in (2, 4, 5, 6):
        seen = document_mask(batch["input_ids"], None, reach=window // 2)[0]
        assert seen[5].nonzero().flatten().tolist() == list(range(5 - window // 2, 5 + window // 2 + 1))


def test_positions_are_counted_in_each_document_and_are_0_at_padding() -> None:
    document = torch.tensor([[0, 0, 0, 1, 2, 2, -1, -1], [3, 3, 3, 3, 3, 3, 3, 3]])

    assert document_positions(document, document).tolist() == [[0, 1, 2, 0, 0, 1, 0, 0], [*range(8)]]
    assert document_positions(document, None).tolist() == [[*range(8)]]


@pytest.mark.parametrize(("num_buckets", "max_offset"), [(4, 6), (8, 20), (32, 64), (256, 512)])
def test_offsets_share_buckets_by_their_logarithm(num_buckets: int, max_offset: int) -> None:
    length = 2 * max_offset
    found = bucket_offsets(length, num_buckets, max_offset, torch.device("cpu"))

    expected = [bucket(offset, num_buckets, max_offset) for offset in range(length)]
    assert found[:, 0].tolist() == expected
    opposite = [bucket(-offset, num_buckets, max_offset) for offset in range(length)]
    assert found[0].tolist() == opposite
    assert expected[: num_buckets // 2 + 1] == list(range(num_buckets, num_buckets + num_buckets // 2 + 1))
    assert expected[-1] == 2 * num_buckets - 1
    assert opposite[-1] == 0


def count(name: str, **config: object) -> int:
    entry = MODELS[name]
    with torch.device("meta"):
        model = entry.load_model_class()(entry.load_config_class()(**({"mask_id": 0} | config)))
    return sum(parameter.numel() for parameter in model.parameters())


BASE, LARGE = {"num_attention_heads": 12, "width": 768}, {"num_attention_heads": 16, "width": 1024}


@pytest.mark.parametrize(
    ("name", "config", "expected"),
    [
        ("sipe-roberta", {"vocabulary_size": 50_265, "num_layers": 12}, 124_695_897),
        ("sipe-roberta", {"vocabulary_size": 50_265, "num_layers": 24} | LARGE, 355_410_009),
        ("sipe-modernbert", {"vocabulary_size": 50_368, "num_layers": 22}, 149_655_232),
        ("sipe-modernbert", {"vocabulary_size": 50_368, "num_layers": 28, "mlp_width": 2624} | LARGE, 395_881_664),
        ("sipe-deberta", {"vocabulary_size": 128_100, "num_layers": 12}, 184_551_780),
    ],
)
def test_at_the_papers_sizes_parameters_are_those_of_the_published_models(
    name: str, config: Config, expected: int
) -> None:
    """RoBERTa's without two rows of positions that stand for padding."""
    assert count(name, **(BASE | config)) == expected


@pytest.mark.parametrize(
    ("name", "config", "added"),
    [
        *((name, {"injection": "input"}, 0) for name in ENCODERS),
        *((name, {"injection": "input", "fusion": "alpha"}, 1) for name in ENCODERS),
        *((name, {"injection": "input", "fusion": "concat"}, 3 * 768**2) for name in ENCODERS),
        *((name, {"injection": "attention"}, 2 * 12 * 768**2) for name in ENCODERS),
        *((name, {"injection": "attention", "sharing": "shared"}, 2 * 768**2) for name in ENCODERS),
        ("sipe-deberta", {"injection": "position"}, 12 * 768**2),
        ("sipe-deberta", {"injection": "position", "target": "d_head", "first_layer": 5}, 8 * 64 * 768),
        ("sipe-modernbert", {"injection": "position"}, 12 * 32 * 768),
        ("sipe-modernbert", {"injection": "position", "target": "d_model", "sharing": "shared"}, 384 * 768),
    ],
    ids=name_of,
)
def test_tags_add_7_d_parameters_and_the_projections(name: str, config: Config, added: int) -> None:
    sizes = BASE | {"vocabulary_size": 100, "num_layers": 12}

    assert count(name, **sizes, **config) - count(name, **sizes) == 7 * 768 + added
    assert count(name, **sizes, predicts_tags=True) - count(name, **sizes) == 7 * (768 + 1)


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize(("tables", "num_rows"), [(T_NT_DR, 2 + 5 + 40), (NT_DR, 5 + 40)])
def test_relations_add_40_d_parameters_and_the_width_of_a_concatenation(name: str, tables: str, num_rows: int) -> None:
    sizes = BASE | {"vocabulary_size": 100, "num_layers": 12}
    added = [
        count(name, **sizes, injection="input", fusion=fusion, tag_tables=tables) - count(name, **sizes)
        for fusion in ("add", "concat")
    ]

    assert added == [num_rows * 768, num_rows * 768 + (1 + tables.count("+") + 1) * 768**2]


def test_half_a_width_more_in_the_mlp_makes_a_baseline_of_equal_size() -> None:
    sizes = BASE | {"vocabulary_size": 100, "num_layers": 12}

    position = count("sipe-deberta", **sizes, injection="position")
    baseline = count("sipe-deberta", **sizes, mlp_width=4 * 768 + 384)

    assert position - baseline == 7 * 768 - 12 * 384  # the tables against the biases of the wider layers


@pytest.mark.parametrize(("name", "config"), CONFIGS, ids=name_of)
def test_every_parameter_learns(name: str, config: Config) -> None:
    model = build_random(name, **config, predicts_tags=True).train()

    batches = [draw_batch(seed, num_rows=4) for seed in (9, 10)]
    sum(part.square().mean() for batch in batches for part in model.predict(**batch)).backward()

    untouched = [key for key, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert untouched == []


@pytest.mark.parametrize(("name", "injection"), CLEAN_INPUT)
def test_projections_of_zero_learn_at_once(name: str, injection: str) -> None:
    model = build_tiny(name, injection=injection, projection_std=0.0).train()

    model(**draw_batch(8)).square().mean().backward()

    assert all(p.grad is not None and p.grad.any() for p in model.tags.projections.parameters())


@pytest.mark.parametrize(("name", "injection"), CASES)
def test_under_bf16_autocast_logits_stay_near(name: str, injection: str) -> None:
    model, batch = build_tiny(name, injection=injection, projection_std=0.5), draw_batch(11)
    with torch.autocast("cpu", torch.bfloat16):
        rough = logits(model, batch)
    exact = logits(model, batch)

    assert (rough.float() - exact).abs().max() < 0.1 * exact.std()


@pytest.mark.parametrize(("name", "injection"), CASES)
def test_one_seed_gives_one_base_model(name: str, injection: str) -> None:
    base = build_tiny(name, seed=3).state_dict()
    model = build_tiny(name, seed=3, injection=injection, predicts_tags=True).state_dict()

    assert all(torch.equal(value, model[key]) for key, value in base.items())


@pytest.mark.parametrize("name", ENCODERS)
def test_logits_of_chosen_positions_are_those_of_all(name: str) -> None:
    model, batch = build_random(name, injection="input", predicts_tags=True), draw_batch(12)
    with torch.no_grad():
        hidden, predicted = model.hidden_states(**batch)[:, 2], model.predict(**batch)
        found = model.token_logits(hidden), *model.tag_logits(hidden)

    torch.testing.assert_close(found, tuple(part[:, 2] for part in predicted))


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("missing", ["terminal", "nonterminal"])
def test_an_injection_without_tags_is_refused(name: str, missing: str) -> None:
    batch = {key: column for key, column in draw_batch(0).items() if key != missing}

    assert logits(build_tiny(name), batch).shape == (2, LENGTH, VOCABULARY)
    with pytest.raises(ValueError, match="'attention' needs terminal and nonterminal"):
        build_tiny(name, injection="attention")(**batch)


def test_a_table_of_relations_without_relations_is_refused() -> None:
    batch = {key: column for key, column in draw_batch(0).items() if key != "deprel"}
    with pytest.raises(ValueError, match="'input' needs nonterminal and deprel"):
        build_tiny("sipe-roberta", injection="input", tag_tables=NT_DR)(**batch)


@pytest.mark.parametrize("name", ENCODERS)
def test_a_model_without_tag_outputs_predicts_no_tags(name: str) -> None:
    with pytest.raises(ValueError, match="predicts no tags"):
        build_tiny(name).predict(**draw_batch(0))


def test_a_document_beyond_the_positions_of_roberta_is_refused() -> None:
    model = build_tiny("sipe-roberta", max_positions=4)
    batch = draw_batch(0)
    batch["document"] = (torch.arange(LENGTH) // 3)[None].expand(2, -1)

    assert logits(model, batch).isfinite().all()
    with pytest.raises(IndexError):
        model(batch["input_ids"])


@pytest.mark.parametrize(
    ("name", "setting", "complaint"),
    [
        ("sipe-roberta", {"injection": "position"}, "is none of none, input, attention, input.attention$"),
        ("sipe-deberta", {"injection": "disentangled"}, "is none of none, input, position"),
        ("sipe-roberta", {"tag_tables": "deprel"}, "is none of terminal.nonterminal, "),
        ("sipe-roberta", {"num_deprels": 0}, "num_deprels=0 is not a positive number"),
        (
            "sipe-roberta",
            {"injection": "attention", "tag_tables": NT_DR, "separate_projections": True},
            "separate_projections=True is for the tables terminal, nonterminal",
        ),
        ("sipe-roberta", {"mask_id": VOCABULARY}, "mask_id=9 is none of 9 tokens"),
        ("sipe-roberta", {"norm_epsilon": 0.0}, "norm_epsilon=0.0 is not a positive number"),
        ("sipe-roberta", {"max_positions": 0}, "max_positions=0 is not a positive number"),
        ("sipe-roberta", {"width": 9, "num_attention_heads": 3}, "is not even"),
        ("sipe-deberta", {"num_buckets": 5}, "num_buckets=5 is not an even number from 4"),
        ("sipe-deberta", {"max_offset": 3}, "max_offset=3 leaves nothing beyond the first 2 buckets"),
        ("sipe-deberta", {"p2c_offset": "j"}, "is none of i-j, j-i"),
        ("sipe-modernbert", {"width": 6, "num_attention_heads": 2}, "2 heads of even width"),
        ("sipe-modernbert", {"local_window": 0}, "local_window=0 is not a positive number"),
        ("sipe-modernbert", {"global_base": 1.0}, "global_base=1.0 is not above 1"),
        ("sipe-modernbert", {"agreement_scale": "d_model"}, "means nothing where tags are phases"),
        ("sipe-modernbert", {"injection": "input", "first_layer": 2}, "means nothing"),
    ],
)
def test_a_setting_out_of_range_is_refused(name: str, setting: Config, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        build_tiny(name, **setting)
