"""What `sources.py` measures: for each source its inputs, generated or real, and the bare parsers beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import source_documents as documents
import source_graphs as graphs
import source_parsers as parsers
import source_tables as tables
from source_draws import Draws

_SEED = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A source: its inputs' suffix, what makes them, and bare parsers.

    `pieces` yields records of one file behind `header`, or, where they are `documents`, a file each; of real files the
    first line may be a header too. `share` is how much
    of the wanted size is measured, less where even the bare parser is slow. `aim` and `refuse` are MB/s of source, 0
    where there are none, on a machine where the first bare parser makes `bare`. `real` says which files of a folder of
    real data are inputs.
    """

    source: str
    suffix: str
    pieces: Callable[[Draws], Iterator[bytes]]
    parsers: tuple[parsers.Parser, ...]
    real: str
    header: bytes = b""
    header_is_line: bool = False
    documents: bool = False
    share: float = 1.0
    aim: float = 0
    refuse: float = 0
    bare: float = 0


_CASES = (
    Case(
        source="ntriples", suffix=".nt", pieces=graphs.ntriples, parsers=(parsers.pyoxigraph,), aim=60, refuse=30,
        bare=135, real="**/*schemaorg*.nt",
    ),
    Case(
        source="nquads", suffix=".nq", pieces=graphs.nquads, parsers=(parsers.pyoxigraph,),
        real="**/*.nquads",
    ),
    Case(
        source="hext", suffix=".hext", pieces=graphs.hext, parsers=(parsers.orjson_lines_walk,), share=0.5,
        real="**/*.hext",
    ),
    Case(
        source="turtle", suffix=".ttl", pieces=graphs.turtle, parsers=(parsers.pyoxigraph,), share=0.5,
        header=graphs.TURTLE_HEADER, real="**/*schemaorg*.ttl",
    ),
    Case(
        source="wikidata", suffix=".json", pieces=graphs.wikidata, parsers=(parsers.orjson_lines_walk,), aim=40,
        refuse=25, bare=147, real="**/wikidata/**/*.json*",
    ),
    Case(
        source="csv", suffix=".csv", pieces=tables.csv, parsers=(parsers.pyarrow_csv, parsers.csv_module), aim=60,
        refuse=20, bare=664, header=tables.CSV_HEADER, header_is_line=True, real="**/tables/**/*.csv",
    ),
    Case(
        source="parquet", suffix=".parquet", pieces=tables.parquet, parsers=(parsers.pyarrow_parquet,),
        documents=True, real="**/*.parquet",
    ),
    Case(
        source="html", suffix=".html", pieces=documents.html, parsers=(parsers.selectolax_walk,), documents=True,
        share=0.5, aim=20, bare=133, real="**/html/*.html",
    ),
    Case(
        source="xml", suffix=".xml", pieces=documents.xml, parsers=(parsers.lxml_walk,), documents=True, share=0.5,
        real="**/xml/*.xml",
    ),
    Case(
        source="json", suffix=".json", pieces=tables.json_documents, documents=True, share=0.5,
        parsers=(parsers.orjson_walk, parsers.json_walk), real="**/json/*.json",
    ),
    Case(
        source="jsonl", suffix=".jsonl", pieces=tables.jsonl, parsers=(parsers.orjson_lines_walk,), share=0.5,
        real="**/text_kg/**/*.jsonl",
    ),
    Case(
        source="code", suffix=".py", pieces=documents.code, parsers=(parsers.tree_sitter_walk,), documents=True,
        share=0.25, aim=5, bare=10.8, real="**/*.py",
    ),
    Case(
        source="markdown", suffix=".md", pieces=documents.markdown, parsers=(parsers.markdown_it,), documents=True,
        share=0.25, real="**/text_docs/*spec.txt",
    ),
    Case(
        source="brackets", suffix=".mrg", pieces=documents.brackets, parsers=(parsers.bracket_lists,), share=0.5,
        real="**/*.mrg",
    ),
    Case(
        source="kgtk", suffix=".tsv", pieces=graphs.kgtk, parsers=(parsers.tab_split,), share=0.5,
        header=graphs.KGTK_HEADER, header_is_line=True, real="**/kgtk/wikidata_sample.tsv",
    ),
    Case(
        source="nary", suffix=".txt", pieces=graphs.nary, parsers=(parsers.comma_split,), share=0.5,
        real="**/wd50k*/*.txt",
    ),
    Case(
        source="graph", suffix=".edgelist", pieces=graphs.graph, parsers=(parsers.networkx_edges,), documents=True,
        share=0.25, real="**/*.edgelist",
    ),
    Case(
        source="hif", suffix=".json", pieces=graphs.hif, parsers=(parsers.orjson_walk,), documents=True, share=0.5,
        real="**/hif/data/*.json",
    ),
    Case(
        source="conllu", suffix=".conllu", pieces=documents.conllu, parsers=(parsers.tab_split,),
        real="**/*.conllu",
    ),
    Case(
        source="npz", suffix=".npz", pieces=tables.npz, parsers=(parsers.numpy_load,), documents=True,
        real="**/*.npz",
    ),
)  # fmt: skip
CASES = {case.source: case for case in _CASES}


def write_inputs(case: Case, folder: Path, size: int) -> list[Path]:
    """Write generated files of about `size` bytes together, the same ones each time, and return them."""
    folder.mkdir(parents=True)
    pieces = case.pieces(Draws(_SEED))
    if case.documents:
        return _write_documents(pieces, case.suffix, folder, size)
    path = folder / f"input{case.suffix}"
    with path.open("wb") as stream:
        stream.write(case.header)
        while stream.tell() < size:
            stream.write(next(pieces))
    return [path]


def _write_documents(pieces: Iterator[bytes], suffix: str, folder: Path, size: int) -> list[Path]:
    paths: list[Path] = []
    written = 0
    while written < size:
        paths.append(folder / f"{len(paths):06d}{suffix}")
        written += paths[-1].write_bytes(next(pieces))
    return paths


def copy_inputs(case: Case, shared: Path, folder: Path, size: int) -> list[Path]:
    """Repeat real files up to about `size` bytes and return what was written; none where there are none.

    Documents are copied again and again, the lines of any other file, but for its header, repeated in one long file.
    """
    found = [path for path in sorted(shared.glob(case.real)) if path.is_file()]
    folder.mkdir(parents=True)
    if case.documents and found:
        return _write_documents((path.read_bytes() for path in cycle(found)), case.suffix, folder, size)
    paths: list[Path] = []
    for path in found:
        data = path.read_bytes()
        header = data[: data.index(b"\n") + 1] if case.header_is_line else b""
        body = data[len(header) :]
        paths.append(folder / f"{len(paths):06d}-{path.stem}{case.suffix}")
        paths[-1].write_bytes(header + body * max(1, round(size / len(found) / max(1, len(body)))))
    return paths
