"""SiPE Table 3: encoders and a decoder with and without hexatags on BLiMP, also after going on training on other text.

The paper's controls are few: here every model with tags is also measured without them, encoders under the tags of a
parse that cannot read the masked token, the decoder under those of a parse of what was read; and there are models that
only learn to predict tags, that learn with shuffled ones, or are given tags at identity when they go on training.
`lisdata.reproduce.sipe_backbones` lists the variants.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from torch import nn

from lisdata.atomic import write_atomically
from lisdata.checkpoints import load_model
from lisdata.encoding import Tokenizer, load_tokenizer
from lisdata.errors import LisDataError
from lisdata.evaluation.blimp import (
    Paradigm,
    evaluate_blimp,
    hash_paradigms,
    macro_score,
    phenomenon_scores,
    read_blimp,
)
from lisdata.evaluation.masked_scorer import MaskedScorer, MaskedScoring
from lisdata.evaluation.sentence_scores import SentenceScorer, TagTexts
from lisdata.evaluation.tag_cache import TagCache
from lisdata.reproduce.preparation import OnStep, telling
from lisdata.reproduce.runner import Experiment, JsonDict, RunRequest, training_figures
from lisdata.reproduce.sipe_backbones import HIDDEN, SCALES, VARIANTS, BackboneScale, BackboneVariant
from lisdata.reproduce.sipe_corpus import SipeFolders, describe_corpus, make_tokens, read_valid, split_books
from lisdata.reproduce.sipe_evaluation import make_scorer, spell_items
from lisdata.reproduce.sipe_pretraining import CONTINUED, FIRST, train_stages
from lisdata.reproduce.sipe_report import items_path
from lisdata.reproduce.sipe_table_3_report import write_table
from lisdata.torch_threads import one_thread


def prepare(data: Path | None, directory: Path, scale: BackboneScale, on_step: OnStep) -> JsonDict:
    """Make the tokens of both stages and tag what models are measured on, unless that is done, and say what it is."""
    assert data is not None  # the experiment's entry says that it needs a folder
    folders = SipeFolders(root=directory)
    books = split_books(data, scale)
    later = [path for path in books["train"] if path.stem in scale.continued_files]
    first = [path for path in books["train"] if path not in later]
    if len(later) < len(scale.continued_files) or not first:
        missing = sorted({*scale.continued_files} - {path.stem for path in later})
        raise LisDataError(f"{data / 'books'}: expected books to begin and go on with, found no {', '.join(missing)}")
    books |= {"train": first, CONTINUED: later}
    with one_thread():
        make_tokens(books, directory, scale, on_step)
        tag = TagCache(scale.parser, folders.tags)
        paradigms = read_blimp(data / "blimp", max_pairs=scale.blimp_pairs)
        tag(read_valid(folders, scale))
        pairs = [text for paradigm in paradigms for pair in paradigm.pairs for text in (pair.good, pair.bad)]
        telling(tag, on_step("tag BLiMP"))(pairs)
        corpus = describe_corpus(books, folders)
    return corpus | {"parser": tag.pinned, "blimp_sha256": hash_paradigms(paradigms)}


def run(request: RunRequest) -> JsonDict:
    """Train a variant through both stages, or go on, and measure what each ended with."""
    assert request.data is not None
    variant, scale = VARIANTS[request.variant], request.scale
    folders = SipeFolders(root=request.directory)
    tag = TagCache(scale.parser, folders.tags)
    tokenizer = load_tokenizer(folders.tokenizer)
    paradigms = read_blimp(request.data / "blimp", max_pairs=scale.blimp_pairs)
    with one_thread():
        results = train_stages(request, variant, tag)
        stages, items = {}, {}
        for stage, result in results.items():
            began = time.perf_counter()
            model = load_model(result.checkpoint)
            is_untagged = variant.is_late and stage == FIRST
            readings = ("none",) if is_untagged else variant.readings
            found = {name: measure_blimp(model, variant, tokenizer, tag, name, paradigms) for name in readings}
            items[stage] = {name: spelled for name, (_, spelled) in found.items()}
            stages[stage] = training_figures(result.report, evaluation_seconds=time.perf_counter() - began) | {
                "readings": {name: figures for name, (figures, _) in found.items()},
                "evaluations": json.loads(result.report.read_text(encoding="utf-8"))["evaluations"],
            }
    write_atomically(items_path(request.directory, request.name), (json.dumps(items) + "\n").encode())
    return {"num_parameters": stages[CONTINUED]["num_parameters"], "stages": stages}


def measure_blimp(
    model: nn.Module,
    variant: BackboneVariant,
    tokenizer: Tokenizer,
    tag: TagCache,
    reading: str,
    paradigms: list[Paradigm],
) -> tuple[JsonDict, dict[str, str]]:
    """Return a model's scores on BLiMP under a reading, and its verdicts by item as `spell_items` spells them."""
    scorer, tag_first = _make_scorer(model, variant, tokenizer, tag, reading)
    results = evaluate_blimp(paradigms, scorer, model=reading, tag=tag_first)
    scores = results.group_scores()
    figures = {"blimp": macro_score(scores), "blimp_phenomena": phenomenon_scores(scores, paradigms)}
    return figures | {"num_ties": results.num_ties}, spell_items(results)


def _make_scorer(
    model: nn.Module, variant: BackboneVariant, tokenizer: Tokenizer, tag: TagCache, reading: str
) -> tuple[SentenceScorer, TagTexts | None]:
    """Return what scores sentences under a reading, and what tags them first."""
    if not variant.is_masked:
        return make_scorer(model, tokenizer, tag, reading)
    is_hidden = reading == HIDDEN
    scoring = MaskedScoring(regime="full" if is_hidden else reading)
    return MaskedScorer(model, tokenizer, scoring, parse_masked=tag if is_hidden else None), tag


EXPERIMENT = Experiment(
    name="sipe-table-3",
    variants=tuple(VARIANTS),
    scales=SCALES,
    prepare=prepare,
    run=run,
    report=write_table,
)
