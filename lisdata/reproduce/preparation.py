"""How far the making of an experiment's data is, told step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lisdata.evaluation.sentence_scores import TagTexts, TextTags
from lisdata.pipeline import OnStep
from lisdata.runs import OnProgress, Progress

__all__ = ["OnStep", "iter_batches", "telling", "untold"]

_TEXTS_AT_ONCE = 500


def untold(label: str) -> OnProgress:
    """Tell nothing: an `OnStep` for where nobody looks."""
    return lambda _: None


def iter_batches(texts: Sequence[str], on_progress: OnProgress) -> Iterator[Sequence[str]]:
    """Yield `texts` some at a time; each time it is told how many bytes of them are done."""
    batches = [texts[begin : begin + _TEXTS_AT_ONCE] for begin in range(0, len(texts), _TEXTS_AT_ONCE)]
    weights = [sum(len(text.encode()) for text in batch) for batch in batches]
    progress = Progress(num_units=len(batches), num_done=0, weight=sum(weights), weight_done=0)
    on_progress(progress)
    for batch, weight in zip(batches, weights, strict=True):
        yield batch
        progress = replace(progress, num_done=progress.num_done + 1, weight_done=progress.weight_done + weight)
        on_progress(progress)


def telling(tag: TagTexts, on_progress: OnProgress) -> TagTexts:
    """Return what tags texts by `tag`, some at a time, and tells how far it is."""

    def tag_batches(texts: Sequence[str]) -> list[TextTags]:
        return [tags for batch in iter_batches(texts, on_progress) for tags in tag(batch)]

    return tag_batches
