"""Two stretches of runs side by side: numbers, plans, and decisions that only one of them took.

A stretch is (run, first batch, last batch). Two of them are laid over each other batch by batch
from their beginnings, or by the time of the stream they read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dashboard.base.face import told
from dashboard.components.names import named
from dashboard.views.effects import KnobEffect, changed
from dashboard.views.numbers import MeanInterval, known, pooled_interval
from storage.tables.rows import DecisionEntry, SeriesData
from storage.vocabulary.records import Batch, PlanVersion, Run

#: property of the engine -> (words, unit, smaller is better; None = neither)
NUMBERS: Final[Mapping[str, tuple[str, str, bool | None]]] = {
    "visits_per_tuple": ("Visits per tuple", "visits/tuple", True),
    "dropping_ratio": ("Dropping ratio d", "share of tuples", None),
    "tuples_per_s": ("Throughput", "tuples/s", False),
    "batch_ms": ("Batch time", "ms", True),
}
BY_BATCH, BY_TIME = "batch", "time"
_PARTS: Final = "~"


#: Where a batch is laid, None: nowhere.
Places: TypeAlias = Callable[[int], float | str | None]
#: First and last batch.
Ends: TypeAlias = tuple[int, int]


class ComparedStretch(NamedTuple):
    """Batches first..last of a run. last None: up to its newest."""

    run: str
    first: int = 0
    last: int | None = None

    def holds(self, batch: int) -> bool:
        """Whether the batch is in it."""
        return self.first <= batch and (self.last is None or batch <= self.last)


class ComparedPair(NamedTuple):
    """What the address asks for. branch: ``knob=value`` of the other future, or ''; log: two
    statistics and a plan log as that of the Plan log page, or ''."""

    a: ComparedStretch
    b: ComparedStretch
    align: str = BY_BATCH
    branch: str = ""
    log: str = ""


class CommonPart(NamedTuple):
    """What two stretches have in common, over which all numbers are taken.

    first, last: places; a, b: the batches of each that lie there. unlike: one of the stretches goes
    on where the other does not.
    """

    first: float | str
    last: float | str
    a: ComparedStretch
    b: ComparedStretch
    unlike: bool


class ComparedLine(NamedTuple):
    """A property of both stretches over batches since their begin (or the stream's time).

    x: places; a, b: values there, None = unknown. mean_a, mean_b: over what both have, None = not
    known. change: of the mean from A to B.
    """

    property: str
    words: str
    unit: str
    x: list[float | str]
    a: list[float | None]
    b: list[float | None]
    mean_a: float | None
    mean_b: float | None
    change: KnobEffect
    tone: str


class ComparedPlan(NamedTuple):
    """The plans at the end of both stretches of one unit, as the names in their orders.

    kinds: '' where there is no plan. moved: names at another place; only_a, only_b: names the other
    does not have.
    """

    unit: str
    kinds: tuple[str, str]
    a: list[str]
    b: list[str]
    moved: frozenset[str]
    only_a: frozenset[str]
    only_b: frozenset[str]


class ComparedDecision(NamedTuple):
    """A switch. side: 'A', 'B' or 'both'; batch: in its run, of A where both have it."""

    side: str
    unit: str
    batch: int
    seq: int
    words: str


def parse(show: str | None, run: str, other: str, now: int | None) -> ComparedPair:
    """What ``show`` asks for: ``run,first,last~run,first,last~time``, then a branch and a plan log;
    without one the run beside another one, or its first half beside its second."""
    parts = (show or "").split(_PARTS)
    if len(parts) >= 2:
        align = parts[2] if len(parts) > 2 and parts[2] == BY_TIME else BY_BATCH
        branch = parts[3] if len(parts) > 3 else ""
        sides = _stretch(parts[0], run), _stretch(parts[1], run)
        return ComparedPair(*sides, align, branch, _PARTS.join(parts[4:]))
    if other:
        return ComparedPair(ComparedStretch(other), ComparedStretch(run))
    half = (now or 0) // 2
    return ComparedPair(ComparedStretch(run, 0, half), ComparedStretch(run, half + 1))


def _stretch(text: str, run: str) -> ComparedStretch:
    name, _, rest = text.partition(",")
    first, _, last = rest.partition(",")
    return ComparedStretch(name or run, _whole(first) or 0, _whole(last))


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def address(asked: ComparedPair) -> str:
    """The ``show`` of what is asked for."""
    sides = (f"{s.run},{s.first},{'' if s.last is None else s.last}" for s in (asked.a, asked.b))
    return _PARTS.join((*sides, asked.align, asked.branch, asked.log)).rstrip(_PARTS)


def before_log(asked: ComparedPair) -> str:
    """The ``show`` up to the plan log."""
    return _PARTS.join((address(asked._replace(branch="", log="")), asked.branch, ""))


def ends_of(side: ComparedStretch, first: int | None, last: int | None) -> Ends | None:
    """First and last batch that a stretch has of its run's; None without any. first, last: of the
    run."""
    if first is None or last is None:
        return None
    ends = max(side.first, first), last if side.last is None else min(side.last, last)
    return ends if ends[0] <= ends[1] else None


def common_by_batch(
    asked: ComparedPair, ends: tuple[Ends | None, Ends | None]
) -> CommonPart | None:
    """What both have, laid by batch. ends: as ends_of() tells them."""
    (side_a, side_b), (a, b) = (asked.a, asked.b), ends
    if a is None or b is None:
        return None
    laid = (a[0] - side_a.first, a[1] - side_a.first), (b[0] - side_b.first, b[1] - side_b.first)
    first, last = max(laid[0][0], laid[1][0]), min(laid[0][1], laid[1][1])
    if first > last:
        return None
    parts = [
        side._replace(first=side.first + first, last=side.first + last) for side in (side_a, side_b)
    ]
    return CommonPart(first, last, parts[0], parts[1], laid[0] != laid[1])


def common_by_time(
    asked: ComparedPair, batches: tuple[Sequence[Batch], Sequence[Batch]]
) -> CommonPart | None:
    """What both have, laid by the time of the stream."""
    timed = [
        {batch.id or 0: batch.stream_time for batch in side if batch.stream_time}
        for side in batches
    ]
    if not all(timed):
        return None
    first = max(min(times.values()) for times in timed)
    last = min(max(times.values()) for times in timed)
    inside = [[batch for batch, at in times.items() if first <= at <= last] for times in timed]
    if not all(inside):
        return None
    parts = [
        side._replace(first=min(ids), last=max(ids))
        for side, ids in zip((asked.a, asked.b), inside, strict=True)
    ]
    unlike = [len(ids) for ids in inside] != [len(times) for times in timed]
    return CommonPart(first, last, parts[0], parts[1], unlike)


def aligned(
    name: str,
    series: tuple[SeriesData | None, SeriesData | None],
    places: tuple[Places, Places],
    counted: tuple[SeriesData | None, SeriesData | None],
) -> ComparedLine | None:
    """Both series over common places; None when neither has a value. places: batch -> place.

    counted: the same property over what both have, from which means and their change are taken:
    what only the longer one went through says nothing about the other.
    """
    words, unit, smaller = NUMBERS[name] if name in NUMBERS else told("compared")[name]
    sides = [_by_place(data, place) for data, place in zip(series, places, strict=True)]
    if all(value is None for side in sides for value in side.values()):
        return None
    x = sorted({*sides[0], *sides[1]}, key=lambda place: (isinstance(place, str), place))
    n = min(0 if data is None else int(data.n.sum()) for data in counted)
    change = changed(_interval(counted[0]), _interval(counted[1]), n)
    return ComparedLine(
        name,
        words,
        unit,
        x,
        [sides[0].get(place) for place in x],
        [sides[1].get(place) for place in x],
        _mean(counted[0]),
        _mean(counted[1]),
        change,
        _tone(change, smaller),
    )


def _mean(series: SeriesData | None) -> float | None:
    """Over all batches, however many lie behind a point."""
    if series is None or not series.n.any():
        return None
    has = series.n > 0
    return float(np.average(series.value[has], weights=series.n[has]))


def _interval(series: SeriesData | None) -> MeanInterval | None:
    return None if series is None else pooled_interval(series)


def _tone(change: KnobEffect, smaller: bool | None) -> str:
    share = change.share
    if share is None or smaller is None or share.low <= 0 <= share.high:
        return "quiet"
    return "ok" if (share.mean < 0) == smaller else "warning"


def _by_place(series: SeriesData | None, places: Places) -> dict[float | str, float | None]:
    if series is None:
        return {}
    values: dict[float | str, float | None] = {}
    batches: NDArray[np.int64] = series.batch
    for batch, value in zip(batches.tolist(), series.value.tolist(), strict=True):
        place = places(batch)
        if place is not None:
            values[place] = float(value) if known(value) else None
    return values


def by_batch(first: int) -> Places:
    """Batches are laid by their number since the first one of their stretch."""
    return lambda batch: batch - first


def by_time(batches: Iterable[Batch]) -> Places:
    """Batches are laid by the time of the stream; those that have none are left out."""
    times = {batch.id: batch.stream_time for batch in batches if batch.stream_time}
    return times.get


def plan_difference(
    unit: str, a: PlanVersion | None, b: PlanVersion | None, names: Mapping[str, str]
) -> ComparedPlan:
    """Both plans by the names in their orders. names: entity -> name."""
    orders = [[names.get(id, id) for id in plan.order] if plan else [] for plan in (a, b)]
    left, right = orders
    common = set(left) & set(right)
    moved = {
        name
        for name in common
        if [n for n in left if n in common].index(name)
        != [n for n in right if n in common].index(name)
    }
    kinds = (a.kind if a else "", b.kind if b else "")
    only = frozenset(left) - common, frozenset(right) - common
    return ComparedPlan(unit, kinds, left, right, frozenset(moved), *only)


def decision_difference(
    a: Sequence[DecisionEntry], b: Sequence[DecisionEntry], firsts: tuple[int, int]
) -> list[ComparedDecision]:
    """Switches of both stretches by place. Two are the same when unit and new order are, the n-th
    of its kind in A being the n-th in B. firsts: first batches of the stretches."""
    left = [(_key(entry), entry) for entry in _oldest_first(a)]
    right = [(_key(entry), entry) for entry in _oldest_first(b)]
    waiting: dict[tuple[str, str], int] = {}
    for key, _ in right:
        waiting[key] = waiting.get(key, 0) + 1
    lines = []
    shared: dict[tuple[str, str], int] = {}
    for key, switch in left:
        both = waiting.get(key, 0) > shared.get(key, 0)
        shared[key] = shared.get(key, 0) + both
        lines.append(
            (switch.decision.batch - firsts[0], _line("both" if both else "A", key, switch))
        )
    for key, switch in right:
        if shared.get(key, 0) > 0:
            shared[key] -= 1
        else:
            lines.append((switch.decision.batch - firsts[1], _line("B", key, switch)))
    return [line for _, line in sorted(lines, key=lambda pair: pair[0])]


def _oldest_first(entries: Sequence[DecisionEntry]) -> list[DecisionEntry]:
    switched = [entry for entry in entries if entry.decision.verdict == "switched"]
    return sorted(switched, key=lambda entry: (entry.decision.batch, entry.decision.seq))


def _key(entry: DecisionEntry) -> tuple[str, str]:
    new = entry.decision.new
    order = new.get("order", new) if isinstance(new, Mapping) else new
    words = " → ".join(str(name) for name in order) if isinstance(order, list | tuple) else ""
    return entry.decision.unit_id, words


def _line(side: str, key: tuple[str, str], entry: DecisionEntry) -> ComparedDecision:
    words = key[1] or named(entry.decision.explanation)
    return ComparedDecision(side, key[0], entry.decision.batch, entry.decision.seq, words)


def run_words(run: Run | None, stretch: ComparedStretch) -> str:
    """``drift-01, batches 0 … 42``."""
    last = "now" if stretch.last is None else str(stretch.last)
    name = stretch.run if run is None else f"{run.workload} · {run.id}"
    return f"{name}, batches {stretch.first} … {last}"
