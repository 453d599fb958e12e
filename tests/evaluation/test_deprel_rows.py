"""Dependency relations on their way to an encoder that reads them: from a parser's cache into rows and regimes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from toy_language_models import CHARACTERS

from lisdata.checkpoints import Checkpoint, load_model, write_checkpoint
from lisdata.cli import main
from lisdata.encoding.deprels import DeprelVocabulary
from lisdata.evaluation.masked_nll import masked_nll
from lisdata.evaluation.masked_scorer import MaskedScorer, MaskedScoring
from lisdata.evaluation.sentence_rows import ROW_COLUMNS, SentenceRows, pad_rows
from lisdata.evaluation.sentence_scores import TextTags
from lisdata.evaluation.tag_cache import TagCache, tag_texts
from lisdata.models import build_model, describe_model
from lisdata.models.roberta import Roberta
from lisdata.training import MaskRecipe, apply_tag_regime, mask_tokens
from lisdata.training.masking import hide_tags

RULE = "python:rule_parser:parse"
DEPRELS = DeprelVocabulary(("dep", "root"))
TEXTS = ["a cab bad", "ab c"]
MASK = CHARACTERS.vocab_size
MASKS = MaskRecipe(mask_id=MASK, vocabulary_size=MASK + 1, rate=0.4)


def make_rows() -> list[np.ndarray]:
    rows = SentenceRows(CHARACTERS, start="", end="", deprels=DEPRELS)
    return [row.values for row in rows.make(TEXTS, tag_texts(TEXTS, RULE, with_deprels=True))]


def build(tag_tables: str) -> Roberta:
    sizes = {"vocabulary_size": MASK + 1, "mask_id": MASK, "width": 8, "num_layers": 1, "num_attention_heads": 2}
    model = build_model("sipe-roberta", seed=0, injection="input", tag_tables=tag_tables, num_deprels=2, **sizes)
    assert isinstance(model, Roberta)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.double().parameters():
            parameter.normal_(std=0.5, generator=generator)
    return model.eval()


def test_a_row_has_each_word_s_relation_on_its_first_token() -> None:
    row = make_rows()[0]

    assert row.shape == (4, 9)
    assert row[3].tolist() == [1, -100, 0, -100, -100, -100, 0, -100, -100]
    assert ((row[1] >= 0) == (row[3] >= 0)).all()


def test_an_unknown_relation_is_none_and_rows_without_tags_have_none() -> None:
    rows = SentenceRows(CHARACTERS, start="", end="", deprels=DeprelVocabulary(("root",)))

    (row,) = rows.make(TEXTS[:1], tag_texts(TEXTS[:1], RULE, with_deprels=True))
    (untagged,) = rows.make(TEXTS[:1], None)

    assert row.values[3].tolist() == [0, *[-100] * 8]
    assert (untagged.values[1:] == -100).all()


def test_tags_without_relations_are_refused_where_they_are_needed() -> None:
    with pytest.raises(ValueError, match="expected tags with dependency relations, got none for 'a cab bad'"):
        SentenceRows(CHARACTERS, start="", end="", deprels=DEPRELS).make(TEXTS, tag_texts(TEXTS, RULE))
    one = np.zeros(1, np.int8)
    with pytest.raises(ValueError, match="expected a span and two tags a word, got 1, 1, 1, 2"):
        TextTags(spans=np.zeros((1, 2), np.int64), terminal=one, nonterminal=one, deprels=("a", "b"))


def test_a_cache_asks_once_more_for_relations_that_it_was_not_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "tags.jsonl"
    (plain,) = TagCache(RULE, path)(TEXTS[:1])
    (named,) = TagCache(RULE, path, with_deprels=True)(TEXTS[:1])
    (again,) = TagCache(RULE, path)(TEXTS[:1])

    assert plain.deprels is None
    assert named.deprels == again.deprels == ("root", "dep", "dep")
    assert np.array_equal(named.terminal, plain.terminal)
    assert len(path.read_text().splitlines()) == 3  # the head, and a line each time that the parser was asked


@pytest.mark.parametrize(
    ("regime", "is_given"),
    [("full", True), ("injection-only", True), ("none", False), ("losses-only", False), ("terminal-only", False)],
)
def test_relations_are_given_where_all_tags_are(regime: str, is_given: bool) -> None:
    batch = pad_rows(make_rows())

    found = apply_tag_regime(batch, regime)["deprel"]

    assert torch.equal(found, batch["deprel"]) if is_given else bool((found == -100).all())


def test_relations_are_shuffled_with_the_tags_of_their_words() -> None:
    batch = pad_rows([row for seed in range(6) for row in make_rows()])
    batch["input_ids"] += torch.arange(len(batch["input_ids"]))[:, None]  # rows of other tokens, other orders
    mixed = apply_tag_regime(batch, "shuffled", seed=1)

    triples = [
        sorted(zip(*(b[name][0].tolist() for name in ("terminal", "nonterminal", "deprel")), strict=True))
        for b in (batch, mixed)
    ]
    assert triples[0] == triples[1]
    assert not torch.equal(mixed["deprel"], batch["deprel"])


def test_where_a_token_is_masked_its_relation_is_hidden() -> None:
    batch = pad_rows(make_rows())
    masked = mask_tokens(batch, MASKS, step=0)
    is_chosen = masked["masked_target"] != -100

    assert is_chosen.any()
    assert (masked["deprel"][is_chosen] == -100).all()
    assert torch.equal(masked["deprel"][~is_chosen], batch["deprel"][~is_chosen])
    assert "deprel_target" not in hide_tags(batch, is_chosen)


def test_the_likelihood_of_masked_tokens_is_of_the_same_tokens_for_every_model() -> None:
    rows = make_rows()
    found = [
        masked_nll(build(tables), rows, MASKS, regime="full", num_draws=3)
        for tables in ("terminal+nonterminal", "nonterminal+deprel")
    ]

    assert np.array_equal(found[0][1], found[1][1])
    assert (found[0][1] > 0).all()
    assert not np.allclose(found[0][0], found[1][0])
    once, counts = masked_nll(build("nonterminal+deprel"), rows, MASKS, regime="full")
    assert (counts <= found[1][1]).all()
    assert (once <= found[1][0]).all()


def test_a_scorer_gives_a_model_the_relations_but_that_of_the_masked_word() -> None:
    model = build("nonterminal+deprel")
    scorer = MaskedScorer(model, CHARACTERS, MaskedScoring(start="", end=""), deprels=DEPRELS)
    tags = tag_texts(["a b"], RULE, with_deprels=True)
    other = [
        TextTags(spans=t.spans, terminal=t.terminal, nonterminal=t.nonterminal, deprels=("root", "root")) for t in tags
    ]

    before, after = (scorer.score(["a b"], some)[0].surprisal for some in (tags, other))

    assert before[2] == pytest.approx(after[2], abs=1e-12)  # b's own relation is hidden with b
    assert abs(before[0] - after[0]) > 1e-9


def test_a_benchmark_numbers_the_relations_by_the_file_of_the_training_data(tmp_path: Path) -> None:
    model = build("terminal+nonterminal+deprel")
    state = {name: tensor.clone() for name, tensor in model.float().state_dict().items()}
    checkpoint = Checkpoint(step=1, facts={"model": describe_model(model)}, state={}, tensors={"model": state})
    write_checkpoint(checkpoint, tmp_path / "model")
    (tmp_path / "characters.json").write_bytes(CHARACTERS.to_json())
    (tmp_path / "deprels.json").write_bytes(DEPRELS.to_json())
    (tmp_path / "blimp").mkdir()
    pair = {"UID": "one", "field": "syntax", "linguistics_term": "binding", "pairID": "0"}
    pair |= {"sentence_good": "a cab bad", "sentence_bad": "a cab bed"}
    (tmp_path / "blimp" / "one.jsonl").write_text(json.dumps(pair), encoding="utf-8")
    options = ["benchmark", "blimp", "--model", tmp_path / "model", "--data", tmp_path / "blimp", "--parser", RULE]
    options += ["--tokenizer", tmp_path / "characters.json", "--to", tmp_path / "out"]

    done = CliRunner().invoke(main, [*map(str, options), "--deprels", str(tmp_path / "deprels.json")])
    without = CliRunner().invoke(main, list(map(str, options)))

    assert done.exit_code == 0, done.output
    assert '"deprels":["root","dep","dep"]' in (tmp_path / "out" / "tags.jsonl").read_text(encoding="utf-8")
    assert without.exit_code == 2
    assert "needs terminal and nonterminal and deprel" in without.output


def test_a_recipe_trains_an_encoder_with_relations(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    text = (root / "pipelines" / "sipe_encoder.toml").read_text(encoding="utf-8")
    text = text.replace("../sample_data", str(root / "sample_data")).replace("num_steps = 100", "num_steps = 2")
    text = text.replace('view = "sequence"', f'view = "sequence"\ncolumns = {json.dumps([*ROW_COLUMNS, "target"])}')
    text = text.replace('injection = "input"', 'injection = "input"\ntag_tables = "terminal+nonterminal+deprel"')
    path = tmp_path / "recipe.toml"
    path.write_text(text, encoding="utf-8")

    done = CliRunner().invoke(main, ["run", str(path), "--to", str(tmp_path / "out")])

    assert done.exit_code == 0, done.output
    (checkpoint,) = (tmp_path / "out" / "models" / "encoder" / "checkpoints").glob("step-*")
    (tokens,) = (tmp_path / "out").rglob("deprels.json")
    assert load_model(checkpoint).config.num_deprels == len(DeprelVocabulary.read(tokens))
