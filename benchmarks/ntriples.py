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

_TEXT = (
    "river stone market history museum painter bridge winter railway island garden theory engine harbour council "
    "Straße Zürich Bücher Ünlü Ärzte forêt élève château señor niño São 東京 京都 大阪 Москва река"
)
_WORDS = _TEXT.split()
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


def convert_whole(path: Path, folder: Path) -> int:
    """Convert the file to shards as `lisdata convert` does and return its triples."""
    from lisdata.conversion import convert

    manifest = convert("ntriples", [str(path)], folder / "data", fresh=True)
    return int(manifest["counts"]["instances"])


def convert_in_memory(path: Path, folder: Path) -> int:
    """Convert the file to structures and drop them."""
    from lisdata.converters.triples import TRIPLES, TriplesOptions
    from lisdata.inputs import InputSlice, find_inputs
    from lisdata.sources.ntriples import NTRIPLES, NTriplesOptions

    num_triples = 0
    for file in find_inputs([str(path)], suffixes=NTRIPLES.suffixes):
        for records in NTRIPLES.read(InputSlice(file=file), NTriplesOptions(), _raise):
            TRIPLES.convert(records, TriplesOptions())
            num_triples += records.num_records
    return num_triples


def _raise(error: Exception) -> None:
    raise error


def parse_with_pyoxigraph(path: Path, *, lenient: bool) -> int:
    """Parse the file and drop the triples."""
    import pyoxigraph

    return sum(1 for _ in pyoxigraph.parse(path=str(path), format=pyoxigraph.RdfFormat.N_TRIPLES, lenient=lenient))


def parse_with_rdflib(path: Path) -> int:
    """Parse the file with rdflib's parser, into no graph."""
    from rdflib.plugins.parsers.ntriples import W3CNTriplesParser

    class Counter:
        num_triples = 0

        def triple(self, *_: object) -> None:
            self.num_triples += 1

    counter = Counter()
    with path.open("rb") as stream:
        W3CNTriplesParser(counter).parse(stream)
    return counter.num_triples


def measure(run: Callable[[], int], size: int, repeats: int) -> tuple[float, int]:
    """Return MB/s of CPU time, all threads together, at the best of `repeats`, and what `run` returned."""
    best, result = float("inf"), 0
    for _ in range(repeats):
        begin = time.process_time()
        result = run()
        best = min(best, time.process_time() - begin)
    return size / 1e6 / best, result


def main() -> None:
    """Print a table of roads, their speed and what of the whole conversion's speed that is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triples", type=int, default=1_000_000)
    parser.add_argument("--rdflib-triples", type=int, default=20_000, help="rdflib parses a file of this many")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, small = folder / "triples.nt", folder / "small.nt"
        write_ntriples(path, arguments.triples)
        write_ntriples(small, arguments.rdflib_triples)
        roads: dict[str, tuple[Callable[[], int], Path]] = {
            "lisdata: N-Triples to shards": (lambda: convert_whole(path, folder), path),
            "lisdata: N-Triples to structures in memory": (lambda: convert_in_memory(path, folder), path),
            "pyoxigraph: parse, strict": (lambda: parse_with_pyoxigraph(path, lenient=False), path),
            "pyoxigraph: parse, lenient": (lambda: parse_with_pyoxigraph(path, lenient=True), path),
            "rdflib: parse": (lambda: parse_with_rdflib(small), small),
        }
        convert_whole(small, folder)  # compiles the kernels
        print(f"{arguments.triples:,} triples, {path.stat().st_size / 1e6:.1f} MB; CPU time of one process")
        first: float | None = None
        for label, (run, source) in roads.items():
            speed, num_triples = measure(run, source.stat().st_size, arguments.repeats)
            first = first or speed
            print(f"{label:45} {speed:8.1f} MB/s {speed / first:7.2f} x  {num_triples:>10,} triples")


if __name__ == "__main__":
    main()
