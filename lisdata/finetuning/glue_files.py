"""GLUE's files: tab-separated as they are handed out, without quoting, or CSV; plain or compressed."""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from lisdata.errors import Place, SchemaError
from lisdata.evaluation.text_lines import iter_lines
from lisdata.finetuning.glue_tasks import GlueTask
from lisdata.finetuning.prediction_metrics import Numbers

_SUFFIXES = (".tsv", ".tsv.gz", ".csv", ".csv.gz")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examples:
    """The examples of a split: `texts` hold the one text or the two of each, `labels` (N) classes or float64 numbers.

    `num_left_out` rows lacked columns.
    """

    texts: tuple[tuple[str, ...], ...]
    labels: Numbers
    num_left_out: int = 0

    def __len__(self) -> int:
        return len(self.texts)

    def sha256(self) -> str:
        """Return the SHA-256 of texts and labels, whatever files they were read from."""
        return hashlib.sha256(orjson.dumps([self.texts, self.labels.tolist()])).hexdigest()


def find_task_folder(data: Path, task: GlueTask) -> Path:
    """Return the folder of a task's files: below `data` under GLUE's name or the task's, else `data` itself.

    Raises SchemaError where neither has a file to train on.
    """
    folders = [data / task.folder, data / task.name, data]
    found = next((folder for folder in folders if _find_file(folder, "train") is not None), None)
    if found is None:
        raise SchemaError(f"{data}: expected {task.folder}/train.tsv, found none")
    return found


def read_split(task: GlueTask, folder: Path, split: str) -> Examples:
    """Return the examples of a file such as train.tsv in the task's folder.

    Raises SchemaError with file and line for a label that the task does not have, a row without its columns (but see
    `GlueTask`), text that is not UTF-8, and where the file is not there or holds no example.
    """
    path = _find_file(folder, split)
    if path is None:
        raise SchemaError(f"{folder}: expected {split}{_SUFFIXES[0]}, found none")
    rows = _iter_rows(path)
    columns = _find_columns(task, path, next(rows, None) if task.has_header else None)
    texts: list[tuple[str, ...]] = []
    labels: list[float] = []
    num_left_out = 0
    for place, row in rows:
        if len(row) <= max(columns):
            if not task.has_short_rows:
                raise SchemaError(f"{place}: expected {1 + max(columns)} columns, found {len(row)}")
            num_left_out += 1
            continue
        *own, label = (row[column] for column in columns)
        texts.append(tuple(own))
        labels.append(_read_label(task, label, place))
    if not texts:
        raise SchemaError(f"{path}: expected examples, found none")
    kind = np.int64 if task.classes else np.float64
    return Examples(texts=tuple(texts), labels=np.array(labels, kind), num_left_out=num_left_out)


def _find_file(folder: Path, split: str) -> Path | None:
    return next((path for suffix in _SUFFIXES if (path := folder / f"{split}{suffix}").is_file()), None)


def _iter_rows(path: Path) -> Iterator[tuple[Place, list[str]]]:
    """Yield the rows of a file; of one that is tab-separated a quotation mark is a mark like others."""
    is_csv = path.name.removesuffix(".gz").endswith(".csv")
    for place, line in iter_lines(path):
        try:
            text = line.decode("utf-8-sig" if place.line == 1 else "utf-8").rstrip("\r")
        except UnicodeDecodeError as error:
            raise SchemaError(f"{place}: expected UTF-8, found {error}") from error
        yield place, next(csv.reader([text])) if is_csv else text.split("\t")


def _find_columns(task: GlueTask, path: Path, header: tuple[Place, list[str]] | None) -> list[int]:
    """Return the columns of the texts and, last, of the label."""
    if not task.has_header:
        return [column for names in (*task.texts, task.label) for column in names if isinstance(column, int)]
    found = [] if header is None else header[1]
    return [_find_column(names, found, path) for names in (*task.texts, task.label)]


def _find_column(names: Sequence[str | int], header: Sequence[str], path: Path) -> int:
    for number, name in enumerate(header):
        if name.strip() in names:
            return number
    wanted = " or ".join(map(str, names))
    raise SchemaError(f"{path}:1: expected a column {wanted}, found {', '.join(header) or 'nothing'}")


def _read_label(task: GlueTask, text: str, place: Place) -> float:
    text = text.strip()
    if task.classes:
        if text not in task.classes:
            raise SchemaError(f"{place}: expected a label out of {', '.join(task.classes)}, found {text!r}")
        return task.classes[text]
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SchemaError(f"{place}: expected a number, found {text!r}")
    return value
