"""SiPE's encoders once more, in loops over queries, keys and attention heads, straight from the equations."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from lisdata.models.deberta import Deberta
from lisdata.models.encoder import Encoder
from lisdata.models.modernbert import ModernBert
from lisdata.models.roberta import Roberta

Batch = dict[str, Tensor]


@dataclass(frozen=True)
class Row:
    """A row of a batch: its tokens, the vectors of each of its tags by table, and its documents."""

    ids: Tensor
    vectors: dict[str, Tensor]
    document: Tensor

    @property
    def tag_vector(self) -> Tensor:
        """What the vectors of a position add up to."""
        return torch.stack(list(self.vectors.values())).sum(0)

    @property
    def position(self) -> list[int]:
        """The place of each token in its document."""
        return [sum(int(d == self.document[i]) for d in self.document[:i]) for i in range(len(self.ids))]


@dataclass(frozen=True)
class Tags:
    """[W e_j] of the positions j under the projections of a layer; None where there are none."""

    agreement: Tensor | None = None
    key: Tensor | None = None
    value: Tensor | None = None


Score = Callable[[int, int, int], Tensor]
"""The score, ready for the softmax, of an attention head, a query and a key."""


def naive_logits(model: Encoder, batch: Batch) -> Tensor:
    """Return logits (B, T, V), row by row."""
    with torch.no_grad():
        rows = [{name: column[row] for name, column in batch.items()} for row in range(len(batch["input_ids"]))]
        return torch.stack([_logits_of_row(model, to_row(model, row)) for row in rows])


def to_row(model: Encoder, row: Batch) -> Row:
    vectors = {}
    if model.tags.tables is not None:
        for name, table in model.tags.tables.named_parameters():
            vectors[name] = torch.zeros(len(row["input_ids"]), model.config.width, dtype=torch.float64)
            for place, tag in enumerate(row[name].tolist()):
                if tag != -100:
                    vectors[name][place] = table[tag]
    return Row(row["input_ids"], vectors, row["document"])


def _logits_of_row(model: Encoder, row: Row) -> Tensor:
    x = model.embedding.weight[row.ids]
    if isinstance(model, Roberta):
        x = x + model.position_embedding.weight[row.position] + model.segment
    x, skip = fuse(model, x, row)
    x = normed(model.embedding_norm, x)
    for layer, block in enumerate(model.blocks):
        tags = tags_of_layer(model, layer, row)
        skipped = x + skip if layer == 0 else x
        if isinstance(model, ModernBert):
            x = modern_layer(model, layer, x, skipped, tags, row)
            continue
        attended = roberta_attention if isinstance(model, Roberta) else deberta_attention
        x = normed(block.attention_norm, skipped + attended(model, block.attention, x, tags, row))
        x = normed(block.mlp_norm, x + linear(block.mlp_output, gelu(linear(block.mlp_input, x))))
    x = normed(model.final_norm, x) if isinstance(model, ModernBert) else x
    x = normed(model.output.norm, gelu(linear(model.output.dense, x)))
    return x @ model.embedding.weight.T + model.output.bias


def fuse(model: Encoder, x: Tensor, row: Row) -> tuple[Tensor, Tensor | int]:
    fusion = model.tags.fusion
    if fusion is None:
        return x, 0
    if fusion.fusion == "concat":
        return torch.cat([x, *row.vectors.values()], dim=1) @ fusion.projection.weight.T, 0
    if fusion.fusion == "alpha":
        return fusion.alpha * x + (1 - fusion.alpha) * row.tag_vector, 0
    return (x, row.tag_vector) if fusion.fusion == "residual" else (x + row.tag_vector, 0)


def tags_of_layer(model: Encoder, layer: int, row: Row) -> Tags:
    config = model.config
    if config.injection in ("none", "input") or layer + 1 < config.first_layer:
        return Tags()
    projections = model.tags.projections[0 if config.sharing == "shared" else layer + 1 - config.first_layer]
    images = {}
    for name in ("agreement", "key", "value"):
        projection = getattr(projections, name)
        if projection is not None:
            images[name] = torch.zeros(len(row.ids), len(projection.weight), dtype=torch.float64)
            for table, vectors in row.vectors.items():
                is_other = table == "nonterminal" and projection.nonterminal_weight is not None
                weight = projection.nonterminal_weight if is_other else projection.weight
                images[name] = images[name] + vectors @ weight.T
    return Tags(**images)


def head_of(model: Encoder, head: int, width: int | None = None) -> slice:
    width = model.config.d_head if width is None else width
    return slice(head * width, (head + 1) * width)


def roberta_attention(model: Roberta, attention: nn.Module, x: Tensor, tags: Tags, row: Row) -> Tensor:
    query, key, value = linear(attention.query_key_value, x).split(model.config.width, dim=1)

    def score(head: int, i: int, j: int) -> Tensor:
        of = head_of(model, head)
        total = torch.dot(query[i, of], key[j, of])
        if tags.key is not None:
            total = total + torch.dot(query[i, of], tags.key[j, of])
        return total / math.sqrt(model.config.d_head)

    return attend(model, attention, score, value, tags, row, reach=None)


def deberta_attention(model: Deberta, attention: nn.Module, x: Tensor, tags: Tags, row: Row) -> Tensor:
    config = model.config
    query, key, value = linear(attention.query_key_value, x).split(config.width, dim=1)
    offsets = normed(model.offset_norm, model.offset_embedding.weight)
    offset_query, offset_key, _ = linear(attention.query_key_value, offsets).split(config.width, dim=1)

    def score(head: int, i: int, j: int) -> Tensor:
        of = head_of(model, head)
        delta = bucket(i - j, config.num_buckets, config.max_offset)
        other = delta if config.p2c_offset == "i-j" else bucket(j - i, config.num_buckets, config.max_offset)
        content = torch.dot(query[i, of], key[j, of])
        position = torch.dot(query[i, of], offset_key[delta, of]) + torch.dot(key[j, of], offset_query[other, of])
        c = 0.0
        if tags.agreement is not None:
            of_agreement = of if config.target == "d_model" else slice(0, config.d_head)
            divisor = config.d_head if config.agreement_scale == "d_head" else config.width
            c = torch.dot(query[i, of], tags.agreement[j, of_agreement]) / math.sqrt(divisor)
        added = torch.dot(query[i, of], tags.key[j, of]) if tags.key is not None else 0.0
        return (content + (1 + c) * position + added) / math.sqrt(3 * config.d_head)

    return attend(model, attention, score, value, tags, row, reach=None)


def bucket(offset: int, num_buckets: int, max_offset: int) -> int:
    middle, size = num_buckets // 2, abs(offset)
    if size > middle:
        far = math.ceil(math.log(size / middle) / math.log((max_offset - 1) / middle) * (middle - 1) - 1e-9)
        offset = (middle + far) * (1 if offset > 0 else -1)
    return min(max(offset + num_buckets, 0), 2 * num_buckets - 1)


def modern_layer(model: ModernBert, layer: int, x: Tensor, skipped: Tensor, tags: Tags, row: Row) -> Tensor:
    config, block = model.config, model.blocks[layer]
    is_global = layer % config.global_every == 0
    base = config.global_base if is_global else config.local_base
    half = config.d_head // 2
    read = x if layer == 0 else normed(block.attention_norm, x)
    query, key, value = (read @ block.attention.query_key_value.weight.T).split(config.width, dim=1)

    def angle(head: int, place: int, t: int) -> float:
        found = row.position[place] * base ** (-2 * t / config.d_head)
        if tags.agreement is not None:
            found += float(tags.agreement[place, (0 if config.target == "d_head" else head * half) + t])
        return found

    def score(head: int, i: int, j: int) -> Tensor:
        of = head_of(model, head)
        total = 0.0
        for t in range(half):
            (q0, q1), (k0, k1) = query[i, of][2 * t : 2 * t + 2], key[j, of][2 * t : 2 * t + 2]
            turned = angle(head, i, t) - angle(head, j, t)  # q R(i) against k R(j): their difference alone counts
            total += (q0 * k0 + q1 * k1) * math.cos(turned) + (q0 * k1 - q1 * k0) * math.sin(turned)
        if tags.key is not None:
            total = total + torch.dot(query[i, of], tags.key[j, of])
        return total / math.sqrt(config.d_head)

    x = skipped + attend(model, block.attention, score, value, tags, row, None if is_global else config.local_window)
    first, gate = (normed(block.mlp_norm, x) @ block.mlp_input.weight.T).chunk(2, dim=1)
    return x + (gelu(first) * gate) @ block.mlp_output.weight.T


def attend(
    model: Encoder, attention: nn.Module, score: Score, value: Tensor, tags: Tags, row: Row, reach: int | None
) -> Tensor:
    attended = torch.zeros_like(value)
    for head in range(model.config.num_attention_heads):
        of = head_of(model, head)
        for i in range(len(value)):
            near = [j for j in range(len(value)) if row.document[i] == row.document[j]]
            near = [j for j in near if reach is None or abs(i - j) <= reach // 2]
            weights = torch.stack([score(head, i, j) for j in near]).exp()
            values = [value[j, of] + (tags.value[j, of] if tags.value is not None else 0.0) for j in near]
            attended[i, of] = (weights / weights.sum()) @ torch.stack(values)
    return linear(attention.output, attended)


def linear(layer: nn.Module, x: Tensor) -> Tensor:
    return x @ layer.weight.T + (0 if layer.bias is None else layer.bias)


def normed(norm: nn.Module, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    scaled = centred / (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt() * norm.weight
    return scaled + (0 if norm.bias is None else norm.bias)
