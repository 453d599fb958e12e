"""What stands in the archives of data/kg that is an input itself, written out as files."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import conformance_rdf
import numpy as np
from html5lib_trees import html5lib_cases
from json_test_suite import iter_suite
from real_files import BASE_IRI

_CORPUS_CASE = re.compile(r"^=+\n.*\n(?::.*\n)*=+\n", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Inputs of an archive, below a folder; options that they need; how many files of the archive are none, and why."""

    folder: Path
    options: dict[str, Any]
    left_out: dict[str, int]


def _write(folder: Path, files: Iterator[tuple[str, bytes]]) -> None:
    folder.mkdir()
    for name, data in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _iter_tar(archive: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as files:
        for member in sorted(files.getmembers(), key=lambda m: m.name):
            stream = files.extractfile(member)
            if stream is not None:
                yield member.name, stream.read()


def w3c_inputs(archive: Path, folder: Path) -> Members:
    """Write the inputs of a W3C suite that are valid, and the graphs that its tests expect where ours reads those."""
    root = conformance_rdf.unpack_suite(archive.parent, archive.name.removesuffix(".tar.gz"), folder / "suite")
    tests = list(conformance_rdf.iter_tests(root))
    valid = {test.path: test for test in tests if test.is_valid}
    form = conformance_rdf.FORMATS[root.name][1]
    base_iri = None if root.name.endswith(("n-triples", "n-quads")) else BASE_IRI
    read = {path for path in valid if _is_read(path, form, base_iri)}
    contexts = tuple(dict.fromkeys(context for test in tests for context in test.contexts))
    _write(folder / "in", ((path.relative_to(root).as_posix(), path.read_bytes()) for path in sorted(read)))
    negative = len({test.path for test in tests} - valid.keys())
    num_files = sum(path.is_file() for path in root.rglob("*"))
    others = num_files - len(valid) - negative
    left_out = {
        "inputs that must be refused": negative,
        "inputs that pyoxigraph does not read": len(valid) - len(read),
        "expected graphs, manifests, contexts and texts": others,
    }
    return Members(folder=folder / "in", options={"context": contexts} if contexts else {}, left_out=left_out)


def _is_read(path: Path, form: Any, base_iri: str | None) -> bool:
    import pyoxigraph

    try:
        list(pyoxigraph.parse(path.read_bytes(), form, base_iri=base_iri))
    except SyntaxError:
        return False
    return True


def html_documents(archive: Path, folder: Path) -> Members:
    """Write the documents of html5lib's cases, not the fragments."""
    cases = html5lib_cases(archive)
    documents = [case["data"] for case in cases if "document-fragment" not in case]
    _write(folder / "in", ((f"{n:04d}.html", data.encode()) for n, data in enumerate(documents)))
    return Members(
        folder=folder / "in",
        options={"encoding": "utf-8"},
        left_out={"fragments, which are no documents": len(cases) - len(documents)},
    )


def json_documents(archive: Path, folder: Path) -> Members:
    """Write the files of JSONTestSuite that must be accepted."""
    files = dict(iter_suite(archive))
    _write(folder / "in", ((name, data) for name, data in files.items() if name.startswith("y_")))
    left_out = {
        "files that must be refused": sum(name.startswith("n_") for name in files),
        "files that may be refused": sum(name.startswith("i_") for name in files),
    }
    return Members(folder=folder / "in", options={}, left_out=left_out)


def entity_documents(archive: Path, folder: Path) -> Members:
    """Write the entities of Wikibase's fixtures."""
    files = dict(_iter_tar(archive))
    chosen = {name: data for name, data in files.items() if name.endswith(".json")}
    _write(folder / "in", iter(chosen.items()))
    return Members(folder=folder / "in", options={}, left_out={"README": sum("README" in name for name in files)})


def ntriples_files(archive: Path, folder: Path) -> Members:
    """Write the N-Triples of Wikibase's fixtures."""
    _write(folder / "in", ((name, data) for name, data in _iter_tar(archive) if name.endswith(".nt")))
    return Members(folder=folder / "in", options={}, left_out={})


def code_files(path: Path, folder: Path) -> Members:
    """Write the code of each test of a corpus of tree-sitter."""
    cases = _CORPUS_CASE.split(path.read_text(encoding="utf-8"))[1:]
    codes = [re.split(r"^---+\n", case, maxsplit=1, flags=re.MULTILINE)[0] for case in cases]
    _write(folder / "in", ((f"{n:03d}.py", code.encode()) for n, code in enumerate(codes)))
    return Members(folder=folder / "in", options={}, left_out={"expected trees": len(cases)})


def digit_images(path: Path, folder: Path) -> Members:
    """Write the pixels of the digits as an array of bytes, images by rows by columns."""
    rows = np.loadtxt(io.StringIO(gzip.decompress(path.read_bytes()).decode()), delimiter=",")
    stream = io.BytesIO()
    np.save(stream, rows[:, :64].astype(np.uint8).reshape(-1, 8, 8))
    _write(folder / "in", iter([("digits.npy", stream.getvalue())]))
    return Members(folder=folder / "in", options={}, left_out={})


def gml_files(archive: Path, folder: Path) -> Members:
    """Write the GML of a zip archive."""
    with zipfile.ZipFile(archive) as files:
        chosen = [name for name in files.namelist() if name.endswith(".gml")]
        _write(folder / "in", ((name, files.read(name)) for name in chosen))
        left_out = {"texts about the graph": len(files.namelist()) - len(chosen)}
    return Members(folder=folder / "in", options={}, left_out=left_out)


MEMBERS: dict[str, Callable[[Path, Path], Members]] = {
    "w3c": w3c_inputs,
    "html5lib": html_documents,
    "JSONTestSuite": json_documents,
    "entities": entity_documents,
    "ntriples": ntriples_files,
    "code": code_files,
    "digits": digit_images,
    "gml": gml_files,
}


def read_graph(path: Path) -> Any:
    """Return the graph of a GML file in a zip, as networkx has it."""
    import networkx as nx

    with zipfile.ZipFile(path) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".gml"))
        lines = archive.read(name).decode().split("\n")
    return nx.parse_gml([line for line in lines if not line.startswith("Creator")])


def graph_model(graph: Any) -> str:
    """Return all that a graph holds in order, values with their types."""
    edges = graph.edges(data=True, keys=True) if graph.is_multigraph() else graph.edges(data=True)
    return repr((type(graph).__name__, graph.graph, list(graph.nodes(data=True)), list(edges)))
