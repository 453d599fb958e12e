from __future__ import annotations

import json
from pathlib import Path

import pytest

from lisdata.encoding import load_tokenizer
from lisdata.errors import LisDataError
from lisdata.evaluation.own_tokenizer import check_own_tokenizer


@pytest.fixture
def hf_folder(tmp_path: Path) -> Path:
    """Return a folder that looks like a model of Hugging Face's."""
    folder = tmp_path / "hf"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "roberta"}')
    return folder


@pytest.mark.parametrize("padding", [None, {"strategy": "BatchLongest"}])
def test_the_tokenizer_of_a_folder_of_hugging_face_may_be_written_anew(
    root: Path, hf_folder: Path, padding: dict[str, str] | None
) -> None:
    file = root / "sample_data" / "tokenizer" / "bpe.json"
    content = json.loads(file.read_bytes()) | {"padding": padding, "truncation": {"max_length": 8}}
    (hf_folder / "tokenizer.json").write_text(json.dumps(content, indent=2))

    assert check_own_tokenizer(hf_folder, load_tokenizer(str(file)), file)


def test_another_tokenizer_than_that_of_a_folder_of_hugging_face_is_refused(root: Path, hf_folder: Path) -> None:
    file = root / "sample_data" / "tokenizer" / "bpe.json"
    content = json.loads(file.read_bytes())
    content["model"]["merges"] = content["model"]["merges"][:-1]
    for text in (json.dumps(content), "[]", "{"):
        (hf_folder / "tokenizer.json").write_text(text)

        with pytest.raises(
            LisDataError, match=r"hf: expected the tokenizer that the model was trained with, of sha256"
        ):
            check_own_tokenizer(hf_folder, load_tokenizer(str(file)), file)


def test_a_folder_of_hugging_face_without_a_tokenizer_tells_nothing(root: Path, hf_folder: Path) -> None:
    file = root / "sample_data" / "tokenizer" / "bpe.json"

    assert not check_own_tokenizer(hf_folder, load_tokenizer(str(file)), file)
