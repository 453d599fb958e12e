"""Encodes one part: its structures, slice by slice, in the view that each takes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from lisdata.encoding.characters import CharacterTokenizer
from lisdata.encoding.config import EncodeConfig
from lisdata.encoding.counts import EncodeCounts
from lisdata.encoding.deprels import DeprelVocabulary
from lisdata.encoding.endpoints_view import endpoint_rows, num_unused
from lisdata.encoding.grids import GridEncoder, grid_texts
from lisdata.encoding.layout_roles import layout_codes, without_layout
from lisdata.encoding.mixed_view import Split, mixed_rows, role_markers, serialized_rows
from lisdata.encoding.packing import ContextPacker
from lisdata.encoding.part_tables import RoleTable, SpelledContents, content_ids, token_codes
from lisdata.encoding.pieces import Bools, Int64
from lisdata.encoding.running_text import RunningText, read_text
from lisdata.encoding.sequence_view import sequence_rows
from lisdata.encoding.structure_rows import ENCODED_COLUMNS, StructureRows, iter_slices
from lisdata.encoding.surfaces import Speller, find_iris, iter_surfaces
from lisdata.encoding.token_rows import TokenRows
from lisdata.encoding.tokenizers import Tokenizer
from lisdata.errors import SchemaError
from lisdata.schema import DEPREL_COLUMN, StructureKind
from lisdata.shards import Part
from lisdata.shards.same_as import SameAs
from lisdata.vocabulary import RoleVocabulary

_LISTED = ("kind", "tau", "incidence", "shape")
_OF_MIXED = ("document", "span", "instance_label")
TEXT_FIRST = "text-first"
MIXED_VIEWS = ("mixed", TEXT_FIRST)


def takes_sequence(rows: StructureRows, view: str) -> Bools:
    """Return which rows take the view `sequence`; grids never do, they have no running text."""
    wanted = rows.kinds == StructureKind.TEXT if view == "auto" else np.full(rows.num_rows, view == "sequence")
    return np.asarray(wanted & ~rows.is_grid)


def takes_mixed(rows: StructureRows, view: str) -> Bools:
    """Return which rows take a view of facts and text: those with a document, under "auto" of kind mixed only."""
    wanted = rows.kinds == StructureKind.MIXED if view == "auto" else np.full(rows.num_rows, view in MIXED_VIEWS)
    return np.asarray(wanted & ~rows.is_grid & np.asarray(rows.documents.is_valid()))


def used_contents(part: Part, view: str) -> Int64:
    """Return the contents that endpoints of the part show, ascending."""
    if all(takes_sequence(rows, view).all() for rows in iter_slices(part, ("kind", "shape"))):
        return np.zeros(0, np.int64)
    is_used = np.zeros(part.contents.num_rows, bool)
    has_mixed, is_layout = view in MIXED_VIEWS or _has_kind(part, StructureKind.MIXED), layout_codes(part)
    columns = (*_LISTED, *(_OF_MIXED if has_mixed else ()), *(("sigma",) if is_layout.any() else ()))
    for rows in iter_slices(part, columns):
        is_mixed = takes_mixed(rows, view) if has_mixed else np.zeros(rows.num_rows, bool)
        listed = [without_layout(rows.take(np.flatnonzero(~takes_sequence(rows, view) & ~is_mixed)), is_layout)]
        if is_mixed.any():
            listed.append(Split.of(rows.take(np.flatnonzero(is_mixed)), token_codes(part)).facts)
        for some in listed:
            is_used[some.tau[some.incidence_occurrence]] = True
    return np.flatnonzero(is_used)


def _has_kind(part: Part, kind: StructureKind) -> bool:
    return any((rows.kinds == kind).any() for rows in iter_slices(part, ("kind",)))


def iter_texts(part: Part, config: EncodeConfig, speller: Speller) -> Iterator[str]:
    """Yield all the text of a part that `PartEncoder` tokenises (for a vocabulary that is collected beforehand)."""
    used = used_contents(part, config.view)
    if len(used):
        yield config.separator + config.text_separator
    for texts, _ in iter_surfaces(part.contents, used, speller):
        yield "".join(texts)
    for rows in iter_slices(part, ("record_id", "kind", "tau", "document", "shape", "tensor")):
        has_text = takes_sequence(rows, config.view) | takes_mixed(rows, config.view)
        if has_text.any():
            yield read_text(rows.take(np.flatnonzero(has_text)), part.contents)
        for row in np.flatnonzero(rows.is_grid):
            yield "".join(grid_texts(rows, int(row), config).texts)


class PartEncoder:
    """Turns the structures of a part into rows of tokens, in dataset order, and counts what it sees."""

    def __init__(
        self,
        part: Part,
        config: EncodeConfig,
        tokenizer: Tokenizer,
        roles: RoleVocabulary,
        speller: Speller,
        same_as: SameAs | None = None,
        left_out: Bools | None = None,
        deprels: DeprelVocabulary | None = None,
    ) -> None:
        """`left_out` are the structures of the part that become no rows, by default none.

        `deprels` numbers the relations of the column `deprel`, where that is written.
        """
        self.counts = EncodeCounts()
        self._left_out = left_out
        self._part, self._config, self._tokenizer, self._speller = part, config, tokenizer, speller
        self._roles = RoleTable.of_part(part, roles, config.unknown_role)
        self._vocabulary, self._has_unknown = roles, roles.has_unknown
        self._ids = content_ids(part, same_as)
        if same_as is not None:
            self.counts.contents_shown_as_others = int(np.count_nonzero(self._ids != content_ids(part)))
        self._deprels = None if deprels is None else deprels.numbers_of_part(part)
        self._grids = GridEncoder(tokenizer, config)
        self._is_layout = layout_codes(part)
        self._scored = {view: int(config.target in ("all", view)) for view in ("sequence", "endpoints")}

    def __iter__(self) -> Iterator[TokenRows]:
        """Yield the rows, packed where a context is set."""
        if self._config.context is None:
            for rows in self._structures():
                yield self._noted(rows)
            return
        packer = ContextPacker(self._config.context, self.counts)
        for rows in self._structures():
            yield self._noted(packer.push(rows))
        last = packer.finish()
        if last is not None:
            yield self._noted(last)

    def _noted(self, rows: TokenRows) -> TokenRows:
        self.counts.rows += rows.num_rows
        self.counts.tokens += int(rows.offsets[-1])
        return rows

    def _structures(self) -> Iterator[TokenRows]:
        for rows in self._slices():
            encoded = self._encode(rows)
            if self._config.context is None:  # else it goes on in the next row
                self._refuse_long(rows, encoded.lengths)
            self.counts.empty_structures += int(np.count_nonzero(encoded.lengths == 0))
            if self._has_unknown:
                self.counts.unknown_roles += int(np.count_nonzero(encoded.columns["role"] == 1))
            yield encoded.with_columns(self._config.columns)

    def _slices(self) -> Iterator[StructureRows]:
        at = 0
        read = ENCODED_COLUMNS if self._deprels is None else (*ENCODED_COLUMNS, DEPREL_COLUMN)
        for rows in iter_slices(self._part, read):
            self.counts.structures += rows.num_rows
            kept = np.arange(rows.num_rows)
            if self._left_out is not None:
                kept = np.flatnonzero(~self._left_out[at : at + rows.num_rows])
            at += rows.num_rows
            self.counts.headers_left_out += rows.num_rows - len(kept)
            if len(kept):
                yield rows.take(kept)

    def _refuse_long(self, rows: StructureRows, lengths: Int64) -> None:
        limit = self._config.max_length
        if limit is None or not (lengths > limit).any():
            return
        row = int(np.argmax(lengths > limit))
        raise SchemaError(
            f"record {str(rows.record_ids[row])!r}: expected at most {limit} tokens, found {lengths[row]}: "
            "raise max_length, or set context, with which long structures go on in the next row"
        )

    def _encode(self, rows: StructureRows) -> TokenRows:
        """Return one row a structure: each view's structures together, then back in order."""
        is_sequence, is_mixed = takes_sequence(rows, self._config.view), takes_mixed(rows, self._config.view)
        masks = (is_sequence, is_mixed, rows.is_grid, ~is_sequence & ~is_mixed & ~rows.is_grid)
        groups = [np.flatnonzero(mask) for mask in masks]
        encode = (self._sequences, self._mixed, self._grid_cells, self._endpoints)
        blocks = [
            encode_group(rows.take(group)) for encode_group, group in zip(encode, groups, strict=True) if len(group)
        ]
        encoded = TokenRows.concatenate(blocks)
        order = np.argsort(np.concatenate(groups))
        return encoded if len(blocks) == 1 else encoded.take(order)

    def _sequences(self, rows: StructureRows) -> TokenRows:
        return sequence_rows(
            rows,
            RunningText.of_rows(rows, self._part.contents),
            self._tokenizer,
            self._roles,
            self._ids,
            self.counts,
            target=self._scored["sequence"],
            special_tokens=self._config.special_tokens,
            deprels=self._deprels,
        )

    def _grid_cells(self, rows: StructureRows) -> TokenRows:
        return self._grids.rows(rows, self._roles, self.counts, target=self._scored["endpoints"])

    def _mixed(self, rows: StructureRows) -> TokenRows:
        return mixed_rows(
            rows,
            self._roles,
            self.counts,
            facts=self._facts,
            text=self._sequences,
            separator=self._separator,
            is_serialized=self._config.facts == "serialized",
            is_text_first=self._config.view == TEXT_FIRST,
        )

    def _endpoints(self, rows: StructureRows) -> TokenRows:
        kept, before = without_layout(rows, self._is_layout), self.counts.isolated_occurrences
        encoded = self._facts(kept)
        if num_left_out := len(rows.sigma) - len(kept.sigma):
            self.counts.incidences_left_out += num_left_out
            self.counts.isolated_occurrences = before + num_unused(rows.incidence_occurrence, rows.occurrence_offsets)
        return encoded

    def _facts(self, rows: StructureRows) -> TokenRows:
        target = self._scored["endpoints"]
        if self._config.facts == "endpoints":
            return endpoint_rows(rows, self._spelled, self._roles, self._ids, self.counts, target=target)
        return serialized_rows(
            rows, self._spelled, self._markers, self._separator, self._roles, self._ids, self.counts, target=target
        )

    @cached_property
    def _separator(self) -> Int64:
        """The pieces between facts and text."""
        return self._tokenizer.encode_batch([self._config.text_separator]).ids.astype(np.int64)

    @cached_property
    def _markers(self) -> SpelledContents:
        """The pieces of each role's marker."""
        texts = role_markers(self._vocabulary, is_character=isinstance(self._tokenizer, CharacterTokenizer))
        return SpelledContents.of_texts(len(texts), np.arange(len(texts)), [texts], self._tokenizer, "")

    @cached_property
    def _spelled(self) -> SpelledContents:
        """The pieces of all contents that endpoints show, each tokenised once."""
        used = used_contents(self._part, self._config.view)
        spelled = SpelledContents.of_texts(
            self._part.contents.num_rows, used, self._surfaces(used), self._tokenizer, self._config.separator
        )
        self.counts.characters_replaced += spelled.num_replaced
        if self._config.surface == "lexical":
            iris = used[find_iris(self._part.contents.take(used))]
            self.counts.iris += len(iris)
            self.counts.iri_tokens += int((spelled.offsets[iris + 1] - spelled.offsets[iris]).sum())
        return spelled

    def _surfaces(self, used: Int64) -> Iterator[list[str]]:
        for texts, found in iter_surfaces(self._part.contents, used, self._speller):
            self.counts.contents_by_label += found.labels
            self.counts.contents_by_local_name += found.local_names
            self.counts.contents_without_label += found.misses
            yield texts
