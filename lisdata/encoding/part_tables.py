"""What a part's numbers mean in token shards: roles by vocabulary, contents by key and by their pieces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lisdata.encoding.pieces import Bools, Int64, offsets_of
from lisdata.encoding.tokenizers import Tokenizer
from lisdata.kernels.arrays import fixed_rows
from lisdata.schema import LabelKind
from lisdata.shards import Part
from lisdata.shards.same_as import SameAs
from lisdata.vocabulary import RoleVocabulary, UnknownRole, cell_role, grid_labels

NONE = -1  # no occurrence, no instance
NO_CONTENT = 0
TOKEN_SIDE = "token"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleTable:
    """By label code of one part: the role's number (0 where the label is none), and whether it marks running text.

    For the label of an instance, `cell_number` holds the role number of a grid's cells, and `token_code` the code of
    its role relation#token, -1 where the part has none.
    """

    number: Int64
    is_token: Bools
    cell_number: Int64
    token_code: Int64

    @classmethod
    def of_part(cls, part: Part, vocabulary: RoleVocabulary, unknown: UnknownRole) -> RoleTable:
        """Number the roles of a part; an unknown one is a LabelError unless `unknown` is "unk"."""
        columns = (part.labels.column(name).to_pylist() for name in ("kind", "label", "side"))
        rows = list(zip(*columns, strict=True))
        number, cell_number = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        is_token = np.zeros(len(rows), bool)
        for code, (kind, label, side) in enumerate(rows):
            if kind == LabelKind.ROLE:
                number[code] = vocabulary.number(label, unknown=unknown)
                is_token[code] = side == TOKEN_SIDE
        for code in grid_labels(part):
            cell_number[code] = vocabulary.number(cell_role(rows[code][1]), unknown=unknown)
        return cls(number=number, is_token=is_token, cell_number=cell_number, token_code=token_codes(part))


def token_codes(part: Part) -> Int64:
    """Return for each label of a part the code of the role relation#token whose relation it spells, -1 for none."""
    columns = (part.labels.column(name).to_pylist() for name in ("kind", "label", "relation", "side"))
    rows = list(zip(*columns, strict=True))
    roles = {row[2]: code for code, row in enumerate(rows) if row[0] == LabelKind.ROLE and row[3] == TOKEN_SIDE}
    return np.array([roles.get(label, -1) for _, label, _, _ in rows], np.int64)


def content_ids(part: Part, same_as: SameAs | None = None) -> Int64:
    """Return the first 8 bytes of each content's key as a big-endian signed number: column `content`.

    With `same_as` it is the key of the content that it is shown as.
    """
    column = part.contents.column("key").combine_chunks()
    keys = fixed_rows(column if same_as is None else same_as.show_array(column))
    return np.ascontiguousarray(keys[:, :8]).view(">i8").reshape(-1).astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpelledContents:
    """The pieces of a part's contents: c has `ids[offsets[c] : offsets[c + 1]]`, none where it was not asked for."""

    offsets: Int64
    ids: npt.NDArray[np.integer]
    num_replaced: int = 0

    @classmethod
    def of_texts(
        cls, num_contents: int, rows: Int64, chunks: Iterable[list[str]], tokenizer: Tokenizer, separator: str
    ) -> SpelledContents:
        """Tokenise the surfaces of contents `rows`, each once."""
        lengths = np.zeros(num_contents, np.int64)
        id_type = np.min_scalar_type(max(tokenizer.vocab_size - 1, 0))
        ids: list[npt.NDArray[np.integer]] = [np.zeros(0, id_type)]
        begin = num_replaced = 0
        for texts in chunks:
            pieces = tokenizer.encode_batch([separator + text for text in texts] if separator else texts)
            lengths[rows[begin : begin + len(texts)]] = np.diff(pieces.offsets)
            ids.append(pieces.ids.astype(id_type))
            begin += len(texts)
            num_replaced += pieces.num_replaced
        return cls(offsets=offsets_of(lengths), ids=np.concatenate(ids), num_replaced=num_replaced)
