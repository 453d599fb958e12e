"""Incidence shards to token shards: tokenizers, views, context packing, and the run that applies them."""

from lisdata.encoding.config import EncodeConfig
from lisdata.encoding.encoder import encode, encode_dataset
from lisdata.encoding.first_subwords import AlignedTags, align_tags
from lisdata.encoding.tokenizers import Tokenizer, load_tokenizer

__all__ = ["AlignedTags", "EncodeConfig", "Tokenizer", "align_tags", "encode", "encode_dataset", "load_tokenizer"]
