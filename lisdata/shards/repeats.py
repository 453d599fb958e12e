"""Records of one input that stand in several datasets: merged as they are they would be there twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lisdata.shards.companions import file_numbers, find_companions
from lisdata.shards.dataset import IncidenceDataset, InputInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """Records, by id, of an input of a dataset that an input of an `earlier` one has too; `is_whole`: all it has."""

    dataset: IncidenceDataset
    info: InputInfo
    earlier: IncidenceDataset
    earlier_info: InputInfo
    record_ids: frozenset[str]
    is_whole: bool

    def __str__(self) -> str:
        where = f"{self.earlier_info.name} of {self.earlier.path}"
        return f"{self.info.name} of {self.dataset.path} is {where} again"


def find_repeats(datasets: Sequence[IncidenceDataset]) -> Iterator[Repeat]:
    """Yield what of each input an earlier dataset has too; two shares of one input have nothing in common."""
    seen: dict[str, list[tuple[IncidenceDataset, InputInfo]]] = {}
    for dataset in datasets:
        for info in dataset.inputs:
            others = seen.setdefault(info.scope, [])
            for earlier, earlier_info in list(others) if info.records["converted"] else ():
                if earlier is dataset:
                    continue
                own = _record_ids(dataset, info.index)
                common = own & _record_ids(earlier, earlier_info.index)
                if common:
                    yield Repeat(
                        dataset=dataset,
                        info=info,
                        earlier=earlier,
                        earlier_info=earlier_info,
                        record_ids=frozenset(common),
                        is_whole=len(common) == len(own),
                    )
            others.append((dataset, info))


def _record_ids(dataset: IncidenceDataset, file_index: int) -> set[str]:
    """Return the ids of the records of an input."""
    found: set[str] = set()
    for part in dataset.parts:
        if file_index in part.inputs:
            ids = pa.chunked_array(
                [batch.column("record_id") for batch in part.iter_batches("structures", ("record_id",))],
                pa.large_string(),
            )
            is_record = (file_numbers(part) == file_index) & ~find_companions(dataset, part)
            found.update(ids.filter(pa.array(is_record)).to_pylist())
    return found
