"""Small helpers about numbers that may be unknown (None or NaN)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dashboard.components.formats import Format, with_mu
from storage.tables.rows import SeriesData

T = TypeVar("T")
#: Standard errors to either side of a 95 % interval.
Z_95: Final = 1.96
#: Values an interval takes at least.
FEWEST: Final = 5
#: How values of a unit are written.
FORMS: dict[str, Format] = {
    "prob": "pct",
    "tuples": "int",
    "tuples/s": "si",
    "bytes": "bytes",
    "number": "si",
    "ms": "ms",
    "visits/tuple": "f2",
    "decisions": "int",
    "observations": "int",
    "us/tuple": "f2",
    "elements/us": "f3",
    "visits": "int",
    "orders": "int",
    "row groups": "int",
    "batches": "int",
    "": "f3",
}


def known(value: float | None) -> bool:
    """Whether there is a value at all."""
    return value is not None and not math.isnan(value)


def points_of(
    series: Mapping[tuple[str, str], SeriesData], entity: str
) -> Iterator[tuple[int, float, dict[str, float]]]:
    """Batch by batch, oldest first, its time and the known values of an entity by property."""
    times: dict[int, float] = {}
    values: dict[int, dict[str, float]] = {}
    own = {name: data for (id, name), data in series.items() if id == entity}
    for name, data in own.items():
        columns = data.batch.tolist(), data.time.tolist(), data.value.tolist()
        for batch, time, value in zip(*columns, strict=True):
            times[batch], there = time, values.setdefault(batch, {})
            there |= {name: value} if known(value) else {}
    return ((batch, times[batch], values[batch]) for batch in sorted(times))


def mean_of(values: NDArray[np.float64]) -> float:
    """Of those that are known, 0 without any."""
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else 0.0


def rounded(value: float | None) -> float | int | None:
    """The value with four significant digits, whole numbers exactly; None when unknown."""
    if value is None or not math.isfinite(value):
        return None
    short = value if float(value).is_integer() else float(f"{value:.4g}")
    return int(short) if float(short).is_integer() and abs(short) < 1e15 else short


def thinned(points: Sequence[T], most: int) -> list[T]:
    """At most so many of the points, evenly spread, the newest among them."""
    step = max(1, -(-len(points) // most))
    return list(points[(len(points) - 1) % step :: step])


def form_of(unit: str) -> Format:
    """How a value of this unit is written."""
    return FORMS.get(unit, "f2")


def shown_unit(unit: str) -> str:
    """The unit to print beside the written value: '' where the form carries it."""
    return "" if unit in ("prob", "ms", "number", "bytes") else with_mu(unit)


class MeanInterval(NamedTuple):
    """A weighted mean with its 95 % confidence interval."""

    mean: float
    low: float
    high: float


def mean_interval(weighted: Sequence[tuple[float, float]]) -> MeanInterval | None:
    """Mean of (value, weight) and its interval, the values being independent; None for few."""
    total = sum(weight for _, weight in weighted)
    if len(weighted) < FEWEST or total <= 0:
        return None
    mean = sum(value * weight for value, weight in weighted) / total
    spread = math.sqrt(sum((weight * (value - mean)) ** 2 for value, weight in weighted)) / total
    n = len(weighted)
    half = Z_95 * spread * math.sqrt(n / (n - 1))
    return MeanInterval(mean, mean - half, mean + half)


def pooled_interval(series: SeriesData) -> MeanInterval | None:
    """Mean of all values behind the points of a series and its interval; None for few values.

    Where points are many values each and too few to tell how far these scatter, the interval is as
    wide as the extremes of the points allow.
    """
    has = series.n > 0
    values, n = series.value[has], series.n[has].astype(np.float64)
    total = float(n.sum())
    if len(values) >= FEWEST or total < FEWEST:
        return mean_interval(list(zip(values.tolist(), n.tolist(), strict=True)))
    mean = float(np.average(values, weights=n))
    within = (series.high[has] - values) * (values - series.low[has])
    squares = float((n * ((values - mean) ** 2 + within)).sum())
    half = Z_95 * math.sqrt(squares / (total - 1) / total)
    return MeanInterval(mean, mean - half, mean + half)


def share_interval(part: float, whole: float) -> tuple[float, float]:
    """The 95 % interval of a share that was seen as ``part`` of ``whole`` independent cases, after
    Wilson; all there can be for no case."""
    if whole <= 0:
        return 0.0, 1.0
    share, z2 = part / whole, Z_95**2
    middle = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    half = Z_95 * math.sqrt(share * (1 - share) / whole + z2 / (4 * whole**2)) / (1 + z2 / whole)
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))
