"""Threads of torch."""

import torch

from lisdata.torch_threads import one_thread


def test_threads_are_given_back() -> None:
    before = torch.get_num_threads()
    with one_thread():
        assert torch.get_num_threads() == 1

    assert torch.get_num_threads() == before
