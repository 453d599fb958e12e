"""Which instance a token belongs to, where it ends, and what its content address is made of."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from lisdata.models.instances import ContentAddress, instance_layout, line_layout
from lisdata.models.rotary import rotate, turn

ROW = st.lists(st.tuples(st.integers(0, 1), st.integers(-1, 3)), min_size=1, max_size=12)


@given(st.lists(ROW, min_size=1, max_size=3))
def test_an_instance_ends_at_its_last_token_in_row_and_document(rows: list[list[tuple[int, int]]]) -> None:
    length = max(map(len, rows))
    rows = [row + [(-1, 0)] * (length - len(row)) for row in rows]
    document, instance = torch.tensor(rows).unbind(-1)

    layout = instance_layout(instance, document)

    for r, row in enumerate(rows):
        for t, key in enumerate(row):
            end = max(s for s, other in enumerate(row) if other == key)
            assert layout.last[r, t] == (length if key[1] < 0 else end)
    keys = [(r, *key) for r, row in enumerate(rows) for key in row]
    assert len(set(zip(keys, layout.group.flatten().tolist(), strict=True))) == len(set(keys))
    assert int(layout.group.max()) + 1 == layout.num_groups == len(set(keys))


@given(st.lists(st.text("ab\n", min_size=8, max_size=8), min_size=1, max_size=3))
def test_lines_end_with_their_newline_and_the_last_one_never_completes(rows: list[str]) -> None:
    layout, position = line_layout(torch.tensor([list(row.encode()) for row in rows]), ord("\n"))

    for r, row in enumerate(rows):
        begin = 0
        for line in row.splitlines(keepends=True):
            tokens = range(begin, begin + len(line))
            assert position[r, tokens].tolist() == list(range(len(line)))
            end = tokens[-1] if line.endswith("\n") else len(row)
            assert set(layout.last[r, tokens].tolist()) == {end}
            assert len(set(layout.group[r, tokens].tolist())) == 1
            begin += len(line)
    assert len(layout.group.unique()) == sum(len(row.splitlines()) for row in rows)


def test_a_content_address_is_a_projection_of_the_mean_rotated_embedding() -> None:
    torch.manual_seed(0)
    embedded, rotation = torch.randn(1, 4, 6), turn(torch.randn(1, 4, 3))
    address = ContentAddress(6)

    angles = address(embedded, rotation, instance_layout(torch.tensor([[0, 1, 0, 1]]), None))

    rotated = rotate(embedded, rotation)[0]
    expected = [address.projection(address.norm(rotated[part].mean(0))) for part in ([0, 2], [1, 3])]
    torch.testing.assert_close(angles[0], torch.stack([expected[0], expected[1]] * 2))
