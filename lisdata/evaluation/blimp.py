"""BLiMP (Warstadt et al. 2020): 67 paradigms of 1,000 minimal pairs; the better sentence has to be the likelier one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from lisdata.errors import Place, SchemaError
from lisdata.evaluation.item_results import ItemResults, Verdict, mean_score
from lisdata.evaluation.sentence_scores import SentenceScorer, TagTexts, score_sentences, tags_of
from lisdata.evaluation.text_lines import iter_lines
from lisdata.json_shape import Shape, find_mismatch

_FOLDED_FIELDS = {"syntax/semantics": "syntax_semantics"}  # one paradigm writes it so, thirteen otherwise
_FOLDED_PHENOMENA = {"s-selection": "argument_structure"}  # the paper's 12 phenomena from the data's 13 labels

_LINE: Shape = {
    "sentence_good": str,
    "sentence_bad": str,
    "field": str,
    "linguistics_term": str,
    "UID": str,
    "pairID": (str, int),
}

OnProgress = Callable[[float, float, str], None]
"""Called with the paradigms done, the paradigms in all, and the name of the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A minimal pair; `number` is its place in the paradigm as published."""

    number: int
    good: str
    bad: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paradigm:
    """A paradigm: `field` is one of 4, `phenomenon` one of the paper's 12, `label` the data's own, one of 13."""

    name: str
    field: str
    phenomenon: str
    label: str
    pairs: tuple[Pair, ...]


def read_blimp(directory: Path, *, max_pairs: int | None = None) -> list[Paradigm]:
    """Return the paradigms of all .jsonl and .jsonl.gz files of a folder, by name, with their first `max_pairs` pairs.

    Raises SchemaError where there are none, and for a line that is no pair of BLiMP's, with its place.
    """
    if max_pairs is not None and max_pairs < 1:
        raise ValueError(f"{max_pairs=} is not a positive number")
    paradigms: dict[str, Paradigm] = {}
    for path in _paradigm_files(directory):
        paradigm = read_paradigm(path, max_pairs=max_pairs)
        if paradigm.name in paradigms:
            raise SchemaError(f"{path}: expected another paradigm than {paradigm.name!r}, which an earlier file has")
        paradigms[paradigm.name] = paradigm
    return [paradigms[name] for name in sorted(paradigms)]


def read_paradigm(path: Path, *, max_pairs: int | None = None) -> Paradigm:
    """Return the paradigm of one file, which may be compressed."""
    pairs: dict[int, Pair] = {}
    head: tuple[str, str, str] | None = None
    for place, line in iter_lines(path):
        if max_pairs is not None and len(pairs) == max_pairs:
            break
        body = _read_line(line, place)
        found = body["UID"], body["field"], body["linguistics_term"]
        head = head or found
        if found != head:
            raise SchemaError(f"{place}: expected a pair of {', '.join(head)}, found one of {', '.join(found)}")
        number = int(body["pairID"])
        if number in pairs:
            raise SchemaError(f"{place}: expected each pair once, found pair {number} again")
        pairs[number] = Pair(number=number, good=body["sentence_good"], bad=body["sentence_bad"])
    if head is None:
        raise SchemaError(f"{path}: expected pairs of sentences, found none")
    name, field, label = head
    return Paradigm(
        name=name,
        field=_FOLDED_FIELDS.get(field, field),
        phenomenon=_FOLDED_PHENOMENA.get(label, label),
        label=label,
        pairs=tuple(pairs.values()),
    )


def hash_paradigms(paradigms: Sequence[Paradigm]) -> str:
    """Return the SHA-256 of the pairs, whatever files they were read from."""
    digest = hashlib.sha256()
    for paradigm in paradigms:
        body = [paradigm.name, [[pair.number, pair.good, pair.bad] for pair in paradigm.pairs]]
        digest.update(orjson.dumps(body))
    return digest.hexdigest()


def evaluate_blimp(
    paradigms: Sequence[Paradigm],
    scorer: SentenceScorer,
    *,
    model: str,
    tag: TagTexts | None = None,
    on_progress: OnProgress | None = None,
) -> ItemResults:
    """Return of each paradigm which pairs are right: where the good sentence has less surprisal; equal is a tie.

    Each sentence is tagged as a whole by `tag`, if there is one.
    """
    verdicts: dict[str, dict[int, Verdict]] = {}
    for done, paradigm in enumerate(paradigms, 1):
        texts = [text for pair in paradigm.pairs for text in (pair.good, pair.bad)]
        totals = [tokens.total for tokens in score_sentences(scorer, texts, tags_of(texts, tag))]
        scored = zip(paradigm.pairs, totals[::2], totals[1::2], strict=True)
        verdicts[paradigm.name] = {pair.number: None if good == bad else good < bad for pair, good, bad in scored}
        if on_progress is not None:
            on_progress(done, len(paradigms), paradigm.name)
    return ItemResults(model=model, verdicts=verdicts)


def macro_score(scores: Mapping[str, float]) -> float:
    """Return the benchmark's score, 0 to 1, from those of the paradigms: their plain mean."""
    return mean_score(scores, scores)


def phenomenon_scores(scores: Mapping[str, float], paradigms: Sequence[Paradigm]) -> dict[str, float]:
    """Return the plain mean over the paradigms of each of the 12 phenomena."""
    return _mean_by({paradigm.name: paradigm.phenomenon for paradigm in paradigms}, scores)


def field_scores(scores: Mapping[str, float], paradigms: Sequence[Paradigm]) -> dict[str, float]:
    """Return the plain mean over the paradigms of each of the 4 fields."""
    return _mean_by({paradigm.name: paradigm.field for paradigm in paradigms}, scores)


def _mean_by(kinds: Mapping[str, str], scores: Mapping[str, float]) -> dict[str, float]:
    return {
        kind: mean_score(scores, [name for name in scores if kinds[name] == kind])
        for kind in sorted(set(kinds.values()))
    }


def _paradigm_files(directory: Path) -> list[Path]:
    paths = sorted(path for path in directory.iterdir() if path.name.endswith((".jsonl", ".jsonl.gz")))
    if not paths:
        raise SchemaError(f"{directory}: expected the .jsonl or .jsonl.gz files of BLiMP, found none")
    return paths


def _read_line(line: bytes, place: Place) -> dict[str, str]:
    try:
        body = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"{place}: expected a JSON object, found {error}") from error
    mismatch = find_mismatch(body, _LINE)
    if mismatch is None and not str(body["pairID"]).isdecimal():
        mismatch = f"pairID: expected a number, found {body['pairID']!r}"
    if mismatch is not None:
        raise SchemaError(f"{place}: {mismatch}")
    found: dict[str, str] = body
    return found
