from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from lisdata.content_columns import ContentColumns
from lisdata.contents import ContentBuilder, LabelBuilder
from lisdata.schema import NO_ROW, ContentKind

TEXTS = st.none() | st.text(st.sampled_from("ab é\0"), max_size=2)
COLUMNS = st.lists(
    st.tuples(
        st.sampled_from([ContentKind.ENTITY, ContentKind.LITERAL]),
        st.lists(TEXTS, max_size=6),
        st.sampled_from([None, "d", "e"]),
        st.sampled_from([None, "s"]),
    ),
    max_size=6,
)


@given(COLUMNS)
@settings(deadline=None)
def test_columns_give_the_contents_that_one_by_one_gives(
    columns: list[tuple[ContentKind, list[str | None], str | None, str | None]],
) -> None:
    gathered = ContentColumns(LabelBuilder())
    numbers = [
        gathered.add(kind, pa.array(texts, pa.large_string()), datatype=datatype, scope=scope)
        for kind, texts, datatype, scope in columns
    ]
    contents, rows = gathered.finish()

    builder = ContentBuilder(LabelBuilder())
    for (kind, texts, datatype, scope), number in zip(columns, numbers, strict=True):
        for text, row in zip(texts, rows[number].tolist(), strict=True):
            if text is None:
                assert row == NO_ROW
                continue
            expected = builder.add(kind, text.encode(), datatype, None, scope)
            assert contents["key"][row] == builder.to_arrow()["key"][expected]
            assert contents["lexical"][row].as_py() == text.encode()
    assert sorted(contents["key"].to_pylist()) == sorted(builder.to_arrow()["key"].to_pylist())


def test_no_columns_give_no_contents() -> None:
    contents, rows = ContentColumns(LabelBuilder()).finish()

    assert (contents.num_rows, rows) == (0, [])
