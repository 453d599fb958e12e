"""Token shards, what a model reads: written, opened and checked."""

from lisdata.token_shards.batch import TokenBatch
from lisdata.token_shards.dataset import TokenDataset, check_token_part
from lisdata.token_shards.schema import TokenColumn, TokenSchema
from lisdata.token_shards.writer import TokenShardWriter, token_manifest, write_tokens

__all__ = [
    "TokenBatch",
    "TokenColumn",
    "TokenDataset",
    "TokenSchema",
    "TokenShardWriter",
    "check_token_part",
    "token_manifest",
    "write_tokens",
]
