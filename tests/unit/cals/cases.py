"""Streams of temporal tuples, and both forms of shedding over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeVar, get_args

from hypothesis import strategies as st

from backend.operators.network.shedding.accuracy import AccuracyMetric
from backend.operators.network.shedding.candidates import drop_rank
from backend.operators.network.shedding.options import RhoBasis, ShedAlgorithm, ShedOptions
from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.slides import WindowExtent
from backend.operators.network.shedding.temporal import AnswerShape, TemporalTuple, ValidCondition
from tests.oracles.cals_shedding import SlowShedding

T = TypeVar("T")
ALGORITHMS: Final[tuple[ShedAlgorithm, ...]] = get_args(ShedAlgorithm)
#: As large as any window of a test.
ALL: Final = WindowExtent("rows", 1000)
#: NULL among the values.
VALUES: Final = ((1,), (2,), (None,))
#: Card B4.
B4: Final = tuple(
    TemporalTuple(k, (value,), start, end)
    for k, (value, start, end) in enumerate(
        [(80, 0, 2), (80, 2, 5), (80, 5, 6), (90, 6, 10), (85, 10, 12)], 1
    )
)


def lengthy(rows: st.SearchStrategy[T], most: int) -> st.SearchStrategy[list[T]]:
    """Short lists for what is at the edges, and long ones in which something happens."""
    return st.one_of(
        st.lists(rows, min_size=1, max_size=min(6, most)),
        st.lists(rows, min_size=most // 2, max_size=most),
    )


@st.composite
def contiguous(draw: st.DrawFn, most: int = 30) -> list[TemporalTuple]:
    """Each tuple begins where the one before ends; values repeat often."""
    rows = st.tuples(st.sampled_from(VALUES), st.integers(1, 4))
    now, tuples = 0, []
    for k, (values, length) in enumerate(draw(lengthy(rows, most)), 1):
        tuples.append(TemporalTuple(k, values, now, now + length))
        now += length
    return tuples


@st.composite
def overlapping(draw: st.DrawFn, most: int = 30) -> list[TemporalTuple]:
    """Of several sources: starts that tie, gaps, tuples that cover others; starts go up, or, now
    and then, back."""
    rows = st.tuples(st.sampled_from(VALUES), st.integers(-2, 3), st.integers(1, 9))
    back = draw(st.booleans())
    now, tuples = 0, []
    for k, (values, step, length) in enumerate(draw(lengthy(rows, most)), 1):
        now += step if back else max(0, step)
        tuples.append(TemporalTuple(k, values, now, now + length))
    return tuples


def streams(most: int = 30) -> st.SearchStrategy[list[TemporalTuple]]:
    """Both kinds."""
    return st.one_of(contiguous(most), overlapping(most))


def extents() -> st.SearchStrategy[WindowExtent]:
    """Windows by arrivals and by start, sliding."""
    return st.builds(
        WindowExtent, st.sampled_from(["rows", "range"]), st.integers(1, 20), st.integers(1, 4)
    )


class ShedCase(NamedTuple):
    """How a stream is shed. turns: of the limit, before an arrival. opens: arrivals that are open
    until the one after next."""

    algorithm: ShedAlgorithm
    extent: WindowExtent
    limit: int
    basis: RhoBasis = "exact"
    weight: float = 1.0
    metric: AccuracyMetric = "R1"
    low_water: float = 1.0
    protects: bool = True
    least: int = 0
    turns: tuple[tuple[int, int], ...] = ()
    opens: frozenset[int] = frozenset()

    @property
    def options(self) -> ShedOptions:
        """Of the product."""
        return ShedOptions(
            self.algorithm,
            self.limit,
            self.basis,
            self.weight,
            self.low_water,
            self.metric,
            newest_protected=self.protects,
        )

    @property
    def answer(self) -> AnswerShape:
        """Lengths from ``least`` on."""
        return AnswerShape(None, ValidCondition(self.least))

    def slow(self) -> SlowShedding:
        """The twin."""
        return SlowShedding(
            self.algorithm,
            self.limit,
            basis=self.basis,
            weight=self.weight,
            metric=self.metric,
            low_water=self.low_water,
            protects=self.protects,
            least=self.least,
            hash=lambda number: -drop_rank(number, 0),
        )


def shed_cases(algorithms: Sequence[ShedAlgorithm] = ALGORITHMS) -> st.SearchStrategy[ShedCase]:
    """Of these algorithms; weights that fractions and floats agree on."""
    return st.builds(
        ShedCase,
        st.sampled_from(algorithms),
        extents(),
        st.integers(1, 9),
        st.sampled_from(["exact", "memory"]),
        st.sampled_from([0.0, 0.25, 1.0, 2.0]),
        st.sampled_from(["R1", "R2", "R3"]),
        st.sampled_from([1.0, 1.0, 0.7, 0.1]),
        st.booleans(),
        st.sampled_from([0, 3, 8]),
        st.lists(st.tuples(st.integers(1, 20), st.integers(0, 9)), max_size=3).map(tuple),
        st.frozensets(st.integers(1, 25), max_size=4),
    )


class ShedPlay(NamedTuple):
    """After an arrival: what was dropped with it, and both forms."""

    dropped: list[int]
    wanted: list[int]
    fast: SheddingWindow
    slow: SlowShedding


def play(case: ShedCase, stream: Iterable[TemporalTuple]) -> Iterable[ShedPlay]:
    """Both forms side by side, arrival by arrival."""
    fast, slow = SheddingWindow(case.options, case.extent, case.answer), case.slow()
    turns = dict(case.turns)
    for new in stream:
        dropped, wanted = [], []
        if new.number in turns:
            slow.limit = turns[new.number]
            turned = fast.options._replace(memory_tuples=slow.limit)
            dropped += fast.turn(turned)
            wanted += slow.shed()
        closing = new.number - 2
        if closing in slow.open:
            slow.open.discard(closing)
            dropped += fast.extend(closing, fast.memory.tuple_of(closing).end)
            wanted += slow.shed()
        dropped += fast.arrive(new, new.number in case.opens)
        wanted += slow.arrive(new, leaves(case.extent, new), new.number in case.opens)
        yield ShedPlay([receipt.dropped.number for receipt in dropped], wanted, fast, slow)


def leaves(extent: WindowExtent, new: TemporalTuple) -> Callable[[Any], bool]:
    """Whether a tuple is out of the window that ``new`` moves, from the definition."""
    is_rows = extent.kind == "rows"
    now = new.number if is_rows else new.start
    moved = now - now % extent.slide

    def is_out(one: Any) -> bool:
        if is_rows:
            return bool(one[0] <= moved - extent.size)
        return bool(one[2] < moved - extent.size)

    return is_out
