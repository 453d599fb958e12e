"""Link prediction with the general LISformer: which content takes a role in a fact whose other participants are given.

The asked participant comes last, its content masked; one softmax over all contents answers. Splits, questions, loss and
filtered protocol are the same for all:

* lisformer: endpoints under their roles' rotations. With one fact alone there is no complete instance, hence no
  content-derived address; a role acts on scores only (LIS Definition 4.6).
* lisformer-values: the same, values turned too (LIS Remark 4.8, RotatE's composition).
* serialized: continuous RoPE over role markers and contents, of about the same size.
* distmult: subject and value (head and tail) from each other and the relation; as many numbers a content.
* role-frequency: no model; how often a content takes the role in the training facts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear

from lisdata.conversion import convert
from lisdata.encoding import encode
from lisdata.errors import LisDataError
from lisdata.evaluation.link_prediction import KnownAnswers, RankSums, filtered_ranks, question_of
from lisdata.evaluation.mode import evaluating
from lisdata.loader import Loader
from lisdata.models import build_model
from lisdata.models.addresses import AddressedModel
from lisdata.models.distmult import DistMult, DistMultConfig
from lisdata.reproduce.fact_questions import (
    COLUMNS,
    Facts,
    FactVocabulary,
    QuestionBatches,
    ask,
    endpoints,
    iter_facts,
    serialized,
    triples,
)
from lisdata.reproduce.link_report import write_table
from lisdata.reproduce.preparation import OnStep
from lisdata.reproduce.runner import Experiment, JsonDict, RunRequest, training_figures
from lisdata.shards import IncidenceDataset
from lisdata.shards.manifest import file_entry
from lisdata.token_shards import TokenDataset
from lisdata.torch_threads import one_thread
from lisdata.training import Batch, LoaderBatches, TrainConfig, train
from lisdata.training.loss import model_columns
from lisdata.vocabulary import RoleVocabulary, iter_role_labels

SPLITS = {"train": "train.txt", "dev": "valid.txt", "test": "test.txt"}
FREQUENCY = "role-frequency"
_QUESTIONS_AT_ONCE = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkScale:
    """Size of the models and of their training; a batch is `batch_size` facts, each asked for every participant."""

    num_steps: int
    width: int
    num_attention_heads: int
    num_layers: int = 2
    dropout: float = 0.2
    batch_size: int = 128
    learning_rate: float = 4e-3
    num_warmup_steps: int = 50
    weight_decay: float = 0.01
    label_smoothing: float = 0.1
    role_std: float = 1.5
    checkpoint_every: int = 500

    def __post_init__(self) -> None:
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"{self.label_smoothing=} is outside [0, 1)")


SCALES: dict[str, LinkScale] = {
    "reduced": LinkScale(num_steps=2_000, width=64, num_attention_heads=16),
    "full": LinkScale(num_steps=40_000, width=200, num_attention_heads=25),
}
"""Settings are those of the best on the dev facts of UMLS among few that were tried, none of them on test facts.

Heads are many because in the LISformer each tells a query no more of a role than one number, the weight of a key.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variant:
    """The form of its questions, and the model of a vocabulary."""

    form: Callable[[Batch, FactVocabulary], Batch]
    build: Callable[[FactVocabulary, LinkScale, int], nn.Module]


def _transformer(name: str, scale: LinkScale, seed: int, **settings: float) -> nn.Module:
    size = {key: getattr(scale, key) for key in ("width", "num_layers", "num_attention_heads", "dropout")}
    return build_model(name, seed=seed, **size, **settings)


def _lisformer(vocabulary: FactVocabulary, scale: LinkScale, seed: int, *, turns_values: bool = False) -> nn.Module:
    return _transformer(
        "lisformer",
        scale,
        seed,
        vocabulary_size=vocabulary.num_contents + 1,
        num_roles=len(vocabulary.relation),
        instance_addresses=False,
        role_std=scale.role_std,
        turns_values=turns_values,
    )


def _serialized(vocabulary: FactVocabulary, scale: LinkScale, seed: int) -> nn.Module:
    return _transformer("rope", scale, seed, vocabulary_size=vocabulary.num_contents + len(vocabulary.relation))


def _distmult(vocabulary: FactVocabulary, scale: LinkScale, seed: int) -> nn.Module:
    """Return DistMult of twice the width: the Transformers have a vector of each content at both ends."""
    torch.manual_seed(seed)
    return DistMult(
        DistMultConfig(
            num_entities=vocabulary.num_contents,
            num_relations=vocabulary.num_relations,
            width=2 * scale.width,
            dropout=scale.dropout,
        )
    )


VARIANTS: dict[str, _Variant] = {
    "lisformer": _Variant(form=endpoints, build=_lisformer),
    "lisformer-values": _Variant(
        form=endpoints, build=lambda vocabulary, scale, seed: _lisformer(vocabulary, scale, seed, turns_values=True)
    ),
    "serialized": _Variant(form=serialized, build=_serialized),
    "distmult": _Variant(form=triples, build=_distmult),
}


# -- data ------------------------------------------------------------------------------------------------------------


def prepare(data: Path | None, directory: Path, scale: LinkScale, on_step: OnStep) -> JsonDict:
    """Bring the facts of `data` the normal road to tokens, unless that is done, and say which they are."""
    assert data is not None  # the experiment's entry says that it needs one
    facts: JsonDict = {}
    for split, name in SPLITS.items():
        if not (data / name).is_file():
            raise LisDataError(f"{data}: expected facts in {', '.join(SPLITS.values())}, found no {name}")
        facts[split] = file_entry(data / name)["sha256"]
        convert("nary", [str(data / name)], directory / "incidence" / split, on_progress=on_step(f"convert {split}"))
    found = [IncidenceDataset(directory / "incidence" / split) for split in SPLITS]
    labels = [label for dataset in found for part in dataset.parts for label in iter_role_labels(part)]
    RoleVocabulary.of_labels(labels).write(directory / "roles.json")
    for split in SPLITS:
        encode(
            directory / "incidence" / split,
            directory / "tokens" / split,
            view="endpoints",
            columns=("input_ids", *COLUMNS),
            labels=str(directory / "roles.json"),
            record_ids=False,
            on_progress=on_step(f"encode {split}"),
        )
    vocabulary, facts_of = _read(directory)
    facts |= {"num_contents": vocabulary.num_contents}
    return facts | {f"num_{split}_facts": sum(len(some.size) for some in facts_of[split]) for split in SPLITS}


def _read(directory: Path) -> tuple[FactVocabulary, dict[str, list[Facts]]]:
    datasets = {split: TokenDataset(directory / "tokens" / split) for split in SPLITS}
    vocabulary = FactVocabulary.of(list(datasets.values()))
    return vocabulary, {split: list(iter_facts(dataset, vocabulary)) for split, dataset in datasets.items()}


# -- runs ------------------------------------------------------------------------------------------------------------


def run(request: RunRequest) -> JsonDict:
    """Train one variant, or go on training it, and rank the answers of all questions of dev and test."""
    vocabulary, facts = _read(request.directory)
    known = KnownAnswers(fact for some in facts.values() for part in some for fact in _participants(part, vocabulary))
    if request.variant == FREQUENCY:
        began = time.perf_counter()
        scores_of = _role_frequencies(facts["train"], vocabulary)
        figures = {split: _rank(scores_of, endpoints, vocabulary, facts[split], known) for split in ("dev", "test")}
        seconds = {"training": 0.0, "evaluation": time.perf_counter() - began}
        return {"num_parameters": 0, "steps": 0, "final_loss": None, "seconds": seconds, "facts": {}, "ranks": figures}
    variant = VARIANTS[request.variant]
    model = variant.build(vocabulary, request.scale, request.seed)
    with one_thread():
        report = _train(request, model, variant, vocabulary)
        began = time.perf_counter()
        with evaluating(model):
            figures = {
                split: _rank(lambda asked: _scores(model, asked, vocabulary), variant.form, vocabulary, some, known)
                for split, some in facts.items()
                if split != "train"
            }
    return training_figures(report, evaluation_seconds=time.perf_counter() - began) | {"ranks": figures}


def _train(request: RunRequest, model: nn.Module, variant: _Variant, vocabulary: FactVocabulary) -> Path:
    scale: LinkScale = request.scale
    names = ("num_steps", "batch_size", "learning_rate", "num_warmup_steps", "weight_decay", "checkpoint_every")
    config = TrainConfig(seed=request.seed, num_threads=1, **{name: getattr(scale, name) for name in names})
    dataset = TokenDataset(request.directory / "tokens" / "train")
    loader = Loader(dataset, scale.batch_size, seed=request.seed, tail="ragged", columns=COLUMNS)
    facts = {"dataset": dataset.fingerprint, "batch_size": scale.batch_size, "seed": request.seed}
    on_step = request.on_step

    def objective(model: nn.Module, asked: Batch) -> Tensor:
        scores = _scores(model, asked, vocabulary)
        return cross_entropy(scores, asked["answer"], label_smoothing=scale.label_smoothing)

    result = train(
        model,
        QuestionBatches(LoaderBatches(loader, description=facts), vocabulary, variant.form),
        config,
        directory=request.directory / "models" / request.name,
        objective=objective,
        facts={"labels": dataset.manifest["roles"], "label_smoothing": scale.label_smoothing},
        on_progress=None if on_step is None else lambda p: on_step(p.step, p.num_steps, p.loss),
    )
    if not result.is_finished:
        raise KeyboardInterrupt
    return result.report


def _scores(model: nn.Module, asked: Batch, vocabulary: FactVocabulary) -> Tensor:
    """Return the scores of all contents, (Q, contents), for the last participant of each question."""
    if isinstance(model, DistMult):
        scores: Tensor = model(asked["entity"], asked["relation"])
        return scores
    addressable: AddressedModel = model  # type: ignore[assignment]
    addressed = addressable.address(**model_columns(model, asked))
    transformer = addressable.transformer
    hidden = transformer.hidden_states(addressed.embedded, addressed.attention())
    last = hidden[torch.arange(len(hidden)), asked["length"] - 1]
    contents = slice(0, vocabulary.num_contents)
    return linear(last, transformer.output.weight[contents], transformer.output.bias[contents])


def _role_frequencies(facts: Sequence[Facts], vocabulary: FactVocabulary) -> Callable[[Batch], Tensor]:
    counts = torch.zeros(len(vocabulary.relation), vocabulary.num_contents)
    for part in facts:
        content = torch.searchsorted(vocabulary.content_ids, part.content)[part.is_there]
        role = part.role[part.is_there]
        counts.index_put_((role, content), torch.ones(len(role)), accumulate=True)

    def scores_of(asked: Batch) -> Tensor:
        return counts[asked["role"].gather(1, asked["length"][:, None] - 1)[:, 0]]

    return scores_of


def _rank(
    scores_of: Callable[[Batch], Tensor],
    form: Callable[[Batch, FactVocabulary], Batch],
    vocabulary: FactVocabulary,
    facts: Sequence[Facts],
    known: KnownAnswers,
) -> JsonDict:
    """Return the figures of the questions that ask for a main participant, and of all others."""
    sums = {"main": RankSums(), "others": RankSums()}
    for part in facts:
        participants = list(_participants(part, vocabulary))
        asked = form(ask(part, vocabulary), vocabulary)
        for begin in range(0, len(asked["answer"]), _QUESTIONS_AT_ONCE):
            some = {name: column[begin : begin + _QUESTIONS_AT_ONCE] for name, column in asked.items()}
            pairs = list(zip(some["fact"].tolist(), some["asked"].tolist(), strict=True))
            answers = [known[question_of(participants[fact], place)] for fact, place in pairs]
            with torch.no_grad():
                ranks = filtered_ranks(scores_of(some).float(), some["answer"].tolist(), answers)
            is_main = torch.tensor([bool(vocabulary.is_main[participants[fact][place][0]]) for fact, place in pairs])
            sums["main"].add(ranks[is_main])
            sums["others"].add(ranks[~is_main])
    return {name: found.figures() for name, found in sums.items()}


def _participants(facts: Facts, vocabulary: FactVocabulary) -> Iterator[list[tuple[int, int]]]:
    """Yield role and content number of the participants of each fact."""
    content = torch.searchsorted(vocabulary.content_ids, facts.content).tolist()
    for roles, contents, size in zip(facts.role.tolist(), content, facts.size.tolist(), strict=True):
        yield list(zip(roles[:size], contents[:size], strict=True))


EXPERIMENT = Experiment(
    name="lis-link-prediction",
    variants=(*VARIANTS, FREQUENCY),
    scales=SCALES,
    prepare=prepare,
    run=run,
    report=write_table,
)
