"""SiPE Tables 9 and 10, Figs 7 and 8: how tag vectors are fused with RoBERTa's input, and dependency relations in them.

The paper compares by GLUE after 1M steps (fusion) and 500k steps (relations); its averages stand beside what is
measured here. A variant that is given no tags and predicts them tells what the tag losses do by themselves.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from lisdata.evaluation.blimp import hash_paradigms, read_blimp
from lisdata.evaluation.tag_cache import TagCache
from lisdata.reproduce.preparation import OnStep, telling
from lisdata.reproduce.runner import Experiment, JsonDict
from lisdata.reproduce.sipe_corpus import (
    SipeFolders,
    choose_sentences,
    describe_corpus,
    make_tokens,
    split_books,
)
from lisdata.reproduce.sipe_encoders import EncoderVariant, run_variant
from lisdata.reproduce.sipe_settings import SCALES as DECODER_SCALES
from lisdata.reproduce.sipe_settings import SipeScale
from lisdata.reproduce.sipe_variants_report import write_table
from lisdata.torch_threads import one_thread

T_NT_DR, NT_DR = "terminal+nonterminal+deprel", "nonterminal+deprel"


def _variant(fusion: str = "add", tag_tables: str = "terminal+nonterminal", **settings: Any) -> EncoderVariant:
    return EncoderVariant(model={"injection": "input", "fusion": fusion, "tag_tables": tag_tables, **settings})


VARIANTS: dict[str, EncoderVariant] = {
    "none": EncoderVariant(regime="none"),
    "losses-only": EncoderVariant(regime="losses-only"),
    "add": _variant(),
    "concat": _variant("concat"),
    "residual": _variant("residual"),
    "alpha-0.1": _variant("alpha", alpha=0.1),
    "alpha-0.5": _variant("alpha", alpha=0.5),
    "alpha-0.9": _variant("alpha", alpha=0.9),
    "add-deprel": _variant(tag_tables=T_NT_DR),
    "concat-deprel": _variant("concat", T_NT_DR),
    "add-deprel-for-terminal": _variant(tag_tables=NT_DR),
    "alpha-deprel-for-terminal": _variant("alpha", NT_DR),
    "concat-deprel-for-terminal": _variant("concat", NT_DR),
}
"""The last five are the paper's ADD_T_NT_DR, CONCAT_POS_NT_T_DR, ADD_DNT, ADD_DNT (alpha) and CONCAT_POS_DNT."""

SCALES: dict[str, SipeScale] = {
    "reduced": replace(DECODER_SCALES["reduced"], num_steps=2000, evaluate_every=500, blimp_pairs=20),
    "paper": replace(
        DECODER_SCALES["paper"],
        width=768,
        num_layers=12,
        num_attention_heads=12,
        length=512,
        batch_size=32,
        num_steps=1_000_000,
        learning_rate=6e-4,
        num_warmup_steps=24_000,
        vocabulary_size=50_265,
        evaluate_every=20_000,
        weight_decay=0.01,
        clip_norm=1.0,
    ),
}
"""The paper says neither its batch nor its learning rate: these are RoBERTa's, but for the batch."""


def prepare(data: Path | None, directory: Path, scale: SipeScale, on_step: OnStep) -> JsonDict:
    """Make the corpus and tag all that models are measured on, unless that is done, and say what it is."""
    assert data is not None  # the experiment's entry says that it needs a folder
    folders, books = SipeFolders(root=directory), split_books(data, scale)
    with one_thread():
        make_tokens(books, directory, scale, on_step, with_deprels=True)
        paradigms = read_blimp(data / "blimp", max_pairs=scale.blimp_pairs)
        tags = TagCache(scale.parser, folders.tags, with_deprels=True)
        for split, number in (("valid", scale.num_valid), ("test", scale.num_test)):
            tags(choose_sentences(folders, split, number, scale.length))
        pairs = [text for paradigm in paradigms for pair in paradigm.pairs for text in (pair.good, pair.bad)]
        telling(tags, on_step("tag BLiMP"))(pairs)
    return describe_corpus(books, folders) | {"parser": tags.pinned, "blimp_sha256": hash_paradigms(paradigms)}


EXPERIMENT = Experiment(
    name="sipe-variants",
    variants=tuple(VARIANTS),
    scales=SCALES,
    prepare=prepare,
    run=partial(run_variant, VARIANTS),
    report=write_table,
)
