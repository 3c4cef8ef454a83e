"""Windows that shed beside those that do not, in one run.

Ways take the batches of one stream in turns: count(*) by the same key, exact and estimated, window
and coalescing as two operators, the window that may shed without a limit, and with half the window
by each algorithm. Without a limit answers must be the same; with one each coalesced tuple lies
inside an exact one, and intervals hold most exact counts. Then both state forms: time, accuracy at
equal bytes, and what is held. Then time for an arrival by the size of memory, and accuracy by how
often values repeat and how much is kept, of conditions on lengths, too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Final, NamedTuple, get_args

import numpy as np

from backend.cql import parse_query
from backend.model.schema import Schema, ValidTimes
from backend.operators.network.core.blocks import Block, Column64, Ints
from backend.operators.network.core.contract import (
    Clock,
    KeepingOperator,
    ProfiledOperator,
    Surroundings,
)
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.tuning import Tuning
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.shards.making import make
from backend.operators.network.shedding.options import (
    ShedAlgorithm,
    ShedOptions,
    StateForm,
)
from backend.operators.network.temporal.shed_tuning import ShedProfile, ShedTuning
from backend.systems.cals.core import CALS as CALS_CORE
from backend.systems.cals.core import shedding
from backend.systems.stream.compiling import compile_queries
from bench.experiments import cals_running as running
from bench.stream_data import DifferentResults

SCHEMA: Final = replace(
    Schema.parse("v int, since bigint, until bigint"),
    valid=ValidTimes("since", "until", type="bigint"),
)
#: Of the window as rows, that is kept in either state form where both are short of memory.
_SHORT: Final = 0.06
PLAIN, MOST, APART, WHOLE = "count(*)", "count(*), max", "window + coalesce", "no limit"
COUNTED, ESTIMATED = "count(*), no limit", "count(*), a half"
_COUNT: Final = "Select v, count(*) From R [Rows {rows}] Group By v"
_MAX: Final = "Select v, count(*), max(since) From R [Rows {rows}] Group By v"
_RUNS: Final = "Select v, Valid(R) From R (v) [Rows {rows}]"
ALGORITHMS: Final[tuple[ShedAlgorithm, ...]] = (
    "rand", "oldest", "cals", "cals-v", "cals-i", "reach",
)  # fmt: skip
#: What is aimed at: coalescing over counting, half the window over all of it (tuples a second);
#: cals over rand, a million tuples over a thousand (time); accuracy of cals over that of rand at
#: ratio .3 and p .95; expected less measured.
_COALESCES, _SHEDS, _OVER_RAND, _GROWS, _ACCURATE, _APART = 0.5, 0.9, 1.5, 2.0, 5.0, 0.02
#: Time of state form runs over tuples.
_AS_RUNS: Final = 1.3
#: Of the groups at the end, at least so many intervals have the exact count.
_COVERED: Final = 0.7


class CalsSizes(NamedTuple):
    """rows: of the window; batch: tuples; n: of the stream; memory: M, by which the time for an
    arrival is measured; accuracy: of its cells."""

    rows: int = 4000
    batch: int = 8000
    n: int = 200_000
    memory: tuple[int, ...] = (1000, 10_000, 100_000, 1_000_000)
    accuracy: running.ShedSizes = running.ShedSizes(repeats=3)


FULL: Final = CalsSizes()
SMALL: Final = CalsSizes(60, 50, 400, (20, 40), running.ShedSizes(scale=0.05, repeats=1))


class TemporalLane:
    """One query, its operators made anew for each batch. keeps: what it answers."""

    def __init__(self, text: str, options: ShedOptions | None = None, keeps: bool = True) -> None:
        query = parse_query("q", text, {"R": SCHEMA})
        kinds = [] if options is None else [CALS_CORE]
        self._plan = compile_queries([query], since={"q": 0}, tick_us=1, kinds=kinds)
        self._tunings: dict[str, Tuning] = {
            each.id: ShedTuning(options or ShedOptions()) for each in shedding(self._plan)
        }
        self._regions, self._seen = MemoryRegions(), 0
        self._strings = Strings(self._regions.scope("strings"))
        self._changes: list[Ints] = []
        self._keeps = keeps
        self._profiled: object = None
        self.ns: list[int] = []
        self.accuracies: list[float] = []

    def step(self, tuples: Ints) -> None:
        """A batch: value, start, end of each tuple; one comes at each tick."""
        n, first = tuples.shape[1], self._seen
        self._seen += n
        tau = np.arange(first, self._seen)
        clock = Clock(first, {"R": (first, tau)})
        around = Surroundings(
            self._plan, self._regions, self._strings, clock, tunings=self._tunings
        )
        begun = time.thread_time_ns()
        blocks: dict[str, Block] = {}
        for each in self._plan.operators:
            if isinstance(each.work, StreamInput):
                columns = tuple(Column64(tuples[place]) for place in each.work.columns)
                blocks[each.id] = Block(tau, np.ones(n, np.int8), columns, tau)
            else:
                operator = make(each, around)
                inputs = [blocks[id] for id in each.inputs]
                blocks[each.id] = operator.run(inputs, self._seen)
                if isinstance(operator, KeepingOperator):
                    operator.keep()
                if isinstance(operator, ProfiledOperator):
                    self._profiled = operator.profile()
        self.ns.append(time.thread_time_ns() - begun)
        if isinstance(self._profiled, ShedProfile):
            self.accuracies.append(self._profiled.expected)
        if self._keeps:
            made = blocks[self._plan.answers["q"].operator]
            self._changes.append(np.array([*(each.values for each in made.columns), made.sign]))

    def relation(self) -> Ints:
        """int64[columns, n]: what it answers now."""
        changes = np.concatenate(self._changes, axis=1)
        rows, at = np.unique(changes[:-1], axis=1, return_inverse=True)
        counts = np.zeros(rows.shape[1], np.int64)
        np.add.at(counts, at.ravel(), changes[-1])
        self._changes = [np.vstack([rows[:, counts > 0], counts[counts > 0]])]
        there: Ints = rows[:, counts > 0]
        return there

    @property
    def n_bytes(self) -> int:
        """Of all regions."""
        return self._regions.n_bytes

    def ns_per_tuple(self, batch: int) -> float:
        """Of the later half of its batches, the median."""
        return median(self.ns[len(self.ns) // 2 :]) / batch


def stream(n: int, repeat_prob: float, seed: int) -> Ints:
    """int64[3, n]: as ``cals_data.repeating``, of 50 values."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 10, size=n, endpoint=True)
    steps = np.where(rng.random(n) < repeat_prob, 0, rng.integers(1, 50, size=n))
    ends = np.cumsum(lengths)
    return np.array([np.cumsum(steps) % 50, ends - lengths, ends])


def turns(lanes: Mapping[str, TemporalLane], tuples: Ints, batch: int) -> None:
    """All lanes take each batch, in another order each time."""
    rng = np.random.default_rng(0)
    for begin in range(0, tuples.shape[1], batch):
        part = np.ascontiguousarray(tuples[:, begin : begin + batch])
        for name in rng.permutation([*lanes]).tolist():
            lanes[name].step(part)


def check(lanes: Mapping[str, TemporalLane], short: Sequence[str]) -> None:
    """Raises DifferentResults."""
    exact = lanes[APART].relation()
    if not np.array_equal(exact, lanes[WHOLE].relation()):
        raise DifferentResults(f"{WHOLE} is not {APART}")
    for name in short:
        kept = lanes[name].relation()
        if not _lies_in(kept, exact):
            raise DifferentResults(f"{name} has what is in no exact tuple")


def check_counts(lanes: Mapping[str, TemporalLane]) -> None:
    """Raises DifferentResults: exact counts are others, or most are in no interval."""
    exact, counted, estimated = (lanes[name].relation() for name in (PLAIN, COUNTED, ESTIMATED))
    if not np.array_equal(exact[:2], counted[:2]):
        raise DifferentResults(f"{COUNTED} is not {PLAIN}")
    true = exact[1][np.searchsorted(exact[0], estimated[0])]
    share = float(((estimated[2] <= true) & (true <= estimated[3])).mean())
    if share < _COVERED:
        raise DifferentResults(f"{share:.2f} of the intervals of {ESTIMATED} have the exact count")


def _lies_in(kept: Ints, exact: Ints) -> bool:
    """Whether each coalesced tuple lies in an exact one of equal value; both by value, start."""
    keys = [rows[0] * (1 << 40) + rows[1] for rows in (exact, kept)]
    places = np.searchsorted(keys[0], keys[1], side="right") - 1
    within = exact[:, places]
    return bool(((places >= 0) & (within[0] == kept[0]) & (kept[2] <= within[2])).all())


def throughput(sizes: CalsSizes) -> None:
    """All ways over one stream, and what is aimed at."""
    half = {f"{each}, half": ShedOptions(each, sizes.rows // 2) for each in ALGORITHMS}
    lanes = {
        PLAIN: TemporalLane(_COUNT.format(rows=sizes.rows)),
        MOST: TemporalLane(_MAX.format(rows=sizes.rows)),
        COUNTED: TemporalLane(_COUNT.format(rows=sizes.rows), ShedOptions()),
        ESTIMATED: TemporalLane(
            _COUNT.format(rows=sizes.rows), ShedOptions("rand", sizes.rows // 2)
        ),
        APART: TemporalLane(_RUNS.format(rows=sizes.rows)),
        WHOLE: TemporalLane(_RUNS.format(rows=sizes.rows), ShedOptions()),
        **{name: TemporalLane(_RUNS.format(rows=sizes.rows), each) for name, each in half.items()},
    }
    turns(lanes, stream(sizes.n, 0.75, 1), sizes.batch)
    check(lanes, [*half])
    check_counts(lanes)
    took = {name: lane.ns_per_tuple(sizes.batch) for name, lane in lanes.items()}
    print(
        f"\n[Rows {sizes.rows:,}], {sizes.batch:,} tuples a batch, values repeat with .75; "
        "processor time of the operators, what they tell of a batch included"
    )
    for name, ns in took.items():
        print(f"{name:20}{1e9 / ns:12,.0f} tuples/s{took[PLAIN] / ns:8.2f} of {PLAIN}")
    tell("no limit, over count(*)", took[PLAIN] / took[WHOLE], _COALESCES)
    tell("no limit, over count(*), max", took[MOST] / took[WHOLE], _COALESCES)
    tell("cals at half, over no limit", took[WHOLE] / took["cals, half"], _SHEDS)
    tell("time of cals over rand", took["cals, half"] / took["rand, half"], _OVER_RAND, most=True)


def forms(sizes: CalsSizes) -> None:
    """Both state forms side by side, without a limit, with one that is not met by runs, and with
    one that both meet; then accuracy at equal bytes, by how often values repeat."""
    text, limits = _RUNS.format(rows=sizes.rows), (0, sizes.rows // 2, int(_SHORT * sizes.rows))
    lanes = {
        (form, limit): TemporalLane(text, ShedOptions("cals", limit, state_form=form))
        for form in get_args(StateForm)
        for limit in (*limits, 2 * sizes.rows)
    }
    whole = {str(key): lane for key, lane in lanes.items()}
    apart = TemporalLane(text)
    turns({**whole, APART: apart}, stream(sizes.n, 0.75, 3), sizes.batch)
    check({APART: apart, WHOLE: lanes["runs", limits[1]]}, [])
    print(f"\n{'':10}{'M':>8}{'tuples/s':>14}{'accuracy':>10}{'bytes in regions':>18}")
    for (form, limit), lane in lanes.items():
        rate, accuracy = 1e9 / lane.ns_per_tuple(sizes.batch), float(np.mean(lane.accuracies))
        print(f"{form:10}{limit:8,}{rate:14,.0f}{accuracy:10.3f}{lane.n_bytes:18,}")
    for limit, what in ((2 * sizes.rows, "where nothing is shed"), (limits[2], "where both shed")):
        runs, tuples = (lanes[form, limit].ns_per_tuple(sizes.batch) for form in ("runs", "tuples"))
        tell(f"time of runs over tuples, {what}", runs / tuples, _AS_RUNS, most=True)
    equal_bytes(sizes)


def equal_bytes(sizes: CalsSizes) -> None:
    """Expected accuracy of both forms, runs / tuples, by M over the window, and repetition."""
    text = _RUNS.format(rows=sizes.rows)
    print(f"\n{'A, runs / tuples':16}" + "".join(f"{f'p {p:g}':>16}" for p in running.REPEATS))
    worst = 9.0
    for ratio in (0.05, 0.1, 0.2, 0.5):
        line = f"M {ratio:<14g}"
        for p in running.REPEATS:
            limit = max(1, int(ratio * sizes.rows))
            lanes = {
                form: TemporalLane(text, ShedOptions("cals", limit, state_form=form), keeps=False)
                for form in get_args(StateForm)
            }
            turns(lanes, stream(min(sizes.n, 8 * sizes.rows), p, 4), sizes.batch)
            runs, tuples = (float(np.mean(lanes[n].accuracies[1:])) for n in ("runs", "tuples"))
            worst = min(worst, runs - tuples)
            line += f"{runs:9.3f} /{tuples:.3f}"
        print(line)
    tell("accuracy of runs less that of tuples, worst cell", worst, 0.0)


def growth(sizes: CalsSizes) -> None:
    """Time for an arrival by M, half of the window."""
    print(f"\n{'M':>10}{'no limit':>12}{'rand':>12}{'cals':>12}{'runs':>12}   ns for an arrival")
    first: dict[str, float] = {}
    for memory in sizes.memory:
        rows = 2 * memory
        text = _RUNS.format(rows=rows)
        lanes = {
            WHOLE: TemporalLane(text, ShedOptions(), keeps=False),
            "rand": TemporalLane(text, ShedOptions("rand", memory), keeps=False),
            "cals": TemporalLane(text, ShedOptions("cals", memory), keeps=False),
            "runs": TemporalLane(text, ShedOptions("cals", memory, state_form="runs"), keeps=False),
        }
        n = max(rows + rows // 2, 10 * sizes.batch)
        turns(lanes, stream(n, 0.75, 2), sizes.batch)
        full = -(-rows // sizes.batch)
        took = {name: median(lane.ns[min(full, len(lane.ns) - 1) :]) / sizes.batch
                for name, lane in lanes.items()}  # fmt: skip
        first = first or took
        print(f"{memory:10,}" + "".join(f"{ns:12,.0f}" for ns in took.values()))
    for name, ns in took.items():
        tell(f"{name}, largest M over least", ns / first[name], _GROWS, most=True)


def accuracy(sizes: CalsSizes) -> None:
    """Of cells of ratio and p, and of thresholds on lengths; measured beside expected."""
    of = sizes.accuracy
    print(f"\n{'accuracy (R1)':16}" + "".join(f"{f'p {p:g}':>16}" for p in running.REPEATS))
    worst, gaps = 9.0, []
    for ratio in (0.1, 0.3, 0.5, 0.7):
        line = f"ratio {ratio:<10g}"
        for p in running.REPEATS:
            cell = running.ShedCell(p, ratio)
            cals, rand = (running.accuracy(of, each, cell) for each in (running.CALS, running.RAND))
            worst = min(worst, cals.R1 / max(1e-9, rand.R1))
            gaps += [cals.gap, rand.gap]
            line += f"{cals.R1:9.3f} /{rand.R1:.3f}"
        print(line)
    tell("cals over rand, worst cell", worst, 1.0)
    cell = running.ShedCell(0.95, 0.3)
    cals, rand = (running.accuracy(of, each, cell) for each in (running.CALS, running.RAND))
    tell("cals over rand at ratio .3, p .95", cals.R1 / max(1e-9, rand.R1), _ACCURATE)
    thresholds(sizes, gaps)
    tell("|expected - measured|, mean", float(np.mean(gaps)), _APART, most=True)


def thresholds(sizes: CalsSizes, gaps: list[float]) -> None:
    """reach beside cals and oldest, by the least length in the answer."""
    variants = (running.REACH, running.CALS, running.OLDEST)
    print(f"\n{'least length':14}" + "".join(f"{each.name:>10}" for each in variants))
    lead = 9.0
    for threshold in running.THRESHOLDS:
        cell = running.ShedCell(0.75, 0.5, threshold, is_sliding=True)
        measured = [running.accuracy(sizes.accuracy, each, cell) for each in variants]
        gaps += [each.gap for each in measured]
        lead = min(lead, measured[0].R1 - max(each.R1 for each in measured[1:]))
        print(f"{threshold:<14g}" + "".join(f"{each.R1:10.3f}" for each in measured))
    tell("reach less the better of both, worst threshold", lead, 0.0)


def tell(what: str, value: float, aim: float, most: bool = False) -> None:
    """A number beside what it should be: at least, or at most."""
    is_held = value <= aim if most else value >= aim
    print(f"{what}: {value:.3f}, aim {aim:g} {'held' if is_held else 'missed'}")


def main(sizes: CalsSizes = FULL) -> None:
    """Print all tables."""
    throughput(sizes)
    forms(sizes)
    growth(sizes)
    accuracy(sizes)


def small() -> None:
    """The same in seconds: results are compared, times mean nothing."""
    main(SMALL)
