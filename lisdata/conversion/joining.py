"""Puts small tables of text together: of many small files, most time would else go into converting each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

import numpy as np
import pyarrow as pa

from lisdata.records import ParsedDocument, Records, TextRecords


def is_bare_text(records: Records | ParsedDocument) -> TypeGuard[TextRecords]:
    """Tell whether records are units of text without mentions, fields or contents of their own."""
    return isinstance(records, TextRecords) and not (
        len(records.contents) or len(records.labels) or len(records.mention_content) or len(records.field_content)
    )


def join_texts(texts: Sequence[TextRecords]) -> TextRecords:
    """Return the units of bare texts of one source, one after another, each with its file; one text as it is."""
    if len(texts) == 1:
        return texts[0]
    offsets = np.zeros(sum(text.num_records for text in texts) + 1, np.int64)
    return replace(
        texts[0],
        documents=pa.concat_arrays([text.documents for text in texts]),
        begin=np.concatenate([text.begin for text in texts]),
        end=np.concatenate([text.end for text in texts]),
        mention_offsets=offsets,
        field_offsets=offsets,
        files=tuple(text.file for text in texts for _ in range(text.num_records)),
    )
