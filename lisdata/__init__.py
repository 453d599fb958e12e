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
    from lisdata.alignment.audit import audit
    from lisdata.contents import Content, Role
    from lisdata.conversion import ConvertConfig, convert
    from lisdata.datasets import copy, export, merge, open, verify  # noqa: A004
    from lisdata.encoding import EncodeConfig, collect_vocabulary, encode
    from lisdata.errors import LisDataError
    from lisdata.interop.hypergraphs import (
        hif_from_structures,
        hypernetx_from_structures,
        structures_from_hif,
        structures_from_hypernetx,
        structures_from_xgi,
        xgi_from_structures,
    )
    from lisdata.interop.networkx_graphs import networkx_from_structures, structures_from_networkx
    from lisdata.interop.pyoxigraph_quads import from_pyoxigraph, to_pyoxigraph
    from lisdata.interop.rdflib_graphs import from_rdflib, to_rdflib
    from lisdata.loader import BatchCollator, Loader
    from lisdata.models.devices import on_device
    from lisdata.regrouping import regroup
    from lisdata.selection import deduplicate, filter_dataset, reshard, sample, split
    from lisdata.shards import IncidenceDataset, write_structures
    from lisdata.structure import Incidence, Instance, Occurrence, Structure
    from lisdata.token_formats import import_tokens
    from lisdata.token_formats.hf import from_hf_dataset, to_hf_dataset
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
    "audit": "lisdata.alignment.audit",
    "collect_vocabulary": "lisdata.encoding",
    "convert": "lisdata.conversion",
    "deduplicate": "lisdata.selection",
    "copy": "lisdata.datasets",
    "encode": "lisdata.encoding",
    "export": "lisdata.datasets",
    "filter_dataset": "lisdata.selection",
    "from_hf_dataset": "lisdata.token_formats.hf",
    "from_pyoxigraph": "lisdata.interop.pyoxigraph_quads",
    "from_rdflib": "lisdata.interop.rdflib_graphs",
    "hif_from_structures": "lisdata.interop.hypergraphs",
    "hypernetx_from_structures": "lisdata.interop.hypergraphs",
    "import_tokens": "lisdata.token_formats",
    "merge": "lisdata.datasets",
    "networkx_from_structures": "lisdata.interop.networkx_graphs",
    "on_device": "lisdata.models.devices",
    "open": "lisdata.datasets",
    "regroup": "lisdata.regrouping",
    "reshard": "lisdata.selection",
    "sample": "lisdata.selection",
    "split": "lisdata.selection",
    "structures_from_hif": "lisdata.interop.hypergraphs",
    "structures_from_hypernetx": "lisdata.interop.hypergraphs",
    "structures_from_networkx": "lisdata.interop.networkx_graphs",
    "structures_from_xgi": "lisdata.interop.hypergraphs",
    "to_hf_dataset": "lisdata.token_formats.hf",
    "to_pyoxigraph": "lisdata.interop.pyoxigraph_quads",
    "to_rdflib": "lisdata.interop.rdflib_graphs",
    "verify": "lisdata.datasets",
    "write_structures": "lisdata.shards",
    "write_tokens": "lisdata.token_shards",
    "xgi_from_structures": "lisdata.interop.hypergraphs",
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
    "audit",
    "collect_vocabulary",
    "convert",
    "copy",
    "deduplicate",
    "encode",
    "export",
    "filter_dataset",
    "from_hf_dataset",
    "from_pyoxigraph",
    "from_rdflib",
    "hif_from_structures",
    "hypernetx_from_structures",
    "import_tokens",
    "merge",
    "networkx_from_structures",
    "on_device",
    "open",
    "regroup",
    "reshard",
    "sample",
    "split",
    "structures_from_hif",
    "structures_from_hypernetx",
    "structures_from_networkx",
    "structures_from_xgi",
    "to_hf_dataset",
    "to_pyoxigraph",
    "to_rdflib",
    "verify",
    "write_structures",
    "write_tokens",
    "xgi_from_structures",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'lisdata' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
