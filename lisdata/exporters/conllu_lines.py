"""Lines of CoNLL-U from the flat arrays of sentences, many at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.exporters.conllu_columns import fit_column, fit_trees, to_utf8
from lisdata.exporters.conllu_spans import WordSpans, find_spans
from lisdata.exporters.sentence_columns import ABSENT, Sentences
from lisdata.hexatag import NONTERMINAL_GLYPHS, TERMINAL_GLYPHS
from lisdata.kernels.arrays import binary_buffers
from lisdata.kernels.conllu_notes import NUM_COLUMN_NOTES, Note

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LAYOUTS = "layouts of sentences"
OTHER_NOTES = "notes that CoNLL-U has no place for"
NAMELESS = "relations called _, which stands for none"

_COLUMN_NOTES = tuple(Note)[:NUM_COLUMN_NOTES]
_BINARY = pa.large_binary()
_UNDERSCORE, _TAB, _NEWLINE, _BAR, _NOTHING = (pa.scalar(text, _BINARY) for text in (b"_", b"\t", b"\n", b"|", b""))
_NO_SPACE = pa.scalar(b"SpaceAfter=No", _BINARY)
_OWN_ITEM = "Hex(Terminal|Nonterminal|Head)=[^|]*"
_LEADING_ITEMS, _OTHER_ITEMS = rf"^({_OWN_ITEM}(\||$))+", rf"\|{_OWN_ITEM}"
_BEFORE, _WORD, _AFTER = range(3)  # order of lines of one position


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lines:
    """Lines with their newlines: each stands before word `position` of its sentence, which is `row`."""

    row: Int64
    position: Int64
    text: pa.Array

    def take(self, chosen: Bools) -> _Lines:
        return _Lines(row=self.row[chosen], position=self.position[chosen], text=self.text.filter(pa.array(chosen)))


def lines_from_notes(sentences: Sentences, losses: Counter[str], *, with_tags: bool) -> memoryview:
    """Return the lines of sentences that source conllu read with all columns, byte for byte unless `with_tags`.

    With tags a sentence gets the usual layout; it is a loss where that was another one.
    """
    number, kind = sentences.word_number, sentences.note_kind
    first = np.cumsum(sentences.num_words) - sentences.num_words
    word = first[sentences.note_row] + sentences.note_position
    losses[OTHER_NOTES] += sentences.num_other_notes
    columns = {}
    for note in _COLUMN_NOTES:
        content, own = np.full(len(number), ABSENT, np.int64), kind == note
        content[word[own]] = sentences.note_content[own]
        columns[note] = _taken(sentences.lexical, content)
    words = _word_lines(sentences, _forms(sentences), _deprels(sentences), columns, with_tags)
    is_beside = (kind == Note.COMMENT) | (kind == Note.LINE)
    beside, whole = (_noted_lines(sentences, c) for c in (is_beside, kind == Note.CONLLU))
    beside = _Lines(row=beside.row, position=beside.position, text=_ended(beside.text))
    is_whole = np.zeros(len(sentences.num_words), np.bool_)
    if with_tags:
        losses[LAYOUTS] += len(whole.row)
        return _joined(sentences, beside, words)
    is_whole[whole.row] = True
    return _joined(sentences, beside.take(~is_whole[beside.row]), words, whole=whole, is_whole=is_whole)


def lines_from_words(sentences: Sentences, losses: Counter[str], *, with_tags: bool, is_treebank: bool) -> memoryview:
    """Return the lines of sentences of which only the words and their trees are known, all such as can be read again.

    Words of one span are a multiword token. What CoNLL-U cannot say of the words, their text and their trees is a loss
    (see `find_spans`, `fit_column`, `fit_trees`); a treebank's trees and relations are known to have come from it.
    """
    losses[OTHER_NOTES] += sentences.num_other_notes + len(sentences.note_row)
    if not is_treebank:
        sentences = fit_trees(sentences, losses, with_tags=with_tags)
    spans = find_spans(sentences, losses, has_spaces_after=not is_treebank)
    absent = pa.nulls(len(sentences.form), _BINARY).fill_null(_UNDERSCORE)
    misc = pc.if_else(pa.array(spans.has_no_space & ~spans.is_shared), _NO_SPACE, _UNDERSCORE)
    forms = fit_column(_forms(sentences), "words", losses, may_have_spaces=True)
    deprels = sentences.labels.cast(_BINARY).take(pa.array(sentences.deprel, mask=sentences.deprel == ABSENT))
    losses[NAMELESS] += pc.sum(pc.equal(deprels, _UNDERSCORE)).as_py() or 0
    deprels = fit_column(deprels.fill_null(_UNDERSCORE), "relations", losses, may_have_spaces=is_treebank)
    columns = dict.fromkeys(_COLUMN_NOTES, absent) | {Note.MISC: misc}
    words = _word_lines(sentences, forms, deprels, columns, with_tags)
    return _joined(
        sentences, _concatenated(_comments(sentences, losses), _multiword_lines(sentences, spans, losses)), words
    )


def _concatenated(first: _Lines, second: _Lines) -> _Lines:
    return _Lines(
        row=np.concatenate([first.row, second.row]),
        position=np.concatenate([first.position, second.position]),
        text=pa.concat_arrays([first.text, second.text]),
    )


def _joined(
    sentences: Sentences,
    beside: _Lines,
    words: _Lines,
    whole: _Lines | None = None,
    is_whole: Bools | None = None,
) -> memoryview:
    """Return all lines in order, with an empty one after each sentence; a sentence that is `whole` is just that."""
    rows = np.arange(len(sentences.num_words))
    blank = _Lines(row=rows, position=sentences.num_words, text=pa.nulls(len(rows), _BINARY).fill_null(_NEWLINE))
    groups = [(beside, _BEFORE), (words, _WORD), (blank, _AFTER)]
    if whole is not None and is_whole is not None and is_whole.any():
        groups = [(lines.take(~is_whole[lines.row]), rank) for lines, rank in groups] + [(whole, _WORD)]
    row, position = (np.concatenate([getattr(g, name) for g, _ in groups]) for name in ("row", "position"))
    rank = np.repeat([rank for _, rank in groups], [len(g.row) for g, _ in groups])
    order = np.lexsort((rank, position, row))
    offsets, data = binary_buffers(pa.concat_arrays([g.text for g, _ in groups]).take(pa.array(order)))
    return data[offsets[0] : offsets[-1]].data


def _word_lines(
    sentences: Sentences, forms: pa.Array, deprels: pa.Array, columns: dict[Note, pa.Array], with_tags: bool
) -> _Lines:
    number = sentences.word_number
    if with_tags:
        columns = columns | {Note.MISC: _with_tags(columns[Note.MISC], sentences)}
    text = pc.binary_join_element_wise(
        _decimals(number + 1),
        forms,
        *(columns[note] for note in (Note.LEMMA, Note.UPOS, Note.XPOS, Note.FEATS)),
        _decimals(sentences.head),
        deprels,
        columns[Note.DEPS],
        columns[Note.MISC],
        _TAB,
    )
    return _Lines(row=sentences.word_row, position=number, text=_ended(text))


def _with_tags(misc: pa.Array, sentences: Sentences) -> pa.Array:
    """Return MISC with the tags of tagged words behind what is there."""
    spelled = pa.array(
        [f"HexTerminal={t}|HexNonterminal={n}".encode() for t in TERMINAL_GLYPHS for n in NONTERMINAL_GLYPHS], _BINARY
    )
    is_tagged = (sentences.terminal >= 0) & (sentences.nonterminal >= 0)
    code = np.where(is_tagged, sentences.terminal * len(NONTERMINAL_GLYPHS) + sentences.nonterminal, 0)
    tags = spelled.take(pa.array(code))
    lifted = _lifted_heads(sentences, is_tagged)
    places = np.flatnonzero(lifted >= 0)
    if len(places):
        heads = pa.array([b"|HexHead=%d" % head for head in lifted[places].tolist()], _BINARY)
        more = pa.nulls(len(tags), _BINARY).fill_null(_NOTHING)
        more = pc.replace_with_mask(more, pa.array(lifted >= 0), heads)
        tags = pc.binary_join_element_wise(tags, more, _NOTHING)
    misc = pc.replace_substring_regex(misc, _LEADING_ITEMS, "")  # of an earlier tagging
    misc = pc.replace_substring_regex(misc, _OTHER_ITEMS, "")
    misc = pc.if_else(pc.equal(misc, _NOTHING), _UNDERSCORE, misc)
    behind = pc.if_else(pc.equal(misc, _UNDERSCORE), tags, pc.binary_join_element_wise(misc, tags, _BAR))
    return pc.if_else(pa.array(is_tagged), behind, misc)


def _lifted_heads(sentences: Sentences, is_tagged: Bools) -> Int64:
    """Return the heads of the tags' tree where they are not those of column HEAD, -1 elsewhere."""
    from lisdata.kernels.hexatag_decode import decode_sentences

    offsets = np.concatenate(([0], np.cumsum(sentences.num_words)))
    terminal, nonterminal = sentences.terminal.astype(np.int8), sentences.nonterminal.astype(np.int8)
    spelled, is_wrong = decode_sentences(terminal, nonterminal, offsets)
    is_lifted = is_tagged & (spelled != sentences.head) & (sentences.head >= 0)
    return np.where(is_lifted & ~is_wrong.astype(bool)[sentences.word_row], spelled, -1)


def _noted_lines(sentences: Sentences, chosen: Bools) -> _Lines:
    text = sentences.lexical.take(pa.array(sentences.note_content[chosen]))
    return _Lines(row=sentences.note_row[chosen], position=sentences.note_position[chosen], text=text)


def _multiword_lines(sentences: Sentences, spans: WordSpans, losses: Counter[str]) -> _Lines:
    first, last, number = spans.first, spans.last, sentences.word_number
    surfaces = fit_column(spans.surface.take(pa.array(first)), "multiword tokens", losses, may_have_spaces=True)
    ids = [b"%d-%d" % pair for pair in zip((number[first] + 1).tolist(), (number[last] + 1).tolist(), strict=True)]
    misc = pc.if_else(pa.array(spans.has_no_space[last]), _NO_SPACE, _UNDERSCORE)
    line = pc.binary_join_element_wise(pa.array(ids, _BINARY), surfaces, *[_UNDERSCORE] * 7, misc, _TAB)
    return _Lines(row=sentences.word_row[first], position=number[first], text=_ended(line))


def _comments(sentences: Sentences, losses: Counter[str]) -> _Lines:
    """Return the comments that a sentence must have: its name and its text."""
    text = pc.replace_substring_regex(to_utf8(sentences.documents), "[\t\n\r ]*[\t\n\r]+[\t\n\r ]*", " ")
    text = pc.replace_substring_regex(text, "^ +| +$", "")
    names = fit_column(sentences.record_ids.cast(_BINARY), "names of sentences", losses, may_have_spaces=True)
    lines = pc.binary_join_element_wise(
        pa.scalar(b"# sent_id = ", _BINARY), names, _NEWLINE,
        pa.scalar(b"# text = ", _BINARY), text, _NEWLINE, _NOTHING,
    )  # fmt: skip
    rows = np.arange(len(text))
    return _Lines(row=rows, position=np.zeros(len(rows), np.int64), text=lines)


def _deprels(sentences: Sentences) -> pa.Array:
    return _taken(sentences.labels.cast(_BINARY), sentences.deprel)


def _forms(sentences: Sentences) -> pa.Array:
    return sentences.lexical.take(pa.array(sentences.form))


def _taken(texts: pa.Array, numbers: Int64) -> pa.Array:
    """Return texts by number, _ where that is ABSENT."""
    return texts.take(pa.array(numbers, mask=numbers == ABSENT)).fill_null(_UNDERSCORE)


def _decimals(numbers: Int64) -> pa.Array:
    """Return numbers as they are written, _ where one is ABSENT."""
    spelled = pa.array(np.arange(numbers.max(initial=0) + 1)).cast(pa.large_string()).cast(_BINARY)
    return _taken(spelled, numbers)


def _ended(lines: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(lines, _NEWLINE, _NOTHING)
