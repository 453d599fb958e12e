"""Lines of KGTK files from flat arrays of facts: each distinct content is spelled once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.contents import Role
from lisdata.errors import ExportError
from lisdata.exporters.fact_columns import FactColumns
from lisdata.kernels.arrays import binary_buffers
from lisdata.schema import LabelKind
from lisdata.shards import InputInfo, Part
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.kgtk_layout import (
    EDGE,
    EDGE_LABEL,
    HEADER_DECLARED,
    HEADER_ENDING,
    HEADER_MARK,
    HEADER_NAMES,
    LINE_TEXT,
    OBJECT,
    ROW_ENDING,
    SUBJECT,
    WRITTEN,
    Columns,
)
from lisdata.sources.kgtk_values import spell_contents

Int64 = npt.NDArray[np.int64]
_BINARY = pa.large_binary()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileForm:
    """How one file is written."""

    columns: Columns
    prefixes: IdPrefixes
    ending: bytes
    mark: bytes
    is_written: bool

    def opening(self) -> bytes:
        """Return the file's bytes before the first row."""
        if not self.is_written:
            return self.mark
        return self.mark + "\t".join(self.columns.names).encode() + self.ending


class LineWriter:
    """Writes the lines of facts of one part."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self.facts = FactColumns(part)
        self._roles = {
            Role(row["relation"], row["side"]): code
            for code, row in enumerate(part.labels.to_pylist())
            if row["kind"] == LabelKind.ROLE
        }
        self._spelled: dict[tuple[tuple[str, str], ...], pa.LargeBinaryArray] = {}

    def form_of(self, fact: int, info: InputInfo) -> FileForm:
        """Return the form that a header's fact tells; ExportError where it is none."""
        said = {role: self._said(fact, role) for role in (HEADER_NAMES, HEADER_DECLARED, HEADER_ENDING, HEADER_MARK)}
        names = said[HEADER_NAMES] or said[HEADER_DECLARED]
        if not names or not said[HEADER_ENDING]:
            raise ExportError(f"{info.name}: expected a fact that tells the columns first, found none")
        options = info.options.get("id_prefix", ()) if info.source == "kgtk" else ()
        return FileForm(
            columns=Columns(tuple(name.decode() for name in names)),
            prefixes=IdPrefixes.parse(options),
            ending=said[HEADER_ENDING][0],
            mark=b"".join(said[HEADER_MARK]),
            is_written=bool(said[HEADER_NAMES]),
        )

    def _said(self, fact: int, role: Role) -> list[bytes]:
        return self.facts.texts_in(fact, self._roles[role]) if role in self._roles else []

    def lines(self, facts: Int64, form: FileForm) -> memoryview:
        """Return the bytes of the lines of these facts."""
        columns, num_columns = form.columns, len(form.columns.names)
        ending, kept = num_columns, num_columns + 1
        fact, place = self.facts.participants_of(facts)
        column, is_written = self._columns_of_roles(columns)
        role = self.facts.role[place]
        texts = self._spell(form).take(pa.array(self.facts.content[place]))
        number, overrides = column[role], is_written[role]
        if (number < 0).any() or texts.null_count:
            raise ExportError("expected facts that a KGTK file gave, found a role or a content that it has not")
        grid, texts = self._grid(fact, number, overrides, self.facts.position[place], texts, (len(facts), kept + 1))
        empty = len(texts) - 1
        cells = [texts.take(pa.array(grid[:, n])) for n in range(num_columns)]
        if columns.kind == EDGE:
            cells[columns.label] = self._labels(facts, grid[:, columns.label], empty, texts, form)
        if columns.kind == EDGE and columns.id is not None:
            cells[columns.id] = self._ids(facts, form)
        ends = pc.if_else(
            pa.array(grid[:, ending] == empty), pa.scalar(form.ending, _BINARY), texts.take(pa.array(grid[:, ending]))
        )
        cells[-1] = pc.binary_join_element_wise(cells[-1], ends, pa.scalar(b"", _BINARY))
        lines = cells[0]
        if num_columns > 1:
            lines = pc.binary_join_element_wise(*cells, pa.scalar(b"\t", _BINARY))
        is_kept = pa.array(grid[:, kept] != empty)
        lines = pc.if_else(is_kept, texts.take(pa.array(grid[:, kept])), lines)
        offsets, data = binary_buffers(lines)
        return data[offsets[0] : offsets[-1]].data

    def _spell(self, form: FileForm) -> pa.LargeBinaryArray:
        key = tuple(form.prefixes.iris.items())
        if key not in self._spelled:
            self._spelled[key] = spell_contents(self._part.contents, self._part.labels, form.prefixes)
        return self._spelled[key]

    def _columns_of_roles(self, columns: Columns) -> tuple[Int64, npt.NDArray[np.bool_]]:
        """Return the column that each role stands in, -1 for none, and whether it says how a cell is written."""
        ending, kept = len(columns.names), len(columns.names) + 1
        own = {ROW_ENDING: ending, LINE_TEXT: kept}
        own |= {columns.role(number): number for number in columns.others}
        sides = {}
        if columns.kind == EDGE:
            own[EDGE_LABEL] = columns.label
            sides = {SUBJECT: columns.node1, OBJECT: columns.node2}
        elif columns.id is not None:
            own[columns.role(columns.id)] = columns.id
        column = np.full(self._part.labels.num_rows, -1, np.int64)
        is_written = np.zeros(len(column), np.bool_)
        for role, code in self._roles.items():
            number = own.get(role, sides.get(role.side, -1))
            if number < 0 and role.side.endswith(WRITTEN):
                plain = Role(role.relation, role.side.removesuffix(WRITTEN))
                number = own.get(plain, sides.get(plain.side, -1))
                is_written[code] = True
            column[code] = number
        return column, is_written

    def _grid(
        self, fact: Int64, column: Int64, overrides: npt.NDArray[np.bool_], position: Int64,
        texts: pa.LargeBinaryArray, shape: tuple[int, int],
    ) -> tuple[Int64, pa.LargeBinaryArray]:  # fmt: skip
        """Return for each fact and column the number of its text, the last for none, and the texts.

        A cell of several items, or of one that is written in an odd way, is joined to a text of its own.
        """
        place = fact * shape[1] + column
        counts = np.bincount(place, minlength=shape[0] * shape[1])
        is_alone = (counts[place] == 1) & ~overrides
        joined: dict[int, dict[int, bytes]] = {}
        others = np.flatnonzero(~is_alone)
        others = others[np.argsort(overrides[others], kind="stable")]
        for row, text in zip(others.tolist(), texts.take(pa.array(others)).to_pylist(), strict=True):
            joined.setdefault(int(place[row]), {})[int(position[row])] = text
        cells = [b"|".join(items[at] for at in sorted(items)) for items in joined.values()]
        grid = np.full(shape[0] * shape[1], len(texts) + len(cells), np.int64)
        grid[place[is_alone]] = np.flatnonzero(is_alone)
        grid[np.fromiter(joined, np.int64, len(joined))] = len(texts) + np.arange(len(cells))
        return grid.reshape(shape), pa.concat_arrays([texts, pa.array([*cells, b""], _BINARY)])

    def _labels(
        self, facts: Int64, written: Int64, empty: int, texts: pa.LargeBinaryArray, form: FileForm
    ) -> pa.LargeBinaryArray:
        names = form.prefixes.restore_all(self._part.labels["label"].combine_chunks().cast(_BINARY))
        labels = names.take(pa.array(self.facts.label[facts]))
        return pc.if_else(pa.array(written == empty), labels, texts.take(pa.array(written)))

    def _ids(self, facts: Int64, form: FileForm) -> pa.LargeBinaryArray:
        handles = self.facts.handle[facts]
        found = self._spell(form).take(pa.array(handles, mask=handles < 0))
        return found.fill_null(pa.scalar(b"", _BINARY))
