"""A small file of every source: those of sample_data, and what is not there in its own form."""

from __future__ import annotations

TRIPLE = b'<http://example.org/a> <http://example.org/p> "b" .\n'
INLINE = {  # a file of a source that the samples have in another form
    "hext": b'["http://example.org/a","http://example.org/p","b","http://www.w3.org/2001/XMLSchema#string","",""]\n',
    "jsonld": b'{"@id": "http://example.org/a", "http://example.org/p": "b"}',
    "n3": TRIPLE,
    "nquads": TRIPLE,
    "rdfxml": b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/">
<rdf:Description rdf:about="http://example.org/a"><e:p>b</e:p></rdf:Description></rdf:RDF>""",
    "turtle": TRIPLE,
}
SAMPLES = {
    "arrow": "arrow/tides.arrow",
    "brackets": "brackets/harbour.mrg",
    "code": "code/tides.py",
    "conllu": "treebank/workshop.conllu",
    "csv": "tables/authors.csv",
    "excel": "excel/boats.xlsx",
    "fact-text": "fact_text/harbour.jsonl",
    "graph": "graph/harbour.gml",
    "hif": "hif/kitchen.hif.json",
    "html": "html/page.html",
    "jsonl": "table2/sentence.jsonl",
    "json": "json/harvest.json",
    "kgtk": "kgtk/garden.tsv",
    "image": "grids/harbour.png",
    "markdown": "markdown/harbour.md",
    "nary": "nary/visits.txt",
    "npy": "grids/heat.npy",
    "npz": "grids/tides.npz",
    "ntriples": "triples/garden.nt",
    "parquet": "parquet/tides.parquet",
    "parsed": "text/harbour.txt",
    "sql": "sql/library.sqlite",
    "text": "text/harbour.txt",
    "trig": "rdf/garden.trig",
    "wikidata": "wikidata/harbour.ndjson",
    "xml": "xml/orchard.xml",
}
