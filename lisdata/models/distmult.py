"""DistMult (Yang et al. 2015), the bilinear baseline of link prediction: <e_head, r, e_tail> for every tail at once.

It goes on with no sequence, so it is none of `MODELS`.
"""

from dataclasses import dataclass

from torch import Tensor, nn


@dataclass(frozen=True, slots=True, kw_only=True)
class DistMultConfig:
    """Numbers of entities and relations, and the width of their vectors."""

    num_entities: int
    num_relations: int
    width: int = 128
    dropout: float = 0.0


class DistMult(nn.Module):
    """Scores of all entities as the other end of a triple.

    The score is symmetric in head and tail, so that either end is predicted in the same way. It reads nothing else of
    a fact. Scores are logits of one softmax over entities.
    """

    def __init__(self, config: DistMultConfig) -> None:
        super().__init__()
        self.config = config
        self.entities = nn.Embedding(config.num_entities, config.width)
        self.relations = nn.Embedding(config.num_relations, config.width)
        self.dropout = nn.Dropout(config.dropout)
        for table in (self.entities, self.relations):
            nn.init.xavier_normal_(table.weight)

    def forward(self, entity: Tensor, relation: Tensor) -> Tensor:
        """Return scores (B, num_entities) of the other end, given one end and the relation, each (B,), int64."""
        scores: Tensor = self.dropout(self.entities(entity) * self.relations(relation)) @ self.entities.weight.mT
        return scores
