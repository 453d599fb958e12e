"""What [train] and [evaluate] may say: defaults, and settings that need or exclude each other."""

from __future__ import annotations

from typing import Any

import pytest

from lisdata.recipe_tables import DATA_KEYS, DataSettings, EvaluateSettings
from lisdata.settings import build_settings


def test_what_is_left_out_has_a_default() -> None:
    assert build_settings(DataSettings, {"data": "loader"}, "train") == DataSettings(
        data="loader", window=None, split=0.9, attend="structure"
    )
    assert build_settings(EvaluateSettings, {"protocol": "loss-by-kind"}, "evaluate") == EvaluateSettings(
        protocol="loss-by-kind", context_lengths=(), batch_size=16, max_windows=None, max_batches=64, beside=None
    )


def test_the_keys_of_the_data_are_told_from_those_of_the_training() -> None:
    assert DATA_KEYS == ("data", "window", "split", "attend", "tag_regime", "withhold", "mask_rate", "held_out")


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (DataSettings, {}, "t needs data"),
        (DataSettings, {"data": "windows"}, "data = windows needs train.window"),
        (DataSettings, {"data": "windows", "window": 0}, "a window of at least 1 token, got 0"),
        (DataSettings, {"data": "loader", "split": 1}, "a split between 0 and 1, got 1.0"),
        (DataSettings, {"data": "loader", "split": 0.0}, "a split between 0 and 1, got 0.0"),
        (DataSettings, {"data": "loader", "mask_rate": 0.0}, "mask_rate above 0 and up to 1, got 0.0"),
        (DataSettings, {"data": "loader", "held_out": 1.0}, "held_out, with data = loader, from 0 to below 1, got 1.0"),
        (DataSettings, {"data": "windows", "window": 4, "held_out": 0.1}, "held_out, with data = loader"),
        (DataSettings, {"data": "loader", "split": float("nan")}, "a split between 0 and 1, got nan"),
        (EvaluateSettings, {"protocol": "perplexity"}, "needs evaluate.context_lengths"),
        (EvaluateSettings, {"protocol": "perplexity", "context_lengths": [0, 4]}, "of at least 1 that divide"),
        (EvaluateSettings, {"protocol": "perplexity", "context_lengths": [3, 4]}, "of at least 1 that divide"),
        (EvaluateSettings, {"protocol": "loss-by-kind", "max_batches": 0}, "max_batches of at least 1, got 0"),
        (EvaluateSettings, {"protocol": "loss-by-kind", "batch_size": -1}, "batch_size of at least 1, got -1"),
        (EvaluateSettings, {"protocol": "loss-by-kind", "beside": "Table 4"}, "beside: expected one of|expected str"),
    ],
)
def test_what_cannot_be_is_refused(kind: type, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_settings(kind, values, "t")
