"""How well an order mixes the rows of a dataset: neighbours, files in a window, places in the epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from lisdata.loader.buckets import BucketOrder
from lisdata.loader.order import Shuffle, order_of
from lisdata.token_shards.dataset import TokenDataset

Int64 = npt.NDArray[np.int64]
Figure = tuple[float, float]  # found, and of a uniform permutation

MAX_ROWS = 1 << 21  # of an epoch that are looked at: stretches of it, evenly spread
_STRETCH = 1 << 13
_NUM_TENTHS, _NUM_CELLS, _NUM_POINTS, _NUM_RANDOM_BATCHES = 10, 16, 4000, 2000


def report_shuffle(
    dataset: TokenDataset,
    *,
    shuffle: Shuffle = True,
    window: int | None = None,
    bucket: int | None = None,
    seed: int = 0,
    epoch: int = 0,
    batch_size: int = 64,
) -> dict[str, Any]:
    """Return figures of the order that a `Loader` of these settings has, each beside that of uniform permutations.

    `neighbour_distance`: mean of |row - row before| as a share of the rows. `adjacent_neighbours`: share of rows that
    come next to one they are stored next to. `largest_part_share`: mean over batches of the share that one file (part)
    has in a batch, or where there is one file alone, a tenth of it (`parts`). `chi_square`: of 16 x 16 counts, place
    in the epoch against place in the dataset, per degree of freedom; below 1 is more even than chance.
    `epoch_correlation`: of the rows at one place in this epoch and in the next. `points` are some [place, row].
    Of large datasets 2 ** 21 rows are looked at (`rows_seen`): stretches of the epoch, evenly spread.
    """
    if batch_size < 1:
        raise ValueError(f"expected a batch size of at least 1, got {batch_size}")
    num_rows = len(dataset)
    order = order_of(num_rows, shuffle=shuffle, window=window, seed=seed)
    if bucket is not None:
        order = BucketOrder(base=order, dataset=dataset, size=bucket, seed=seed)
    facts = {"rows": num_rows, "order": order.settings, "epoch": epoch, "batch_size": batch_size}
    if num_rows < 2:
        return facts | {"rows_seen": 0, "parts": "no parts", "figures": {}, "points": []}
    places = _places(num_rows)
    rows = [order.rows(stretch, epoch) for stretch in places]
    following = [order.rows(stretch, epoch + 1) for stretch in places]
    bounds, parts = _part_bounds(dataset)
    every_place, every_row = np.concatenate(places), np.concatenate(rows)
    figures = {
        **_neighbours(rows, num_rows),
        "largest_part_share": _largest_shares(rows, bounds, batch_size),
        "chi_square": (_chi_square(every_place, every_row, num_rows), 1.0),
        "epoch_correlation": (_correlation(every_row, np.concatenate(following)), 0.0),
    }
    shown = np.linspace(0, len(every_row) - 1, min(len(every_row), _NUM_POINTS)).astype(np.int64)
    return facts | {
        "rows_seen": len(every_row),
        "parts": f"{len(bounds) - 1:,} {parts}",
        "figures": {name: {"found": found, "uniform": uniform} for name, (found, uniform) in figures.items()},
        "points": np.stack((every_place[shown], every_row[shown]), axis=1).tolist(),
    }


def _places(num_rows: int) -> list[Int64]:
    """Return stretches of an epoch: all of it, or evenly spread ones."""
    num_stretches = -(-num_rows // _STRETCH)
    kept = np.unique(np.linspace(0, num_stretches - 1, min(num_stretches, MAX_ROWS // _STRETCH)).astype(np.int64))
    return [np.arange(n * _STRETCH, min((n + 1) * _STRETCH, num_rows)) for n in kept.tolist()]


def _part_bounds(dataset: TokenDataset) -> tuple[Int64, str]:
    """Return where the rows of each file begin, and the last ones end; of equal stretches where there is one file."""
    sizes = [part["num_rows"] for part in dataset.manifest["parts"] if part["num_rows"]]
    if len(sizes) < 2:
        num_stretches = min(_NUM_TENTHS, len(dataset))
        return np.linspace(0, len(dataset), num_stretches + 1).astype(np.int64), "stretches of one file"
    return np.concatenate(([0], np.cumsum(sizes))), "files"


def _neighbours(rows: list[Int64], num_rows: int) -> dict[str, Figure]:
    distances = np.abs(np.concatenate([np.diff(stretch) for stretch in rows]))
    return {
        "neighbour_distance": (float(distances.mean() / num_rows), (num_rows + 1) / (3 * num_rows)),
        "adjacent_neighbours": (float((distances == 1).mean()), 2 / num_rows),
    }


def _largest_shares(rows: list[Int64], bounds: Int64, batch_size: int) -> Figure:
    """Return the mean share of a batch that its most frequent file has, and that of random batches of as many rows."""
    size = min(batch_size, len(rows[0]))
    num_files = len(bounds) - 1
    shares: list[Int64] = []
    for stretch in rows:
        whole = stretch[: len(stretch) // size * size]
        files = np.searchsorted(bounds, whole, side="right") - 1
        for begin in range(0, len(files), size):
            shares.append(np.bincount(files[begin : begin + size], minlength=num_files).max())
    random = np.random.default_rng(0).multinomial(size, np.diff(bounds) / bounds[-1], _NUM_RANDOM_BATCHES)
    return float(np.mean(shares) / size), float(random.max(axis=1).mean() / size)


def _chi_square(places: Int64, rows: Int64, num_rows: int) -> float:
    cells = min(_NUM_CELLS, num_rows)
    place, row = places * cells // num_rows, rows * cells // num_rows
    counts = np.bincount(place * cells + row, minlength=cells * cells).reshape(cells, cells)
    expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
    is_seen = expected > 0
    chi_square = ((counts - expected)[is_seen] ** 2 / expected[is_seen]).sum()
    return float(chi_square / max(1, (cells - 1) ** 2))


def _correlation(first: Int64, second: Int64) -> float:
    return float(np.corrcoef(first, second)[0, 1])
