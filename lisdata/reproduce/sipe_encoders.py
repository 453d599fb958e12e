"""Studies of an encoder given hexatags: every variant trained on the same masked sentences, and measured.

A variant is measured by the likelihood of masked tokens of a book held out and by BLiMP (pseudo-log-likelihood), each
under the tags of whole sentences, withheld where a token is masked, and without any; by BLiMP also under tags of a
parse that could not read the masked token.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from lisdata.atomic import write_atomically
from lisdata.checkpoints import load_model, tokenizer_facts
from lisdata.encoding import load_tokenizer
from lisdata.encoding.deprels import DEPRELS_FILE, DeprelVocabulary
from lisdata.evaluation import blimp
from lisdata.evaluation.item_results import ItemResults
from lisdata.evaluation.masked_nll import masked_nll
from lisdata.evaluation.masked_scorer import MaskedScorer, MaskedScoring
from lisdata.evaluation.sentence_rows import SentenceRows
from lisdata.evaluation.sentence_scores import Int64
from lisdata.evaluation.tag_cache import TagCache
from lisdata.models import build_model
from lisdata.reproduce.runner import JsonDict, RunRequest, training_figures
from lisdata.reproduce.sipe_corpus import COLUMNS, SipeFolders, choose_sentences
from lisdata.reproduce.sipe_evaluation import spell_items
from lisdata.reproduce.sipe_report import items_path
from lisdata.reproduce.sipe_settings import SipeScale
from lisdata.reproduce.sipe_training import pack_batches, train_config
from lisdata.schema import DEPREL_COLUMN
from lisdata.special_tokens import mask_recipe, mask_settings
from lisdata.token_shards import TokenDataset
from lisdata.torch_threads import one_thread
from lisdata.training import MaskedBatches, MaskedSipeObjective, MaskRecipe, masked_token_loss, train
from lisdata.training.loop import TrainResult

MODEL = "sipe-roberta"
MASK_RATE = 0.15
NUM_DRAWS = 4
"""How often the tokens of a sentence held out are masked anew."""
HIDDEN = "blimp_hidden"
"""The figure of BLiMP where the tags are of a parse that cannot read the masked token."""
_EVALUATION_SEED = 1_000_003  # apart from those of training


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderVariant:
    """An encoder and the tags that it learns with, by a regime ("none", "losses-only", "full"); `model`: settings."""

    regime: str = "full"
    model: Mapping[str, Any] = field(default_factory=dict)

    @property
    def predicts_tags(self) -> bool:
        """Whether it learns to predict the tags of masked tokens."""
        return self.regime != "none"

    @property
    def readings(self) -> tuple[str, ...]:
        """The tags that it is measured under; the first are those of training."""
        return ("full", "none") if self.regime == "full" else ("none",)

    def model_settings(self, scale: SipeScale) -> JsonDict:
        """Return the settings of the model, but for its vocabularies."""
        settings: JsonDict = {name: getattr(scale, name) for name in ("width", "num_layers", "num_attention_heads")}
        settings |= {"dropout": scale.dropout, "max_positions": scale.length + 1}
        return settings | {"predicts_tags": self.predicts_tags, **self.model}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Materials:
    """What a run works with, read from the experiment's folder."""

    folders: SipeFolders
    dataset: TokenDataset
    deprels: DeprelVocabulary
    tag: TagCache
    rows: SentenceRows

    @classmethod
    def open(cls, directory: Path, scale: SipeScale) -> _Materials:
        folders = SipeFolders(root=directory)
        tokenizer = load_tokenizer(folders.tokenizer)
        deprels = DeprelVocabulary.read(folders.tokens("train") / DEPRELS_FILE)
        return cls(
            folders=folders,
            dataset=TokenDataset(folders.tokens("train")),
            deprels=deprels,
            tag=TagCache(scale.parser, folders.tags, with_deprels=True),
            rows=SentenceRows(tokenizer, start=None, end=None, deprels=deprels),
        )

    def held_out(self, split: str, number: int, length: int) -> list[Int64]:
        """Return sentences of a split as rows (4, T)."""
        texts = choose_sentences(self.folders, split, number, length)
        return [row.values for row in self.rows.make(texts, self.tag(texts))]

    def masks(self, seed: int) -> MaskRecipe:
        """Return how tokens are masked."""
        return mask_recipe(self.dataset, rate=MASK_RATE, seed=seed)


def run_variant(variants: Mapping[str, EncoderVariant], request: RunRequest) -> JsonDict:
    """Train one variant, or go on training it, and measure the best of its checkpoints on the validation sentences."""
    assert request.data is not None  # the experiment's entry says that it needs a folder
    variant, scale = variants[request.variant], request.scale
    materials = _Materials.open(request.directory, scale)
    with one_thread():
        result = _train(request, variant, materials)
        if not result.is_finished:
            raise KeyboardInterrupt
        assert result.best is not None  # there is an evaluation after the last step
        model = load_model(result.best)
        began = time.perf_counter()
        paradigms = blimp.read_blimp(request.data / "blimp", max_pairs=scale.blimp_pairs)
        rows = materials.held_out("test", scale.num_test, scale.length)
        found = {reading: _measure(model, reading, materials, rows, paradigms) for reading in variant.readings}
    items = {reading: items for reading, (_, items) in found.items()}
    write_atomically(items_path(request.directory, request.name), (json.dumps(items) + "\n").encode())
    seconds = time.perf_counter() - began
    figures = training_figures(result.report, evaluation_seconds=seconds)
    readings = {reading: measured for reading, (measured, _) in found.items()}
    return figures | {"best_step": int(result.best.name.removeprefix("step-")), "readings": readings}


def _train(request: RunRequest, variant: EncoderVariant, materials: _Materials) -> TrainResult:
    scale, dataset, on_step = request.scale, materials.dataset, request.on_step
    valid, masks = materials.held_out("valid", scale.num_valid, scale.length), materials.masks(_EVALUATION_SEED)
    columns = (*COLUMNS, DEPREL_COLUMN)
    packs = pack_batches(dataset, scale, regime=variant.regime, seed=request.seed, columns=columns)
    settings = mask_settings(dataset) | {"num_deprels": max(1, len(materials.deprels))}
    return train(
        build_model(MODEL, seed=request.seed, **settings, **variant.model_settings(scale)),
        MaskedBatches(packs, materials.masks(request.seed)),
        train_config(scale, seed=request.seed),
        directory=request.directory / "models" / request.name,
        facts=tokenizer_facts(dataset.manifest),
        objective=MaskedSipeObjective() if variant.predicts_tags else masked_token_loss,
        evaluate=_validation(valid, masks, variant.regime),
        keep_best="nll",
        on_progress=None if on_step is None else lambda p: on_step(p.step, p.num_steps, p.loss),
    )


def _validation(rows: list[Int64], masks: MaskRecipe, regime: str) -> Callable[[nn.Module], JsonDict]:
    def measure(model: nn.Module) -> JsonDict:
        nats, counts = masked_nll(model, rows, masks, regime=regime, num_draws=NUM_DRAWS)
        return {"nll": float(nats.sum() / counts.sum())}

    return measure


def _measure(
    model: nn.Module, reading: str, materials: _Materials, rows: list[Int64], paradigms: list[blimp.Paradigm]
) -> tuple[JsonDict, JsonDict]:
    """Return the figures of a reading, and by item what they are made of."""
    masks = materials.masks(_EVALUATION_SEED)
    nats, counts = masked_nll(model, rows, masks, regime=reading, num_draws=NUM_DRAWS)
    pairs = _score_pairs(model, reading, materials, paradigms)
    scores = pairs.group_scores()
    figures = {
        "nll": float(nats.sum()),
        "num_masked": int(counts.sum()),
        "blimp": blimp.macro_score(scores),
        "blimp_phenomena": blimp.phenomenon_scores(scores, paradigms),
    }
    items = {"nll": [round(value, 4) for value in nats.tolist()], "blimp": spell_items(pairs)}
    if reading == "full":
        hidden = _score_pairs(model, reading, materials, paradigms, parse_masked=materials.tag)
        figures[HIDDEN] = blimp.macro_score(hidden.group_scores())
        items[HIDDEN] = spell_items(hidden)
    return figures, items


def _score_pairs(
    model: nn.Module,
    reading: str,
    materials: _Materials,
    paradigms: list[blimp.Paradigm],
    *,
    parse_masked: TagCache | None = None,
) -> ItemResults:
    tokenizer, scoring = load_tokenizer(materials.folders.tokenizer), MaskedScoring(regime=reading)
    scorer = MaskedScorer(model, tokenizer, scoring, parse_masked=parse_masked, deprels=materials.deprels)
    return blimp.evaluate_blimp(paradigms, scorer, model=reading, tag=materials.tag)
