"""Sentences back to CoNLL-U: byte for byte, or with their hexatags in column MISC."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from lisdata.exporters.conllu_lines import lines_from_notes, lines_from_words
from lisdata.exporters.conversion_losses import count_conversion_losses, is_left_out
from lisdata.exporters.sentence_columns import Sentences, find_sentences
from lisdata.exporters.targets import replacing, target_paths
from lisdata.registry import ExportReport
from lisdata.shards import IncidenceDataset, InputInfo

_SENTENCES_A_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class ConlluExporter:
    """Writes sentences with words, whatever their source.

    What source conllu read with all columns comes back byte for byte; with `with_tags` each tagged word's MISC also has
    HexTerminal and HexNonterminal, a lifted one also the head that its tags stand for (HexHead), and the layout is the
    usual one. Of other sources' sentences the words, their heads and labels, the spaces between them and the multiword
    tokens that they do not spell are written, with sent_id and text as comments; what a column cannot hold is changed.
    All that is changed or left out is a loss.
    """

    name: str
    summary: str
    with_tags: bool

    def export(self, dataset: IncidenceDataset, target: Path, files: tuple[InputInfo, ...]) -> ExportReport:
        """Write the sentences that came from `files`."""
        paths = target_paths(target, files, dataset.inputs)
        losses = count_conversion_losses(dataset, files)
        written: list[Path] = []
        num_records = 0
        for info, path in zip(files, paths, strict=True):
            if is_left_out(dataset, info):
                continue
            with replacing(path) as stream:
                for part, rows in dataset.iter_part_rows(info.index):
                    for begin in range(0, len(rows), _SENTENCES_A_CHUNK):
                        sentences, left_out = find_sentences(part, rows[begin : begin + _SENTENCES_A_CHUNK])
                        losses.update(left_out)
                        stream.write(self._lines(sentences, info, losses))
                        num_records += len(sentences.num_words)
            written.append(path)
        return ExportReport(files=tuple(written), num_records=num_records, losses=dict(+losses))

    def _lines(self, sentences: Sentences, info: InputInfo, losses: Counter[str]) -> memoryview:
        is_treebank = info.source == "conllu"
        if is_treebank and info.options.get("columns") == "all":
            return lines_from_notes(sentences, losses, with_tags=self.with_tags)
        losses["other columns and comments of sentences"] += len(sentences.num_words) if is_treebank else 0
        return lines_from_words(sentences, losses, with_tags=self.with_tags, is_treebank=is_treebank)


CONLLU = ConlluExporter(name="conllu", summary="CoNLL-U, with hexatags in column MISC", with_tags=True)
CONLLU_PLAIN = ConlluExporter(name="conllu-plain", summary="CoNLL-U as it was read", with_tags=False)
