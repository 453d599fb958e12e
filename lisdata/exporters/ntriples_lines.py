"""N-Triples and N-Quads lines of many triples at once, from Arrow columns: each distinct term is spelled once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lisdata.kernels.arrays import binary_buffers, one_array
from lisdata.schema import NO_ROW, ContentKind, LabelKind
from lisdata.sources.ntriples_terms import escape_iri, escape_string, term_suffix

Int64 = npt.NDArray[np.int64]

_BINARY = pa.large_binary()
_MARKS = {
    ContentKind.ENTITY: (b"<", b">"),
    ContentKind.BNODE: (b"_:", b""),
    ContentKind.LITERAL: (b'"', b'"'),
    ContentKind.INSTANCE: (b"", b""),
}
# First bytes of what may have to be escaped; 0xEF begins U+FFFE and U+FFFF.
_IN_STRINGS = frozenset((*range(0x20), *b'"\\\x7f\xef'))
_IN_IRIS = frozenset((*range(0x21), *b'<>"{}|^`\\'))


def spell_terms(contents: pa.Table, labels: pa.Table) -> pa.LargeBinaryArray:
    """Return the N-Triples term of each content, null where it is of a kind that RDF does not have."""
    kinds = np.asarray(contents["kind"])
    lexical = one_array(contents["lexical"])
    lexical = _escaped(lexical, kinds == ContentKind.LITERAL, _IN_STRINGS, escape_string)
    lexical = _escaped(lexical, kinds == ContentKind.ENTITY, _IN_IRIS, escape_iri)
    before, after = (
        pa.array([_MARKS[ContentKind(k)][side] if k in _MARKS else None for k in range(len(ContentKind))], _BINARY)
        for side in (0, 1)
    )
    codes = pa.array(kinds)
    return pc.binary_join_element_wise(
        before.take(codes), lexical, after.take(codes), _suffixes(contents, labels), _scalar(b"")
    )


def _escaped(
    lexical: pa.LargeBinaryArray,
    is_chosen: npt.NDArray[np.bool_],
    special: frozenset[int],
    escape: Callable[[bytes], bytes],
) -> pa.LargeBinaryArray:
    """Return the lexical forms, the chosen ones escaped if a byte of `special` is in them."""
    offsets, data = binary_buffers(lexical)
    is_special = np.zeros(256, np.bool_)
    is_special[list(special)] = True
    places = np.flatnonzero(is_special[data[offsets[0] : offsets[-1]]]) + offsets[0]
    rows = np.searchsorted(offsets, places, side="right") - 1
    mask = np.zeros(len(lexical), np.bool_)
    mask[rows] = True
    mask &= is_chosen
    if not mask.any():
        return lexical
    escaped = [escape(value) for value in lexical.filter(pa.array(mask)).to_pylist()]
    return pc.replace_with_mask(lexical, pa.array(mask), pa.array(escaped, _BINARY))


def _suffixes(contents: pa.Table, labels: pa.Table) -> pa.LargeBinaryArray:
    """Return the language tag or else the datatype with its mark; empty where there is neither."""
    spelled = []
    for kind, name in zip(labels["kind"].to_pylist(), labels["label"].to_pylist(), strict=True):
        tag = name if kind == LabelKind.LANGUAGE else None
        spelled.append(term_suffix(name if kind == LabelKind.DATATYPE else None, tag))
    datatype, language = (np.asarray(contents[name].fill_null(NO_ROW)) for name in ("datatype", "language"))
    code = np.where(language == NO_ROW, datatype, language)
    return pa.array([*spelled, b""], _BINARY).take(pa.array(np.minimum(code, len(spelled))))


def spell_predicates(labels: pa.Table) -> pa.LargeBinaryArray:
    """Return the N-Triples term of each instance label, null for labels of other kinds."""
    is_relation = pc.equal(labels["kind"], pa.scalar(LabelKind.INSTANCE, pa.uint8()))
    names = pc.if_else(is_relation, labels["label"], None).to_pylist()
    return pa.array([None if n is None else b"<" + escape_iri(n.encode()) + b">" for n in names], _BINARY)


def join_lines(
    subjects: pa.LargeBinaryArray,
    predicates: pa.LargeBinaryArray,
    objects: pa.LargeBinaryArray,
    graphs: pa.LargeBinaryArray | None = None,
) -> memoryview:
    """Return the bytes of the lines of these statements; a graph is null where it is the default one."""
    terms = (subjects, predicates, objects)
    if graphs is None:
        lines = pc.binary_join_element_wise(*terms, _scalar(b".\n"), _scalar(b" "))
    else:
        lines = pc.binary_join_element_wise(*terms, graphs, _scalar(b".\n"), _scalar(b" "), null_handling="skip")
    return bytes_of(lines)


def bytes_of(lines: pa.LargeBinaryArray) -> memoryview:
    """Return the bytes of an array without nulls, one value after another."""
    offsets, data = binary_buffers(lines)
    return data[offsets[0] : offsets[-1]].data


def _scalar(value: bytes) -> pa.Scalar:
    return pa.scalar(value, _BINARY)
