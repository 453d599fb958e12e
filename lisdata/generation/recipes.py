"""A text that a trained model of a recipe goes on with: its newest checkpoint, the tokenizer of its data."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from lisdata.checkpoints import latest, load_model
from lisdata.encoding import Tokenizer, load_tokenizer, template_ids
from lisdata.errors import RecipeError
from lisdata.generation.endpoints import lay_out
from lisdata.generation.generating import Drawn, draw_tokens
from lisdata.generation.kinds import SessionRequest, load_generator
from lisdata.generation.sampling import Sampler, Sampling
from lisdata.generation.tag_sources import TagSource
from lisdata.models import find_model
from lisdata.pipeline import DataFolders, open_tokens
from lisdata.recipe import ModelStep, Recipe
from lisdata.token_shards import TokenDataset


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """What to go on with, how far and how; `model` is a label of the recipe, None where it has one model alone.

    For a model that reads endpoints, `facts` are pairs of role and text before the prompt, and `role` is the prompt's.
    """

    prompt: str
    max_tokens: int = 100
    model: str | None = None
    sampling: Sampling = field(default_factory=Sampling)
    tags: TagSource | None = None
    facts: tuple[tuple[str, str], ...] = ()
    role: str | None = None


def generate_by_recipe(recipe: Recipe, root: Path, request: GenerationRequest) -> tuple[str, Drawn]:
    """Return the text that a model, which the recipe trained below `root`, puts behind a prompt, and its tokens.

    Where the recipe's rows have the tokenizer's special tokens, the prompt comes behind those that begin a text, and
    those that end one end it. Raises RecipeError for a model that is not there or not trained, ValueError for one that
    does not go on with a text, or for a prompt without tokens.
    """
    step = _choose(recipe, request.model)
    make_session = load_generator(step.model)
    dataset = open_tokens(recipe, root)
    checkpoint = latest(DataFolders(root=root).model(step.label) / "checkpoints")
    if checkpoint is None:
        raise RecipeError(f"{root}: {step.label} is not trained yet; run: lisdata train {recipe.path}")
    tokenizer = load_tokenizer(dataset.path / dataset.manifest["tokenizer"]["file"])
    frame = template_ids(tokenizer) if dataset.manifest["config"]["special_tokens"] else ()
    start, end = (ids.tolist() for ids in frame) if frame else ([], [])
    prompt, structure = _lay_out(request, start, tokenizer, dataset, step)
    if not prompt:
        raise ValueError("expected a prompt of at least one token, got none")
    model = load_model(checkpoint, labels=dataset.manifest["roles"])
    capacity = len(prompt) + request.max_tokens
    made = SessionRequest(tokenizer=tokenizer, capacity=capacity, tags=request.tags, structure=structure)
    sampler = Sampler(request.sampling)
    drawn = draw_tokens(make_session(model, made), prompt, sampler, max_tokens=request.max_tokens, end_ids=set(end))
    return tokenizer.decode(drawn.token_ids), drawn


def _lay_out(
    request: GenerationRequest, start: list[int], tokenizer: Tokenizer, dataset: TokenDataset, step: ModelStep
) -> tuple[list[int], dict[str, list[int]]]:
    """Return the prompt's tokens, and their structure for a model that reads one."""
    if "role" not in find_model(step.model).columns:
        if request.facts or request.role is not None:
            raise ValueError(f"model {step.label} reads no roles: leave out facts and role")
        return [*start, *tokenizer.encode_batch([request.prompt]).ids.tolist()], {}
    found = lay_out(request.prompt, request.facts, request.role, roles=dataset.roles, tokenizer=tokenizer)
    return found.token_ids, found.structure


def _choose(recipe: Recipe, label: str | None) -> ModelStep:
    known = {step.label: step for step in recipe.models}
    if label is None and len(known) == 1:
        return next(iter(known.values()))
    if label not in known:
        names = ", ".join(known) or "none"
        raise RecipeError(f"{recipe.path}: expected one of its models, {names}, got {label or 'no choice'}")
    return known[label]
