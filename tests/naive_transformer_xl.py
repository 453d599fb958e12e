"""SiPE's Transformer-XL once more, in loops over queries, keys and attention heads, straight from the equations."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from lisdata.models.sipe_config import INJECTIONS
from lisdata.models.tag_injection import LayerProjections
from lisdata.models.transformer_xl import Block, TransformerXl

Batch = dict[str, Tensor]


@dataclass(frozen=True)
class Projected:
    """[W e_j] of the keys j under the projections of a layer, (T, width) or (T, d_head); None where there are none."""

    agreement: Tensor | None = None
    key: Tensor | None = None
    value: Tensor | None = None


def naive_logits(model: TransformerXl, batch: Batch) -> Tensor:
    """Return logits (B, T, V), row by row."""
    rows = [{name: column[row] for name, column in batch.items()} for row in range(len(batch["input_ids"]))]
    with torch.no_grad():
        return torch.stack([logits_of_row(model, row) for row in rows])


def logits_of_row(model: TransformerXl, row: Batch) -> Tensor:
    config = model.config
    terminal, nonterminal = tag_vectors(model, row)
    hidden, skip = fuse(model, model.embedding.weight[row["input_ids"]], terminal, nonterminal)
    for layer, block in enumerate(model.blocks):
        projected = Projected()
        if config.injection not in ("none", "input") and layer + 1 >= config.first_layer:
            number = 0 if config.sharing == "shared" else layer + 1 - config.first_layer
            projected = project(model.tag_projections[number], terminal, nonterminal)
        number = layer if config.untie_biases else 0
        bias = model.content_bias[number, :, 0, 0], model.position_bias[number, :, 0, 0]
        read = normed(block.attention_norm, hidden) if config.norm == "pre" else hidden
        attended = attend(model, block, read, bias, projected, row["document"])
        hidden = hidden + attended + (skip if layer == 0 else 0)
        hidden = hidden if config.norm == "pre" else normed(block.attention_norm, hidden)
        read = normed(block.mlp_norm, hidden) if config.norm == "pre" else hidden
        expanded = torch.relu(read @ block.mlp_input.weight.T + block.mlp_input.bias)
        hidden = hidden + expanded @ block.mlp_output.weight.T + block.mlp_output.bias
        hidden = hidden if config.norm == "pre" else normed(block.mlp_norm, hidden)
    hidden = normed(model.final_norm, hidden) if config.norm == "pre" else hidden
    return hidden @ model.embedding.weight.T


def tag_vectors(model: TransformerXl, row: Batch) -> tuple[Tensor, Tensor]:
    """Return m_p E^T[terminal_p] and m_p E^N[nonterminal_p], each (T, width)."""
    vectors = torch.zeros(2, len(row["input_ids"]), model.config.width, dtype=torch.float64)
    if model.tag_tables is not None:
        for place, (t, n) in enumerate(zip(row["terminal"].tolist(), row["nonterminal"].tolist(), strict=True)):
            if t != -100:
                vectors[0, place] = model.tag_tables.terminal[t]
            if n != -100:
                vectors[1, place] = model.tag_tables.nonterminal[n]
    return vectors[0], vectors[1]


def fuse(model: TransformerXl, x: Tensor, t: Tensor, n: Tensor) -> tuple[Tensor, Tensor | int]:
    fusion = model.input_fusion
    if fusion is None:
        return x, 0
    if fusion.fusion == "concat":
        return torch.cat([x, t, n], dim=1) @ fusion.projection.weight.T, 0
    if fusion.fusion == "alpha":
        return fusion.alpha * x + (1 - fusion.alpha) * (t + n), 0
    return (x, t + n) if fusion.fusion == "residual" else (x + t + n, 0)


def project(projections: LayerProjections, terminal: Tensor, nonterminal: Tensor) -> Projected:
    images = {}
    for name in ("agreement", "key", "value"):
        projection = getattr(projections, name)
        if projection is not None:
            other = projection.weight if projection.nonterminal_weight is None else projection.nonterminal_weight
            images[name] = terminal @ projection.weight.T + nonterminal @ other.T
    return Projected(**images)


def attend(
    model: TransformerXl, block: Block, x: Tensor, bias: tuple[Tensor, Tensor], tags: Projected, document: Tensor
) -> Tensor:
    config, attention = model.config, block.attention
    d_head = config.width // config.num_attention_heads
    query, key, value = (x @ attention.query_key_value.weight.T).split(config.width, dim=1)
    attended = torch.zeros_like(x)
    for head in range(config.num_attention_heads):
        of = slice(head * d_head, (head + 1) * d_head)
        of_agreement = of if config.target == "d_model" else slice(0, d_head)
        for i in range(len(x)):
            scores, values = [], []
            for j in range(i + 1):
                if document[i] != document[j]:
                    continue
                q, u, v = query[i, of], bias[0][head], bias[1][head]
                offset = (attention.offset.weight @ sinusoid(i - j, config.width))[of]
                content, position = torch.dot(q + u, key[j, of]), torch.dot(q + v, offset)
                c = 0.0
                if tags.agreement is not None:
                    divisor = math.sqrt(d_head if config.agreement_scale == "d_head" else config.width)
                    c = torch.dot(q + v, tags.agreement[j, of_agreement]) / divisor
                added = torch.dot(q, tags.key[j, of]) if tags.key is not None else 0.0
                if "position" in INJECTIONS[config.injection]:
                    scores.append((content + (1 + c) * position + added) / math.sqrt(d_head))
                else:
                    scores.append((content + position + added) / math.sqrt(d_head) + c)
                values.append(value[j, of] + (tags.value[j, of] if tags.value is not None else 0.0))
            weights = torch.stack(scores).exp()
            attended[i, of] = (weights / weights.sum()) @ torch.stack(values)
    return attended @ attention.output.weight.T


def sinusoid(offset: int, width: int) -> Tensor:
    angles = [offset / 10_000 ** (2 * k / width) for k in range(width // 2)]
    return torch.tensor([math.sin(a) for a in angles] + [math.cos(a) for a in angles], dtype=torch.float64)


def normed(norm: torch.nn.Module, x: Tensor) -> Tensor:
    return layer_norm(x, x.shape[-1:], norm.weight, norm.bias, norm.eps)
