"""The corpus of the SiPE experiments: books to hexatagged sentences, tokens, frozen tags, and sentences held out.

DATA/
  books/*.txt            one paragraph a line
  blimp/*.jsonl.gz       the paradigms
  syntaxgym/suites/      the suites

One of the books is the test, another one, of yet another author, is for validation; `SipeScale` names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lisdata.conversion import convert
from lisdata.encoding import Tokenizer, encode, load_tokenizer
from lisdata.encoding.deprels import DEPRELS_FILE
from lisdata.encoding.frozen_tags import freeze_tags
from lisdata.encoding.tokenizer_training import END, TokenizerSettings, train_tokenizer
from lisdata.errors import LisDataError
from lisdata.evaluation.blimp import Paradigm, hash_paradigms, read_blimp
from lisdata.evaluation.prefix_rows import tag_prefixes
from lisdata.evaluation.sentence_rows import SentenceRows
from lisdata.evaluation.syntaxgym_suites import Suite, hash_suites, read_suites
from lisdata.evaluation.tag_cache import TagCache
from lisdata.reproduce.preparation import OnStep, iter_batches
from lisdata.reproduce.runner import JsonDict
from lisdata.reproduce.sipe_settings import SipeScale
from lisdata.runs import OnProgress
from lisdata.schema import DEPREL_COLUMN
from lisdata.shards.manifest import file_entry
from lisdata.token_shards import TokenDataset

COLUMNS = ("input_ids", "terminal", "nonterminal")
SPLITS = ("train", "valid", "test")
_BYTES_A_WORKER, _MOST_WORKERS = 1 << 20, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SipeFolders:
    """Where the parts of the corpus lie below an experiment's folder."""

    root: Path

    def tokens(self, name: str) -> Path:
        """Return the folder of the rows of a split, or of "train-frozen"."""
        return self.root / "tokens" / name

    @property
    def tokenizer(self) -> Path:
        """The tokenizer that was learned from the training books."""
        return self.root / "tokenizer.json"

    @property
    def tags(self) -> Path:
        """The tags of all sentences that are measured on, and of their prefixes."""
        return self.root / "tags.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSets:
    """What models are measured on: sentences of a book, BLiMP, SyntaxGym."""

    sentences: Sequence[str]
    paradigms: Sequence[Paradigm]
    suites: Sequence[Suite]

    def all_texts(self) -> list[str]:
        """Return every text, once."""
        pairs = [text for paradigm in self.paradigms for pair in paradigm.pairs for text in (pair.good, pair.bad)]
        items = [item for suite in self.suites for item in suite.items]
        conditions = [condition.text for item in items for condition in item.conditions.values()]
        return list(dict.fromkeys([*self.sentences, *pairs, *conditions]))


def prepare_corpus(
    data: Path, directory: Path, scale: SipeScale, on_step: OnStep, *, with_prefixes: bool = True
) -> JsonDict:
    """Make the corpus and tag all that models are measured on, as far as that is not done; return what decides it.

    `with_prefixes` there are also frozen tags to train on, and those of all prefixes that are measured.
    """
    folders = SipeFolders(root=directory)
    books = split_books(data, scale)
    workers = make_tokens(books, directory, scale, on_step)
    tests, valid = read_tests(data, folders, scale), read_valid(folders, scale)
    tags = TagCache(scale.parser, folders.tags)
    rows = make_rows(load_tokenizer(folders.tokenizer))
    _tag_all(valid, tests, tags, rows if with_prefixes else None, on_step("tag what is measured on"))
    corpus = describe_corpus(books, folders)
    if with_prefixes:
        frozen = folders.tokens("train-frozen")
        shown = on_step("freeze tags of train")
        freeze_tags(folders.tokens("train"), frozen, scale.parser, workers=workers, on_progress=shown)
        corpus["tokens"]["train-frozen"] = TokenDataset(frozen).fingerprint
    return corpus | {
        "parser": tags.pinned,
        "blimp_sha256": hash_paradigms(tests.paradigms),
        "suites_sha256": hash_suites(data / "syntaxgym" / "suites"),
    }


def describe_corpus(books: Mapping[str, Sequence[Path]], folders: SipeFolders) -> JsonDict:
    """Return what decides the tokens of each split: the books, the tokenizer, the rows."""
    return {
        "books": {split: {path.stem: file_entry(path)["sha256"] for path in paths} for split, paths in books.items()},
        "training": describe_tokens(folders.tokens("train")),
        "tokens": {split: TokenDataset(folders.tokens(split)).fingerprint for split in books},
        "tokenizer": file_entry(folders.tokenizer)["sha256"],
    }


def make_tokens(
    books: Mapping[str, Sequence[Path]],
    directory: Path,
    scale: SipeScale,
    on_step: OnStep,
    *,
    with_deprels: bool = False,
) -> int:
    """Make a dataset of hexatagged tokens of the books of each split, as far as that is not done.

    The tokenizer is learned from those of "train", whose dependency relations, `with_deprels`, are numbered. Returns
    the number of worker processes that their size is worth.
    """
    folders = SipeFolders(root=directory)
    size = sum(path.stat().st_size for path in books["train"])
    workers = min(_MOST_WORKERS, 1 + size // _BYTES_A_WORKER)
    for split, paths in books.items():
        options = {"parser": scale.parser, "unit": "line"}
        convert(
            "parsed",
            list(map(str, paths)),
            directory / "incidence" / split,
            options=options,
            unit_mib=1,  # what takes a parser minutes: a run that is stopped begins no more than this anew
            workers=workers,
            on_progress=on_step(f"convert {split}"),
        )
    if not folders.tokenizer.exists():
        settings = TokenizerSettings(vocabulary_size=scale.vocabulary_size, straight_quotes=True)
        train_tokenizer(list(map(str, books["train"])), folders.tokenizer, settings)
    for split in books:
        encode(
            directory / "incidence" / split,
            folders.tokens(split),
            tokenizer=str(folders.tokenizer),
            view="sequence",
            special_tokens=True,
            columns=(*COLUMNS, DEPREL_COLUMN) if with_deprels else COLUMNS,
            deprels=str(folders.tokens("train") / DEPRELS_FILE) if with_deprels and split != "train" else None,
            record_ids=False,
            on_progress=on_step(f"encode {split}"),
        )
    return workers


def split_books(data: Path, scale: SipeScale) -> dict[str, list[Path]]:
    """Return the books of each split, by name; raises LisDataError where one that is held out is not there."""
    books = {path.stem: path for path in sorted((data / "books").glob("*.txt"))}
    held_out = {"valid": scale.valid_files, "test": scale.test_files}
    missing = [name for names in held_out.values() for name in names if name not in books]
    training = [path for name, path in books.items() if not any(name in names for names in held_out.values())]
    if missing or not training:
        what = f"no {', '.join(missing)}" if missing else "none to train on"
        raise LisDataError(f"{data / 'books'}: expected books (.txt) to train on and those held out, found {what}")
    return {"train": training} | {split: [books[name] for name in names] for split, names in held_out.items()}


def read_tests(data: Path, folders: SipeFolders, scale: SipeScale) -> TestSets:
    """Return what models are measured on."""
    return TestSets(
        sentences=choose_sentences(folders, "test", scale.num_test, scale.length),
        paradigms=read_blimp(data / "blimp", max_pairs=scale.blimp_pairs),
        suites=read_suites(data / "syntaxgym" / "suites"),
    )


def read_valid(folders: SipeFolders, scale: SipeScale) -> list[str]:
    """Return the sentences that say which checkpoint is the best."""
    return choose_sentences(folders, "valid", scale.num_valid, scale.length)


def choose_sentences(folders: SipeFolders, split: str, number: int, length: int) -> list[str]:
    """Return at most `number` sentences with words, of at most `length` tokens to predict, spread over the split."""
    dataset, tokenizer = TokenDataset(folders.tokens(split)), load_tokenizer(folders.tokenizer)
    batch = dataset.gather(np.arange(len(dataset)))
    num_tagged = np.add.reduceat(batch.columns["terminal"] >= 0, batch.offsets[:-1])
    rows = np.flatnonzero((num_tagged > 0) & (batch.length <= length + 1))
    chosen = rows[np.unique(np.linspace(0, len(rows) - 1, min(number, len(rows))).round().astype(np.int64))]
    return [tokenizer.decode(batch[row]["input_ids"][1:-1].tolist()) for row in chosen.tolist()]


def make_rows(tokenizer: Tokenizer) -> SentenceRows:
    """Return what makes rows of sentences as they were trained on: with their start and end."""
    return SentenceRows(tokenizer, start=None, end=END)


def _tag_all(
    valid: Sequence[str], tests: TestSets, tags: TagCache, rows: SentenceRows | None, on_progress: OnProgress
) -> None:
    """Bring the tags of all sentences into the cache, and with `rows` of their prefixes: runs side by side share it."""
    texts = [*dict.fromkeys([*valid, *tests.all_texts()])]
    for some in iter_batches(texts, on_progress):
        tags(some)
        if rows is not None:
            tag_prefixes(rows.make(some, None), tags)


def describe_tokens(path: Path) -> JsonDict:
    """Return how much there is in a dataset of sentences."""
    dataset = TokenDataset(path)
    counts = dataset.manifest["counts"]
    return {"sentences": len(dataset), "words": counts["words"], "tokens": dataset.num_tokens}
