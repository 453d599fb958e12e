"""N-Triples to shards: MB/s of CPU time a core, beside the parsers of pyoxigraph and rdflib, in one run.

    python benchmarks/ntriples.py --triples 1000000
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

_WORDS = (
    "river stone market history museum painter bridge winter railway island garden theory engine harbour council "
    "Straße Zürich Bücher Ünlü Ärzte forêt élève château señor niño São 東京 京都 大阪 Москва река"
).split()
_PREDICATES = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#type",
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://example.org/ontology/birthPlace",
    "http://example.org/ontology/isPartOf",
    "http://example.org/ontology/population",
    "http://example.org/ontology/foundingDate",
    "http://purl.org/dc/terms/description",
    "http://xmlns.com/foaf/0.1/knows",
)
_XSD = "http://www.w3.org/2001/XMLSchema#"


def write_ntriples(path: Path, num_triples: int, *, seed: int = 0) -> None:
    """Write a graph of `num_triples` lines of about 122 bytes: runs of 1 to 11 triples of one subject."""
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(itertools.islice(_iter_lines(num_triples, seed), num_triples))


def _iter_lines(num_triples: int, seed: int) -> Iterator[str]:
    rng = np.random.default_rng(seed)
    subject = 0
    while True:
        sizes = rng.integers(1, 12, 4096).tolist()
        total = sum(sizes)
        draws = zip(
            rng.integers(0, len(_PREDICATES), total).tolist(),
            rng.integers(0, 100, total).tolist(),
            (rng.random(total) ** 3 * num_triples / 4).astype(np.int64).tolist(),
            rng.integers(0, len(_WORDS) - 8, total).tolist(),
            strict=True,
        )
        for size in sizes:
            subject += 1
            name = f"_:node{subject}" if subject % 50 == 0 else f"<http://example.org/resource/Item_{subject:08d}>"
            for predicate, choice, number, word in itertools.islice(draws, size):
                yield f"{name} <{_PREDICATES[predicate]}> {_object(choice, number, word)} .\n"


def _object(choice: int, number: int, word: int) -> str:
    if choice < 45:
        return f"<http://example.org/resource/Item_{number:08d}>"
    text = " ".join(_WORDS[word : word + 4])
    if choice < 70:
        return f'"{text} {number}"@{("en", "de", "fr", "en-US", "ja")[choice % 5]}'
    if choice < 80:
        return f'"{number}"^^<{_XSD}integer>'
    if choice < 87:
        return f'"{1000 + number % 1000}-{1 + number % 12:02d}-{1 + word:02d}"^^<{_XSD}date>'
    if choice < 98:
        return f'"{text}, \\"{number}\\""' if choice == 97 else f'"{text}, {number}"'
    return f"_:node{50 * (number // 50 + 1)}"
