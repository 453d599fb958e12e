"""Members of Wikidata's entities as flat facts: the arrays that the kernels fill, and what each call added to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lisdata.kernels.grouped_texts import BEGINNING, GROUP, Texts, new_texts, with_slots
from lisdata.kernels.json_members import FOLLOWING, Tokens
from lisdata.kernels.wikidata_facts import FACTS_DONE, HASHES_LEFT_OUT, LABELS_DONE, PARTICIPANTS_DONE, new_scan
from lisdata.kernels.wikidata_scan import add_members

UInt8 = npt.NDArray[np.uint8]
UInt32 = npt.NDArray[np.uint32]
Int64 = npt.NDArray[np.int64]

_PIECE_BYTES = 32  # of what stands before and in texts beside the given pieces: numbers, brackets


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedMembers:
    """What a call of `MemberScanner.add` made; views, valid until the next call.

    `count` members were added before one that is refused. participants (P, 3) and facts (F, 3) are as in `EntityScan`;
    contents and labels are numbers of the scanner, and the new ones come next to those before: `content_groups` (of
    names.GROUPS, or FIRST_LANGUAGE and the symbol of a language), and their bytes, of which `content_ends` are the ends;
    `labels` (symbol, number). `num_hashes` were left out.
    """

    count: int
    participants: UInt32
    facts: Int64
    content_groups: Int64
    content_ends: Int64
    content_data: UInt8
    labels: list[list[int]]
    num_hashes: int


class MemberScanner:
    """Adds members of one entity after another; contents, symbols and labels are numbered by first appearance.

    `data` is all JSON that tokens will be of; `pieces` are what names.ENTITY_IRI ... stand for.
    """

    def __init__(self, data: bytes, pieces: tuple[bytes, ...]) -> None:
        # Each token but the first follows one of these; memory that is not used is not touched.
        num_tokens = 1 + sum(map(data.count, (b"[", b"{", b",", b":")))
        more = max(map(len, pieces)) + _PIECE_BYTES
        contents = new_texts(num_tokens, 3 * len(data) + more * num_tokens)  # an escape in an IRI has three bytes
        self._scan = new_scan(contents, num_tokens, len(data), pieces)

    def add(
        self, tokens: Tokens, entity: int, name: int, members: list[tuple[int, int]], offset: int, *, keeps_hashes: bool
    ) -> AddedMembers:
        """Add members of an entity, kinds and tokens, one after the other; a refused one leaves nothing.

        `entity` is the entity's token, `name` that of its id; unknown values are called by `offset`.
        """
        more = int(tokens.rows[entity, FOLLOWING]) - entity
        contents, symbols = with_slots(self._scan.contents, more), with_slots(self._scan.symbols, more)
        scan = self._scan = self._scan._replace(tokens=tokens, contents=contents, symbols=symbols)
        num_contents, num_labels = int(contents.state[0]), int(scan.counts[0, LABELS_DONE])
        count = add_members(scan, entity, name, members, offset, keeps_hashes=keeps_hashes)
        done = scan.counts[0].tolist()
        groups, ends, data = _texts_since(contents, num_contents)
        return AddedMembers(
            count=count,
            participants=scan.participants[: done[PARTICIPANTS_DONE]],
            facts=scan.facts[: done[FACTS_DONE]],
            content_groups=groups,
            content_ends=ends,
            content_data=data,
            labels=scan.labels[num_labels : done[LABELS_DONE]].tolist(),
            num_hashes=done[HASHES_LEFT_OUT],
        )

    def symbol(self, number: int) -> str:
        """Return the property or language that a symbol is."""
        symbols = self._scan.symbols
        begin, end = symbols.rows[number : number + 2, BEGINNING].tolist()
        return symbols.data[begin:end].tobytes().decode()


def _texts_since(texts: Texts, first: int) -> tuple[Int64, Int64, UInt8]:
    """Return groups, ends and bytes of the texts from number `first` on."""
    count = int(texts.state[0])
    begin, end = int(texts.rows[first, BEGINNING]), int(texts.rows[count, BEGINNING])
    return texts.rows[first:count, GROUP], texts.rows[first + 1 : count + 1, BEGINNING] - begin, texts.data[begin:end]
