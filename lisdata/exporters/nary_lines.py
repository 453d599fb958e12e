"""Lines of n-ary facts from flat arrays, in the layout of their file."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.contents import Role, decode_text
from lisdata.exporters.fact_columns import FactColumns
from lisdata.kernels.arrays import binary_buffers
from lisdata.schema import ContentKind, LabelKind
from lisdata.shards import Part
from lisdata.sources.id_prefixes import IdPrefixes
from lisdata.sources.json_text import STYLES
from lisdata.sources.nary_json import fact_text
from lisdata.sources.nary_layout import (
    FACT,
    LAYOUT_TEXT,
    LINE_ENDING,
    LINE_RELATION,
    LINE_TEXT,
    QUALIFIER,
    RELATION,
    WRITTEN,
    NaryLayout,
)

Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_BINARY = pa.large_binary()


class LineWriter:
    """Writes the lines of facts of one part."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self.facts = FactColumns(part)
        rows = part.labels.to_pylist()
        self._roles = [Role(r["relation"], r["side"]) if r["kind"] == LabelKind.ROLE else None for r in rows]
        self._code = {role: code for code, role in enumerate(self._roles) if role is not None}
        self._labels = [row["label"] for row in rows]
        self._spelled: dict[tuple[tuple[str, str], ...], tuple[pa.LargeBinaryArray, list[str]]] = {}
        special = [self._code[r] for r in (LINE_ENDING, LINE_RELATION, LINE_TEXT) if r in self._code]
        odd = [c for c, r in enumerate(self._roles) if r is not None and r.side.endswith((WRITTEN, RELATION))]
        self._is_aside = np.zeros(len(rows), np.bool_)
        self._is_aside[special + odd] = True
        self._is_qualifier = np.array([r is not None and r.side == QUALIFIER for r in self._roles], np.bool_)

    def layout_text(self, fact: int) -> str | None:
        """Return the layout that a fact tells, None where it tells none."""
        if LAYOUT_TEXT not in self._code:
            return None
        texts = self.facts.texts_in(fact, self._code[LAYOUT_TEXT])
        return texts[0].decode() if texts else None

    def lines(self, facts: Int64, layout: NaryLayout, prefixes: IdPrefixes) -> bytes:
        """Return the bytes of the lines of these facts."""
        fact, place = self.facts.participants_of(facts)
        has_aside = np.zeros(len(facts), np.bool_)
        has_aside[fact[self._is_aside[self.facts.role[place]]]] = True
        if layout.layout == "wikipeople" or has_aside.any():
            return b"".join(self._line(int(f), layout, prefixes) for f in facts)
        return self._plain_lines(facts, fact, place, layout, prefixes)

    def _spell(self, prefixes: IdPrefixes) -> tuple[pa.LargeBinaryArray, list[str]]:
        """Return what contents and labels are written as."""
        key = tuple(prefixes.iris.items())
        if key not in self._spelled:
            contents = self._part.contents
            lexical = contents["lexical"].combine_chunks()
            is_name = pc.equal(contents["kind"].combine_chunks(), pa.scalar(ContentKind.ENTITY, pa.uint8()))
            names = pc.if_else(is_name, prefixes.restore_all(lexical), lexical)
            self._spelled[key] = names, [prefixes.restore(label) for label in self._labels]
        return self._spelled[key]

    def _plain_lines(self, facts: Int64, fact: Int64, place: Int64, layout: NaryLayout, prefixes: IdPrefixes) -> bytes:
        """Return the lines of facts on which nothing is said aside, with no Python object a name."""
        names, labels = self._spell(prefixes)
        relations = [None if r is None else prefixes.restore(r.relation).encode() for r in self._roles]
        texts = pa.concat_arrays(
            [names, pa.array([label.encode() for label in labels], _BINARY), pa.array(relations, _BINARY)]
        )
        at_label, at_relation = len(names), len(names) + len(labels)
        role = self.facts.role[place]
        width = 1 + self._is_qualifier[role].astype(np.int64)  # a qualifier's relation stands before its name
        is_first = np.diff(fact, prepend=-1) > 0
        if layout.layout == "hype":
            return self._hype_lines(facts, fact, place, layout, texts, at_label)
        width[is_first] += 1  # the relation stands behind the subject
        end = np.cumsum(width)
        picks = np.empty(int(end[-1]) if len(end) else 0, np.int64)
        name_at = end - 1
        name_at[is_first] -= 1
        picks[name_at] = self.facts.content[place]
        picks[end[is_first] - 1] = at_label + self.facts.label[facts[fact[is_first]]]
        qualifiers = np.flatnonzero(self._is_qualifier[role])
        picks[end[qualifiers] - 2] = at_relation + role[qualifiers]
        is_last = np.zeros(len(picks), np.bool_)
        last = np.append(np.flatnonzero(is_first)[1:], len(end)) - 1
        is_last[end[last] - 1] = True
        return _joined(texts.take(pa.array(picks)), is_last, layout)

    def _hype_lines(
        self, facts: Int64, fact: Int64, place: Int64, layout: NaryLayout, texts: pa.LargeBinaryArray, at_label: int
    ) -> bytes:
        handle = self.facts.handle[facts]
        counts = 1 + (handle >= 0) + np.bincount(fact, minlength=len(facts))
        ends = np.cumsum(counts)
        picks = np.empty(int(ends[-1]) if len(ends) else 0, np.int64)
        begins = ends - counts
        picks[begins[handle >= 0]] = handle[handle >= 0]
        first = begins + (handle >= 0)
        picks[first] = at_label + self.facts.label[facts]
        is_name = np.ones(len(picks), np.bool_)
        is_name[first] = is_name[begins] = False
        picks[is_name] = self.facts.content[place]
        is_last = np.zeros(len(picks), np.bool_)
        is_last[ends - 1] = True
        return _joined(texts.take(pa.array(picks)), is_last, layout)

    def _line(self, fact: int, layout: NaryLayout, prefixes: IdPrefixes) -> bytes:
        """Return the line of one fact."""
        names, labels = self._spell(prefixes)
        places = range(int(self.facts.offsets[fact]), int(self.facts.offsets[fact + 1]))
        said: dict[tuple[Role, int], bytes] = {}
        told: list[tuple[Role, int, bytes]] = []
        for place in places:
            role, position = self._roles[self.facts.role[place]], int(self.facts.position[place])
            assert role is not None
            text: bytes = names[int(self.facts.content[place])].as_py()
            if self._is_aside[self.facts.role[place]]:
                said[role, position] = text
            else:
                told.append((role, position, text))
        if (LINE_TEXT, 0) in said:
            return said[LINE_TEXT, 0]
        if layout.layout == "wikipeople":
            return self._object(labels[self.facts.label[fact]], told, layout, prefixes)
        relation = said.get((LINE_RELATION, 0), labels[self.facts.label[fact]].encode())
        cells: list[bytes] = []
        for role, position, text in told:
            if role.side == QUALIFIER:
                usual = prefixes.restore(role.relation).encode()
                cells.append(said.get((Role(role.relation, role.side + RELATION), position), usual))
            cells.append(said.get((Role(role.relation, role.side + WRITTEN), position), text))
        cells.insert(0 if layout.layout == "hype" else 1, relation)
        if self.facts.handle[fact] >= 0:
            cells.insert(0, names[int(self.facts.handle[fact])].as_py())
        ending = said.get((LINE_ENDING, 0), layout.ending.encode())
        return layout.separator.encode().join(cells) + ending

    def _object(
        self, label: str, told: list[tuple[Role, int, bytes]], layout: NaryLayout, prefixes: IdPrefixes
    ) -> bytes:
        values: dict[tuple[str, str], list[str]] = {}
        for role, _, text in told:
            values.setdefault((prefixes.restore(role.relation), role.side), []).append(decode_text(text))
        listed = [(relation, side, named) for (relation, side), named in values.items()]
        relation = None if all(side == QUALIFIER for _, side, _ in listed) and label == FACT else label
        return fact_text(relation, listed, STYLES[layout.style], layout.ending).encode()


def _joined(cells: pa.LargeBinaryArray, is_last: Bools, layout: NaryLayout) -> bytes:
    """Return the cells with what stands behind each."""
    ends = pa.array([layout.separator.encode(), layout.ending.encode()], _BINARY).take(
        pa.array(is_last.astype(np.int8))
    )
    offsets, data = binary_buffers(pc.binary_join_element_wise(cells, ends, pa.scalar(b"", _BINARY)))
    return data[offsets[0] : offsets[-1]].tobytes()
