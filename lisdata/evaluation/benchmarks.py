"""A benchmark from files to report: checkpoints, a tokenizer and maybe a parser in, table, JSON, plot and items out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from lisdata.checkpoints import find_checkpoint, load_model
from lisdata.encoding import Tokenizer, load_tokenizer
from lisdata.encoding.deprels import DeprelVocabulary
from lisdata.errors import LisDataError, SchemaError
from lisdata.evaluation.benchmark_report import (
    check_folder,
    report_blimp,
    report_syntaxgym,
    write_benchmark_report,
)
from lisdata.evaluation.blimp import Paradigm, evaluate_blimp, hash_paradigms, read_blimp
from lisdata.evaluation.bootstrap import BootstrapDifference, SeedPairing
from lisdata.evaluation.causal_scorer import TAGLESS, CausalScorer, CausalScoring
from lisdata.evaluation.item_results import (
    VOTE,
    ItemResults,
    Ties,
    compare_results,
    read_item_results,
    vote_over_seeds,
)
from lisdata.evaluation.masked_scorer import MaskedScorer, MaskedScoring
from lisdata.evaluation.own_tokenizer import check_own_tokenizer, hash_tokenizer
from lisdata.evaluation.prefix_rows import PrefixForm
from lisdata.evaluation.prefix_scorer import PrefixScorer
from lisdata.evaluation.syntaxgym import Unit, counted_suites, evaluate_suites
from lisdata.evaluation.syntaxgym_suites import Suite, hash_suites, read_suites
from lisdata.evaluation.tag_cache import TagCache
from lisdata.models import describe_model, find_model
from lisdata.pretrained import from_hf, is_hf_folder

OnProgress = Callable[[float, float, str], None]
"""Called with what is done, what is to do, and a remark."""

Scorer = CausalScorer | PrefixScorer | MaskedScorer
Group = TypeVar("Group", Suite, Paradigm)
Evaluate = Callable[[Scorer, str, OnProgress | None], ItemResults]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkRequest:
    """What to score: `checkpoints` are the seeds of one model, each a checkpoint or a folder whose newest one is meant.

    It may also be a folder of Hugging Face's with an encoder (see `lisdata.pretrained`).

    `parser` names what tags the sentences; without one the models see no tags. `tag_cache` is the file of the tags, by
    default tags.jsonl in `directory`, where the report goes.

    A model of masked tokens is scored by pseudo-log-likelihood, its `end` by default that of the tokenizer's template.
    A causal model is given the tags of what it has read, rather than those of whole sentences, with a `prefix_form`.
    `within_word_l2r` is that of `MaskedScoring`; with `hide_from_parser` the parser cannot read a masked token either.
    `deprels` is the file that numbers the dependency relations of a model of masked tokens that reads them.
    `only` names the suites or paradigms to score, by default all.
    """

    checkpoints: Sequence[Path]
    tokenizer: Path
    data: Path
    directory: Path
    parser: str | None = None
    tag_cache: Path | None = None
    scoring: CausalScoring
    prefix_form: PrefixForm | None = None
    within_word_l2r: bool = False
    hide_from_parser: bool = False
    deprels: Path | None = None
    only: Sequence[str] = ()

    def load_tags(self) -> TagCache | None:
        """Return what tags sentences, if there is a parser and the models see tags."""
        if self.parser is None or self.scoring.regime in TAGLESS:
            return None
        path = self.tag_cache or self.directory / "tags.jsonl"
        return TagCache(self.parser, path, with_deprels=self.deprels is not None)


def run_syntaxgym(
    request: BenchmarkRequest, *, votes: bool = False, unit: Unit = "bits", on_progress: OnProgress | None = None
) -> str:
    """Score the models on the suites in the folder `data`; write the report and return its table.

    `votes` adds the seeds' majority. Raises LisDataError for a tokenizer that a model was not trained with, PlanError
    where the folder has the report of other models, data or tags.
    """
    suites, tag = _choose(read_suites(request.data), request), request.load_tags()

    def evaluate(scorer: Scorer, model: str, show: OnProgress | None) -> ItemResults:
        if isinstance(scorer, MaskedScorer):
            raise LisDataError(f"{model}: SyntaxGym needs surprisals given what stands before: expected a causal model")
        return evaluate_suites(suites, scorer, model=model, tag=tag, unit=unit, on_progress=show)

    data = {"suites_sha256": hash_suites(request.data)}
    results, facts = _score_models(request, tag, evaluate, on_progress, name="syntaxgym", data=data)
    facts |= {"unit": unit}
    if votes:
        results.append(vote_over_seeds(results))
    remarks = _describe_reading(request, tag, facts)
    return write_benchmark_report(
        report_syntaxgym(results, facts=facts, remarks=remarks, has_vote=votes), request.directory
    )


def run_blimp(
    request: BenchmarkRequest,
    *,
    ties: Ties = "wrong",
    max_pairs: int | None = None,
    on_progress: OnProgress | None = None,
) -> str:
    """Score the models on the paradigms in the folder `data`, on the first `max_pairs` pairs of each or on all.

    The report is written, and its table returned. Raises as `run_syntaxgym` does.
    """
    paradigms, tag = _choose(read_blimp(request.data, max_pairs=max_pairs), request), request.load_tags()

    def evaluate(scorer: Scorer, model: str, show: OnProgress | None) -> ItemResults:
        return evaluate_blimp(paradigms, scorer, model=model, tag=tag, on_progress=show)

    data = {"pairs_sha256": hash_paradigms(paradigms)}
    results, facts = _score_models(request, tag, evaluate, on_progress, name="blimp", data=data)
    remarks = _describe_reading(request, tag, facts)
    return write_benchmark_report(
        report_blimp(results, paradigms, facts=facts, remarks=remarks, ties=ties), request.directory
    )


def compare_files(
    first: Path,
    second: Path,
    *,
    each: bool = False,
    ties: Ties = "wrong",
    seeds: SeedPairing = "paired",
    num_resamples: int = 2000,
) -> dict[str, BootstrapDifference]:
    """Return the difference of two models in the mean over groups, and with `each` in each group, by name.

    Each file holds the items of one model's seeds, as a report's NAME-items.csv or a published one; votes do not count.
    The folder of a report stands for the one that is in it.
    Suites of SyntaxGym that do not count in its score are left out.
    """
    found = [_read_seeds(path) for path in (first, second)]
    groups = counted_suites(found[0][0].verdicts)
    chosen = {f"mean over groups ({len(groups)})": groups} | ({group: [group] for group in groups} if each else {})
    return {
        name: compare_results(*found, groups=some, ties=ties, seeds=seeds, num_resamples=num_resamples)
        for name, some in chosen.items()
    }


def _read_seeds(path: Path) -> list[ItemResults]:
    """Return the results of the seeds in a file or the folder of a report; their names begin with that of the file."""
    if path.is_dir():
        files = sorted(path.glob("*-items.csv"))
        if len(files) != 1:
            names = ", ".join(file.name for file in files) or "none"
            raise SchemaError(f"{path}: expected one file of items (such as blimp-items.csv), found {names}")
        path = files[0]
    results = [result for result in read_item_results(path) if result.model != VOTE]
    seeds = [replace(result, model=f"{path} ({result.model})") for result in results]
    if not seeds:
        raise SchemaError(f"{path}: expected the items of a model, found votes alone")
    return seeds


def _choose(groups: list[Group], request: BenchmarkRequest) -> list[Group]:
    """Return the suites or paradigms that the request asks for; SchemaError for one that is not there."""
    names = [group.name for group in groups]
    for name in request.only:
        if name not in names:
            raise SchemaError(f"{request.data}: expected one of {', '.join(names)}, found no {name!r}")
    return [group for group in groups if not request.only or group.name in request.only]


def _score_models(
    request: BenchmarkRequest,
    tag: TagCache | None,
    evaluate: Evaluate,
    on_progress: OnProgress | None,
    *,
    name: str,
    data: dict[str, str],
) -> tuple[list[ItemResults], dict[str, Any]]:
    """Return what each model says, and the facts of the report called `name`, which may not be there for another."""
    if not request.checkpoints or len(set(request.checkpoints)) < len(request.checkpoints):
        raise ValueError(f"expected checkpoints, each once, got {', '.join(map(str, request.checkpoints)) or 'none'}")
    tokenizer = load_tokenizer(request.tokenizer)
    is_own = [check_own_tokenizer(path, tokenizer, request.tokenizer) for path in request.checkpoints]
    asked = _describe_request(request, tag, tokenizer) | data
    check_folder(request.directory, name, asked)
    results: list[ItemResults] = []
    models = []
    for number, path in enumerate(request.checkpoints):
        model, checkpoint = load_benchmarked(path)
        scorer = make_scorer(request, model, tokenizer, tag)
        show = None if on_progress is None else _one_of(on_progress, number, len(request.checkpoints))
        results.append(evaluate(scorer, str(path), show))
        num_parameters = sum(parameter.numel() for parameter in model.parameters())
        facts = {"checkpoint": checkpoint, "num_parameters": num_parameters, "scoring": scorer.describe()}
        models.append(describe_model(model) | facts)
    return results, {"models": models, **asked, "tokenizer_checked": all(is_own)}


def _describe_request(request: BenchmarkRequest, tag: TagCache | None, tokenizer: Tokenizer) -> dict[str, Any]:
    """Return, ready for JSON, what makes a score another one, beside the data."""
    return {
        "checkpoints": [str(path if is_hf_folder(path) else find_checkpoint(path)) for path in request.checkpoints],
        "tokenizer_sha256": hash_tokenizer(tokenizer),
        "parser": tag.pinned if tag else None,
        "tags": (request.prefix_form or request.scoring.regime) if tag else "none",
        "start": request.scoring.start,
        "end": request.scoring.end,
        "within_word_l2r": request.within_word_l2r,
        "hide_from_parser": request.hide_from_parser,
        **({"only": sorted(set(request.only))} if request.only else {}),
    }


def load_benchmarked(path: Path) -> tuple[nn.Module, str]:
    """Return the model at one of `checkpoints` of a request, and the name of its checkpoint."""
    if is_hf_folder(path):
        return from_hf(path), path.name
    checkpoint = find_checkpoint(path)
    return load_model(checkpoint), checkpoint.name


def is_masked(model: nn.Module) -> bool:
    """Tell whether a model of lisdata is one of masked tokens."""
    return find_model(describe_model(model)["name"]).is_masked


def make_scorer(request: BenchmarkRequest, model: nn.Module, tokenizer: Tokenizer, tag: TagCache | None) -> Scorer:
    """Return what scores sentences by a model as the request says."""
    has_mask = is_masked(model)
    if request.prefix_form is not None:
        if has_mask or tag is None:
            raise ValueError(f"tags {request.prefix_form}: expected a causal model and a parser")
        return PrefixScorer(model, tokenizer, tag, request.prefix_form, request.scoring)
    if not has_mask:
        return CausalScorer(model, tokenizer, request.scoring)
    settings = asdict(request.scoring) | {"end": request.scoring.end or None}
    scoring = MaskedScoring(**settings, within_word_l2r=request.within_word_l2r)
    deprels = None if request.deprels is None else DeprelVocabulary.read(request.deprels)
    parse_masked = tag if request.hide_from_parser else None
    return MaskedScorer(model, tokenizer, scoring, parse_masked=parse_masked, deprels=deprels)


def _describe_reading(request: BenchmarkRequest, tag: TagCache | None, facts: dict[str, Any]) -> list[str]:
    """Return what has to be known of a score to compare it with another."""
    tags = "none"
    if tag is not None:
        parsed = "sentences without the masked token" if request.hide_from_parser else "whole sentences"
        tags = f"{request.scoring.regime}, by {tag.pinned}, of {parsed}: a tag may tell of words to come"
        if request.prefix_form is not None:
            tags = f"{request.prefix_form}, by {tag.pinned}, of what was read: no tag tells of words to come"
    known = "that of the model's training" if facts["tokenizer_checked"] else "not checked: the model records none"
    chosen = [f"only: {', '.join(sorted(set(request.only)))}"] if request.only else []
    return [
        *chosen,
        f"tags: {tags}",
        f"tokenizer: {request.tokenizer} ({known})",
        f"first token: {facts['models'][0]['scoring']['first_token']}",
    ]


def _one_of(on_progress: OnProgress, number: int, num_models: int) -> OnProgress:
    """Return progress of model `number` (from 0) as progress of all."""
    return lambda done, total, note: on_progress(done + number * total, num_models * total, note)
