"""What makes two structures one: digests of what they say, and signatures of how alike their texts are."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from lisdata.alignment.facts import finalised, iter_facts
from lisdata.shards import IncidenceDataset, Part
from lisdata.shards.companions import WHOLE_SOURCES, file_numbers, find_companions
from lisdata.shards.same_as import key_pairs

UInt64 = npt.NDArray[np.uint64]
UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]

NUM_BANDS, ROWS_A_BAND = 16, 8
NUM_HASHES = NUM_BANDS * ROWS_A_BAND
SHINGLE_WORDS = 5
_WORD = re.compile(r"\w+")
_SHINGLES_AT_ONCE = 1 << 20
_EMPTY = np.uint32(0xFFFF_FFFF)


def fact_digests(part: Part) -> UInt64:
    """Return 128 bits (N, 2) of what each structure of a part says: its kind, document or tensor, and its facts.

    Facts count as a multiset; record ids, sources and ordinals do not. Blank nodes are told apart by their file.
    """
    sums = np.zeros((part.counts["structures"], 2), np.uint64)
    for facts in iter_facts(part, {}):
        if facts.level in ("instances", "documents"):
            np.add.at(sums, facts.row, facts.digest)
    first = 0
    for batch in part.iter_batches("structures", ("kind",)):
        kinds = np.asarray(batch.column("kind")).astype(np.uint64)
        sums[first : first + batch.num_rows, 0] += kinds * np.uint64(0x9E3779B97F4A7C15)
        first += batch.num_rows
    return sums


def text_digests(part: Part) -> UInt64:
    """Return 128 bits (N, 2) of the document of each structure of a part; one without has the digest of its facts."""
    found = fact_digests(part)
    first = 0
    for batch in part.iter_batches("structures", ("document",)):
        documents = batch.column("document")
        at = np.flatnonzero(np.asarray(documents.is_valid()))
        digests = [xxhash.xxh3_128_digest(memoryview(documents[row].as_buffer() or b"")) for row in at.tolist()]
        found[first + at] = key_pairs(np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 16))
        first += batch.num_rows
    return found


def with_whole_inputs(dataset: IncidenceDataset, part: Part, digests: UInt64) -> UInt64:
    """Return digests into which, where an input is one thing (an image), what goes along with it is mixed."""
    is_companion = find_companions(dataset, part)
    files = file_numbers(part)
    whole = [info.index for info in dataset.inputs if info.source in WHOLE_SOURCES]
    rows = np.flatnonzero(is_companion & np.isin(files, whole))
    if len(rows):
        sums = np.zeros((len(dataset.inputs), 2), np.uint64)
        np.add.at(sums, files[rows], _mixed(digests[rows]))
        records = np.flatnonzero(~is_companion & np.isin(files, whole))
        digests[records] += sums[files[records]]
    return digests


def text_signatures(part: Part) -> UInt32:
    """Return the MinHash signature (N, NUM_HASHES) of the document of each structure of a part.

    Of the 5-word shingles of its lower-case words (of all its words, where it has fewer), the smallest under each hash:
    two signatures agree in about the share of their shingles that two documents have in common (Jaccard). One without
    words, or no UTF-8, is alike to none: its signature is all ones.
    """
    signatures = [
        _signatures([words_of(documents[row]) for row in range(len(documents))])
        for batch in part.iter_batches("structures", ("document",))
        for documents in (batch.column("document"),)
    ]
    return np.concatenate([np.empty((0, NUM_HASHES), np.uint32), *signatures])


def words_of(document: pa.Scalar) -> list[str]:
    """Return the lower-case words of a document; none where it is null or not UTF-8."""
    data = document.as_py()
    try:
        return [] if data is None else _WORD.findall(data.decode().lower())
    except UnicodeDecodeError:
        return []


def band_digests(signatures: UInt32, band: int) -> UInt64:
    """Return a digest (N, 1) of a band of signatures: alike documents agree in at least one band, most likely."""
    state = np.full(len(signatures), band, np.uint64)
    for number in range(band * ROWS_A_BAND, (band + 1) * ROWS_A_BAND):
        state = _mixed(state ^ signatures[:, number].astype(np.uint64))
    return state[:, None]


def _signatures(documents: list[list[str]]) -> UInt32:
    found = np.full((len(documents), NUM_HASHES), _EMPTY, np.uint32)
    begin = 0
    while begin < len(documents):
        end, size = begin, 0
        while end < len(documents) and (end == begin or size + len(documents[end]) <= _SHINGLES_AT_ONCE):
            size += len(documents[end])
            end += 1
        hashes = [_shingle_hashes(words) for words in documents[begin:end]]
        lengths = np.array([len(h) for h in hashes])
        rows = np.flatnonzero(lengths)
        if len(rows):
            starts = np.cumsum(lengths[rows]) - lengths[rows]
            found[begin + rows] = _smallest(np.concatenate(hashes), starts)
        begin = end
    return found


def _smallest(hashes: UInt64, starts: Int64) -> UInt32:
    """Return the smallest of each run under each of NUM_HASHES hash functions."""
    columns = []
    for number in range(NUM_HASHES):
        salt = _mixed(np.array([number + 1], np.uint64))
        columns.append(np.minimum.reduceat((_mixed(hashes ^ salt) >> np.uint64(32)).astype(np.uint32), starts))
    return np.stack(columns, axis=1)


def _shingle_hashes(words: list[str]) -> UInt64:
    digest = xxhash.xxh3_64_intdigest
    single = np.array([digest(word.encode(errors="surrogatepass")) for word in words], np.uint64)
    size = min(SHINGLE_WORDS, len(single))
    if not size:
        return single
    state = np.zeros(len(single) - size + 1, np.uint64)
    for shift in range(size):
        state = _mixed(state ^ single[shift : len(single) - size + 1 + shift])
    return np.unique(state)


def _mixed(state: UInt64) -> UInt64:
    """Mix all bits of each number into all bits, and 0 too (a step of SplitMix64)."""
    return finalised(state + np.uint64(0x9E3779B97F4A7C15))
