"""Rows of the hexatag benchmark that go from files to shards: treebanks, and text that spaCy parses."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hexatag_rows import REFERENCE_ENCODE, Row

from lisdata.cli.hexatag import TEXT_UNIT_MIB, TREEBANK_UNIT_MIB
from lisdata.conversion import convert
from lisdata.inputs import InputSlice, find_inputs
from lisdata.parsers.spacy_pipeline import SpacyParser, cut_text, spacy_parser
from lisdata.parsers.tagger import TaggerParser
from lisdata.sources.parsed_records import texts_to_parse
from lisdata.sources.text import TEXT, TextOptions
from lisdata.tagger.prediction import PRECISIONS, find_precision
from lisdata.tagger.weights import ENGLISH, load_tagger

PLAIN, BARE = "plain Python's split", "bare nlp.pipe"
BATCH_TEXTS, BATCH_CHARACTERS = 64, 50_000  # as lisdata gives them to spaCy, which holds 3.5 kB a character


def tile(paths: Sequence[Path], target: Path, num_bytes: int) -> Path:
    """Write the files to `target`, whole, up to about `num_bytes` over and over but once at least; return `target`."""
    data = b"".join(path.read_bytes() for path in paths)
    target.write_bytes(data * max(1, round(num_bytes / len(data))))
    return target


def convert_file(path: Path, folder: Path, source: str, **options: str) -> dict[str, int]:
    """Convert a file to compressed shards as `lisdata hexatag` does, and return the manifest's report."""
    unit_mib = TEXT_UNIT_MIB if source == "parsed" else TREEBANK_UNIT_MIB
    manifest = convert(source, path, folder / "data", fresh=True, options=options, unit_mib=unit_mib)
    report: dict[str, int] = manifest["report"]
    return report


# -- treebanks -------------------------------------------------------------------------------------------------------


def road_rows(treebanks: Sequence[Path], folder: Path, num_bytes: int) -> list[Row]:
    """Return CoNLL-U to shards, and a plain reader of the same file, after a round that compiles the kernels."""
    path = tile(treebanks, folder / "treebank.conllu", num_bytes)
    size, num_words = path.stat().st_size, read_plainly(path)
    print(f"CoNLL-U of {size / 1e6:.1f} MB, {num_words:,} words, to zstd shards")
    rows = [Row(label=PLAIN, run=partial(read_plainly, path), num_words=num_words, num_bytes=size)]
    for columns, label in (("all", "all columns"), ("heads", "only heads and relations")):
        run = partial(convert_file, path, folder, "conllu", columns=columns)
        assert run()["words"] == num_words
        rows.append(
            Row(label=label, run=run, num_words=num_words, num_bytes=size, reference=REFERENCE_ENCODE, beside=PLAIN)
        )
    return rows


def read_plainly(path: Path) -> int:
    """Read the sentences, keep none, and return the number of words."""
    return sum(map(len, iter_sentences(path)))


def iter_sentences(path: Path) -> Iterator[list[tuple[str, int, str]]]:
    """Yield form, head and relation of each word of each sentence of a file of CoNLL-U."""
    words: list[tuple[str, int, str]] = []
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            if line == "\n":
                yield words
                words = []
            elif not line.startswith("#"):
                row = line.split("\t")
                if row[0].isdecimal():
                    words.append((row[1], int(row[6]), row[7]))
    if words:
        yield words


# -- text ------------------------------------------------------------------------------------------------------------


def spacy_rows(texts: Sequence[Path], folder: Path, num_bytes: int, unit: str) -> list[Row]:
    """Return text to shards and parsers alone, beside the same pipeline on the same pieces of text, after a round.

    Raises ParserError where spaCy or its English pipeline is not installed.
    """
    parser = spacy_parser(batch_size=BATCH_TEXTS)
    path = tile(texts, folder / "text.txt", num_bytes)
    units = read_units(path, unit)
    pieces = [piece for text in units for piece in cut_text(text, parser.max_piece_characters)]
    run = partial(convert_file, path, folder, "parsed", parser="spacy", unit=unit)
    num_words = run()["words"]
    assert num_words == len(parser.parse_flat(units).head)
    print(f"text of {path.stat().st_size:,} bytes, {num_words:,} words in {len(pieces):,} pieces")
    return [
        Row(label=BARE, run=partial(parse_barely, parser, pieces), num_words=num_words),
        Row(label="parser alone", run=partial(parser.parse_flat, units), num_words=num_words, beside=BARE),
        Row(label="text to zstd shards", run=run, num_words=num_words, beside=BARE),
        *tagger_rows(path, folder, units, unit),
    ]


def tagger_rows(path: Path, folder: Path, units: Sequence[str], unit: str) -> list[Row]:
    """Return the same text parsed by the English hexatagger, whose words are not quite spaCy's, and to shards."""
    run = partial(convert_file, path, folder, "parsed", parser="tagger", unit=unit)
    num_words = run()["words"]
    network = load_tagger(ENGLISH)
    rows = [
        Row(
            label=f"tagger alone, {precision}",
            run=partial(TaggerParser(network, precision=precision).parse_flat, units),
            num_words=num_words,
            beside=BARE,
        )
        for precision in PRECISIONS
    ]
    return [*rows, Row(label=f"tagger, text to shards, {find_precision()}", run=run, num_words=num_words, beside=BARE)]


def read_units(path: Path, unit: str) -> list[str]:
    """Return the lines, paragraphs or documents that the conversion parses."""
    (file,) = find_inputs([str(path)], suffixes=TEXT.suffixes)
    options: Any = {"unit": unit}
    batches = TEXT.read(InputSlice(file=file), TextOptions(**options), _raise)
    return [text for batch in batches for text in texts_to_parse(batch)]


def parse_barely(parser: SpacyParser, pieces: Sequence[str]) -> None:
    """Run the components that lisdata runs, in batches about as large, and look at no document."""
    mean = sum(map(len, pieces)) / len(pieces)
    batch_size = min(BATCH_TEXTS, max(1, int(BATCH_CHARACTERS / mean)))
    deque(parser.nlp.pipe(pieces, batch_size=batch_size), maxlen=0)


def _raise(error: Exception) -> None:
    raise error
