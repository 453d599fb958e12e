"""Incidence shards to token shards: tokenizers, views, context packing, and the run that applies them."""

from lisdata.encoding.config import EncodeConfig
from lisdata.encoding.encoder import encode, encode_dataset, encode_share, finish
from lisdata.encoding.first_subwords import AlignedTags, align_tags
from lisdata.encoding.tokenizers import Tokenizer, load_tokenizer, pair_template_ids, template_ids
from lisdata.encoding.vocabularies import collect_vocabulary

__all__ = [
    "AlignedTags",
    "EncodeConfig",
    "Tokenizer",
    "align_tags",
    "collect_vocabulary",
    "encode",
    "encode_dataset",
    "encode_share",
    "finish",
    "load_tokenizer",
    "pair_template_ids",
    "template_ids",
]
