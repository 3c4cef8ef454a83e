"""Shedding in arrays against its slow twin: changes, receipts, and what is told of each batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.kinds.shedding import ShedOp
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.relational.keys import KeyTable
from backend.operators.network.shards import making
from backend.operators.network.shedding import curve
from backend.operators.network.shedding.curve import RunSample
from backend.operators.network.shedding.options import ShedAlgorithm, ShedOptions
from backend.operators.network.shedding.receipts import ShedReceipt
from backend.operators.network.shedding.temporal import EVERY_LENGTH, TemporalTuple, ValidCondition
from backend.operators.network.temporal import shed, shed_profile
from backend.operators.network.temporal.shed import ShedOperator
from backend.operators.network.temporal.shed_looks import sample_of
from backend.operators.network.temporal.shed_state import (
    ShedState,
    ShedStateRefused,
    window_extent,
)
from backend.operators.network.temporal.shed_tuning import ShedProfile, ShedTuning
from tests.oracles import shed_operator as slow
from tests.oracles.cql_semantics import Elements
from tests.oracles.run_bytes import run_bytes
from tests.unit.cals.cases import ALGORITHMS
from tests.unit.network.query_runs import Answer, run_plan
from tests.unit.network.test_shed import compiled
from tests.unit.network.test_temporal import SCHEMAS


class Recorded(ShedOperator):
    """Keeps what each batch told of itself."""

    profiles: list[ShedProfile]
    receipts: list[list[ShedReceipt]]
    samples: list[RunSample]

    def run(self, inputs: Any, heartbeat: int) -> Any:
        told = super().run(inputs, heartbeat)
        self.keep()
        self.profiles.append(self.profile())
        self.samples.append(sample_of(self._state, self._groups))
        words = self._groups.words.reshape(-1, self._groups.width)
        rows = [(part, n) for part in self._drops for n in range(len(part.receipts))]
        self.receipts.append([shed_profile._receipt(part, n, words) for part, n in rows])
        return told


@st.composite
def rows_of(draw: st.DrawFn) -> Elements:
    """Tuples of G: a, c, since, until, at ticks; contiguous, or overlapping of several sources."""
    n, is_chain = draw(st.integers(1, 45)), draw(st.booleans())
    values = st.integers(0, draw(st.sampled_from([0, 1, 3])))
    tick, now, rows = 0, 0, []
    for _ in range(n):
        tick += draw(st.sampled_from([0, 1, 1, 2, 5]))
        length = draw(st.integers(1, 6))
        start = now if is_chain else max(0, now + draw(st.integers(-4, 3)))
        rows.append(((draw(values), "x", start, start + length), tick))
        now = start + length if is_chain else start
    return rows


@st.composite
def readings(draw: st.DrawFn) -> Elements:
    """Tuples of K: a, c, k, at ticks; some keys fall silent."""
    tick, rows = 0, []
    values = st.integers(0, draw(st.sampled_from([0, 1, 3])))
    keys = st.integers(0, draw(st.integers(0, 3)))
    for _ in range(draw(st.integers(1, 40))):
        tick += draw(st.sampled_from([0, 0, 1, 1, 2, 5]))
        rows.append(((draw(values), "x", draw(keys)), tick))
    return rows


WINDOWS = ("[Range 0]", "[Range 7]", "[Range 20]", "[Rows 6]", "[Rows 17]", "[Rows 40]",
           "[Range 9 Seconds Slide 4 Seconds]", "[Range 2 Seconds Slide 5 Seconds]")  # fmt: skip


def options() -> st.SearchStrategy[ShedOptions]:
    return st.builds(
        ShedOptions,
        st.sampled_from(ALGORITHMS),
        st.sampled_from([0, 1, 2, 3, 5, 9, 14]),
        st.sampled_from(["exact", "memory"]),
        st.sampled_from([0.0, 0.25, 1.0, 2.0]),
        st.sampled_from([1.0, 1.0, 0.5]),
        st.sampled_from(["R1", "R2", "R3"]),
        st.sampled_from(["exact", "sampled", "off"]),
        st.just(2),
        st.sampled_from([True, True, False]),
        st.integers(0, 3),
        st.just(0.0),
        st.sampled_from(["tuples", "runs"]),
    )


def lengths() -> st.SearchStrategy[ValidCondition]:
    return st.sampled_from(
        [EVERY_LENGTH, ValidCondition(4), ValidCondition(2, 9), ValidCondition(3, None, ((5, 6),))]
    )


def played(
    made: Any,
    text: str,
    rows: Elements,
    beats: Sequence[int],
    tunings: Sequence[ShedTuning],
    room: tuple[int, int] = (256, 8),
) -> Answer:
    """room: to tell of changes at once, at least and for an arrival."""
    plan = compiled(text)
    ids = [one.id for one, _ in plan.working(ShedOp)]
    decided: Any = [dict.fromkeys(ids, one) for one in tunings]
    inputs = {name: rows if f"From {name} " in text else [] for name in SCHEMAS}
    before = making._MAKERS[ShedOp], shed._ROOM, shed._EACH
    making._MAKERS[ShedOp], shed._ROOM, shed._EACH = made, *room
    try:
        return +run_plan(plan, inputs, SCHEMAS, beats, tunings=decided)["q"]
    finally:
        making._MAKERS[ShedOp], shed._ROOM, shed._EACH = before


def same_profile(fast: ShedProfile, twin: slow.SlowProfile, as_runs: bool) -> None:
    """What it told of a batch."""
    assert fast.n_resident == twin.n_tuples
    assert fast.n_runs == twin.n_runs
    assert fast.audit_bytes == twin.beside_bytes
    if as_runs:
        assert fast.run_bytes == twin.run_bytes
    assert fast.is_whole == twin.is_whole
    assert fast.n_dropped == len(twin.receipts)
    assert fast.expected == pytest.approx(twin.expected)
    assert fast.n_expected == twin.n_expected
    assert (fast.measured is None) == (twin.measured is None)
    if fast.measured is not None and twin.measured is not None:
        assert fast.measured.n_groups == twin.measured.n_groups
        assert tuple(fast.measured.parts) == pytest.approx(tuple(twin.measured.parts))
        for one, two in ((fast.measured.accuracy, twin.measured.accuracy),
                         (fast.measured.alike, twin.measured.alike)):  # fmt: skip
            assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high))
    charged = {str(one.values[0]): (one.n_shed, one.loss) for one in fast.groups}
    wanted = {str(values[0]): share for values, share in twin.shares.items()}
    assert charged.keys() == wanted.keys()
    pieces = {one.values[0]: list(one.pieces) for one in fast.groups}
    assert pieces == {str(values[0]): of for values, of in twin.pieces.items()}
    for value, share in charged.items():
        assert share == pytest.approx(wanted[value], abs=1e-9)


def same_sample(fast: RunSample, twin: RunSample) -> None:
    """What is looked at of the window."""
    for one, two in zip(fast.looked, twin.looked, strict=True):
        assert one.tolist() == two.tolist()
    assert fast.values == twin.values
    assert fast.in_memory.tolist() == twin.in_memory.tolist()
    assert fast.is_exact == twin.is_exact
    assert tuple(fast.window) == pytest.approx(tuple(twin.window))


def same_receipt(fast: ShedReceipt, twin: ShedReceipt) -> None:
    """All but sums of fractions are the same bits."""
    assert fast._replace(charge=twin.charge, predicted_loss=0.0) == twin._replace(
        predicted_loss=0.0
    )
    assert tuple(fast.charge) == pytest.approx(tuple(twin.charge))
    assert fast.predicted_loss == pytest.approx(twin.predicted_loss, abs=1e-12)


@pytest.fixture(scope="module", autouse=True)
def _as_many_are_looked_at() -> Iterator[None]:
    """As before, once all is over."""
    before = curve.MOST_LOOKED, curve.MOST_OF_RUN
    yield
    curve.MOST_LOOKED, curve.MOST_OF_RUN = before


@settings(max_examples=400)
@given(st.data())
def test_arrays_drop_what_the_slow_twin_drops(data: st.DataObject) -> None:
    """Receipt by receipt, limits and algorithms turned between batches."""
    window, stream = data.draw(st.sampled_from(WINDOWS)), data.draw(st.sampled_from("GK"))
    rows = data.draw(rows_of() if stream == "G" else readings())
    text = f"Select a, Valid(x) From {stream} (a) {window} As x"
    last = rows[-1][1] + 30
    beats = [*sorted(data.draw(st.sets(st.integers(1, last - 1), max_size=4))), last]
    condition, turned = data.draw(lengths()), data.draw(st.sampled_from(["all", "limit", ""]))
    chosen = [data.draw(options()) for _ in beats]
    if turned != "all":
        limits = [one.memory_tuples if turned else chosen[0].memory_tuples for one in chosen]
        chosen = [chosen[0]._replace(memory_tuples=limit) for limit in limits]
    if stream == "K":  # readings that go on are kept as tuples
        chosen = [one._replace(state_form="tuples") for one in chosen]
    tunings = [ShedTuning(one, condition) for one in chosen]
    curve.MOST_LOOKED, curve.MOST_OF_RUN = data.draw(st.sampled_from([(512, 128), (6, 3)]))
    slow.HELD.clear()
    slow.PROFILES.clear()
    Recorded.profiles, Recorded.receipts, Recorded.samples = [], [], []
    wanted = played(slow.SlowShedOperator, text, rows, beats, tunings)
    room = data.draw(st.sampled_from([(256, 8), (1, 0)]))
    found = played(Recorded, text, rows, beats, tunings, room)
    receipts = zip(Recorded.receipts, slow.PROFILES, strict=True)
    for fast, twin in receipts:
        numbers = [one.dropped.number for one in fast]
        assert numbers == [one.dropped.number for one in twin.receipts]
        for one, two in zip(fast, twin.receipts, strict=True):
            same_receipt(one, two)
        event(f"{stream}: {'drops' if fast else 'no drops'}")
    assert found == wanted
    told = zip(Recorded.profiles, Recorded.samples, slow.PROFILES, strict=True)
    for (profile, sample, twin), each in zip(told, chosen, strict=True):
        same_profile(profile, twin, each.as_runs)
        same_sample(sample, twin.sample)


@settings(max_examples=60)
@given(st.sampled_from(WINDOWS), st.integers(1, 8), st.integers(8, 20))
def test_it_is_foretold_when_a_window_is_whole_again(window: str, limit: int, raised: int) -> None:
    """A tuple and a batch a tick; the limit goes with batch ``raised``. What was said of the tick,
    or the arrival, from then on came true, no sooner and no later."""
    rows: Elements = [((tick % 2, "x", tick, tick + 1), tick) for tick in range(90)]
    beats = range(1, 91)
    limits = [limit if beat < raised else 0 for beat in beats]
    tunings = [ShedTuning(ShedOptions("oldest", each)) for each in limits]
    Recorded.profiles, Recorded.receipts, Recorded.samples = [], [], []
    played(Recorded, f"Select a, Valid(x) From G (a) {window} As x", rows, beats, tunings)
    after = Recorded.profiles[raised:]
    foretold = {each.whole_from for each in after if not each.is_whole}
    event("was short" if foretold else "never short")
    assert len(foretold) <= 1
    if foretold:
        whole = next(n for n, each in enumerate(after) if each.is_whole) + raised
        assert foretold == {whole + ("Rows" in window)}
        assert all(each.whole_from is None for each in Recorded.profiles[whole:])


@settings(max_examples=100)
@given(rows_of(), st.sampled_from([6, 17, 40]), st.sampled_from(ALGORITHMS), st.data())
def test_nothing_is_shed_while_runs_fit(
    rows: Elements, size: int, algorithm: ShedAlgorithm, data: st.DataObject
) -> None:
    """The limit is the most that the window takes as runs, counted by the slow form, and answers
    are those without one; as tuples it would be short. A row less, and something goes."""
    tuples = [TemporalTuple(n, row[:1], *row[2:]) for n, (row, _) in enumerate(rows, 1)]
    most = max(run_bytes(tuples[max(0, n - size) : n], 1) for n in range(1, len(rows) + 1))
    limit, text = -(-most // 24), f"Select a, Valid(x) From G (a) [Rows {size}] As x"
    last = rows[-1][1] + 30
    beats = [*sorted(data.draw(st.sets(st.integers(1, last - 1), max_size=4))), last]
    event("as tuples it was short" if limit < min(size, len(rows)) else "as tuples it fits")

    def told(options: ShedOptions) -> tuple[Answer, int]:
        Recorded.profiles, Recorded.receipts, Recorded.samples = [], [], []
        found = played(Recorded, text, rows, beats, [ShedTuning(options)] * len(beats))
        return found, sum(each.n_dropped for each in Recorded.profiles)

    exact = told(ShedOptions())
    assert told(ShedOptions(algorithm, limit, state_form="runs")) == exact
    assert all(each.expected == 1 for each in Recorded.profiles)
    if limit > 4:
        assert told(ShedOptions(algorithm, limit - 1, state_form="runs"))[1]
    assert exact[1] == 0


def test_a_state_of_another_version_is_refused() -> None:
    regions, window = MemoryRegions(), WindowOp("rows", 5)
    regions.array("facts", "int64", 5)
    groups = KeyTable(regions.scope("groups"), [np.dtype(np.int64)])
    with pytest.raises(ShedStateRefused, match="of another version; begin a run anew"):
        ShedState(regions, window, groups, 1, ShedTuning(), 0)


def test_a_window_that_cannot_shed_is_refused() -> None:
    with pytest.raises(ValueError, match="a partition window does not shed"):
        window_extent(WindowOp("partition", 5, by=(0,)))
