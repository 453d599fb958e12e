"""lisdata: text, knowledge graphs, hyperedges, trees, tables and grids as one form, for training language models.

>>> import lisdata
>>> lisdata.convert("text", ["corpus.txt"], "corpus.lis")        # doctest: +SKIP
>>> lisdata.encode("corpus.lis", "corpus.tok", tokenizer="chars")  # doctest: +SKIP
>>> dataset = lisdata.open("corpus.tok")                          # doctest: +SKIP
>>> for batch in lisdata.Loader(dataset, batch_size=8): ...       # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lisdata.contents import Content, Role
    from lisdata.conversion import ConvertConfig, convert
    from lisdata.datasets import export, merge, open, verify  # noqa: A004
    from lisdata.encoding import EncodeConfig, encode
    from lisdata.errors import LisDataError
    from lisdata.loader import BatchCollator, Loader
    from lisdata.shards import IncidenceDataset
    from lisdata.structure import Incidence, Instance, Occurrence, Structure
    from lisdata.token_shards import TokenDataset, write_tokens

# name -> module; looked up when first used, so that `import lisdata` loads neither torch nor Arrow
_PUBLIC = {
    "LisDataError": "lisdata.errors",
    "BatchCollator": "lisdata.loader",
    "Content": "lisdata.contents",
    "ConvertConfig": "lisdata.conversion",
    "EncodeConfig": "lisdata.encoding",
    "Incidence": "lisdata.structure",
    "IncidenceDataset": "lisdata.shards",
    "Instance": "lisdata.structure",
    "Loader": "lisdata.loader",
    "Occurrence": "lisdata.structure",
    "Role": "lisdata.contents",
    "Structure": "lisdata.structure",
    "TokenDataset": "lisdata.token_shards",
    "convert": "lisdata.conversion",
    "encode": "lisdata.encoding",
    "export": "lisdata.datasets",
    "merge": "lisdata.datasets",
    "open": "lisdata.datasets",
    "verify": "lisdata.datasets",
    "write_tokens": "lisdata.token_shards",
}
__all__ = [
    "BatchCollator",
    "Content",
    "ConvertConfig",
    "EncodeConfig",
    "Incidence",
    "IncidenceDataset",
    "Instance",
    "LisDataError",
    "Loader",
    "Occurrence",
    "Role",
    "Structure",
    "TokenDataset",
    "__version__",
    "convert",
    "encode",
    "export",
    "merge",
    "open",
    "verify",
    "write_tokens",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'lisdata' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
