"""AMRI beside its peers, in one run over the same tuples: work, bytes, time.

A clique of four streams whose data are drawn anew phase by phase, as in the experiments of AMRI.
(a) Counted work of bits, of a static bitmap, an even split, 1 to 7 hash indexes, the portfolio,
bits and the portfolio under the autopilot, and a scan, with windows of 100 to 10 000 tuples and
phases of W/2, 4 W and 8 W. (b) Bytes of indexes. (c) Time, in turns batch by batch, beside the
join of STREAM without caches, here and on the single workloads of ``bench joins``. (d) What
decisions and migration take. (e) What moving a tuple to other bits takes beside taking it in, and
reading a code beside comparing a tuple. (f) How soon bits follow other patterns. All must find the
same results.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.joins.join_tuning import JoinTuning
from backend.operators.network.kinds.eddy import EddyOp
from backend.operators.network.kinds.joins import JoinOp
from bench.amri_prices import IndexTimes, index_times
from bench.experiments.amri_data import CLIQUE, N_STREAMS, EddyCase
from bench.experiments.amri_designs import AmriSettings, drift_of, ours
from bench.experiments.amri_ratios import DEARER, cost
from bench.experiments.amri_running import EddyDesign, EddyLane, EddyWork, eddy_lane, eddy_run
from bench.joins_data import JoinCase, join_cases
from bench.joins_lanes import FixedLane, JoinLane, JoinStretch, join_turns
from storage.vocabulary.amri_costs import CODE_READ, CODES_A_BUCKET, REFINED
from storage.vocabulary.planlog import AUTOPILOT, POLICY

WINDOWS: Final = (100, 400, 1_000, 10_000)
#: Phases, in windows.
DRIFTS: Final = (0.5, 4.0, 8.0)
#: B at W = 100.
SMALL_BITS: Final = 8
#: Windows up to which all drifts, and designs that scan most requests, are run.
MOST_SCANNED: Final = 1_000
MJOIN, PORTFOLIO, EVEN, SCAN = "MJoin of STREAM", "portfolio", "even split", "scan"
PILOTED, MIX_PILOTED = "AMRI, autopilot", "mix, autopilot"
MIXED: Final = PORTFOLIO, MIX_PILOTED
BITS, STATIC, SEVEN = "AMRI", "static bitmap", "7 hash"
#: Of buckets visited and codes read in vain, as the cost model has them.
REFINED_PRICES: Final = (REFINED.bucket, REFINED.code)


class AmriBenchSize(NamedTuple):
    """phases, tuples: of each drift at most, the tuples of a stream, but two phases at least;
    drifts: phases, in windows; windows, timed: of (a) and (c); joins, beyond: tuples of a single
    workload, and of windows that no processor's cache holds. prices: of (e), tuples of the state,
    requests, turns."""

    phases: int = 12
    tuples: int = 80_000
    drifts: tuple[float, ...] = DRIFTS
    windows: tuple[int, ...] = WINDOWS
    timed: tuple[int, ...] = (1_000, 10_000)
    joins: int = 1_000_000
    beyond: int = 400_000
    prices: tuple[int, int, int] = (8192, 1000, 9)
    seed: int = 1


FULL: Final = AmriBenchSize()
SMALL: Final = AmriBenchSize(2, 400, (0.5,), (100,), (100,), 600, 200, (128, 20, 1))
#: Batches of a single workload; those in which windows fill are left out.
_STRETCHES: Final = 12


def main(size: AmriBenchSize = FULL) -> None:
    """Print all tables."""
    for window in size.windows:
        for windows in size.drifts if window <= MOST_SCANNED else size.drifts[-1:]:
            runs = counted(size, window, windows)
            tell_work(window, windows, runs)
            tell_following(window, windows, runs)
    for window in size.timed:
        took, lanes = timed(size, window)
        tell_times(window, took)
        tell_bytes(window, lanes)
        tell_tuning(window, took, lanes)
    for case in join_cases(size.joins, size.beyond):
        tell_join(case)
    tell_prices(index_times(*size.prices, size.seed))


def small() -> None:
    """The same in seconds: results are compared, times mean nothing."""
    main(SMALL)


def designs(window: int, few: bool = False) -> list[EddyDesign]:
    """All that are compared; with large windows without those that scan most requests. few: of the
    hash indexes those of 3 and 7."""
    settings = settings_of(window)
    scans = [settings.but(SCAN, access="scan")]
    hashes = [settings.hashed(3), settings.hashed(7)] if few else settings.adaptive_hash
    if window > MOST_SCANNED and not few:
        scans, hashes = [], hashes[2:]
    own = settings.base, settings.static_bitmap, settings.even_split
    mixed = settings.portfolio
    piloted = [
        design.with_knobs(**{POLICY: AUTOPILOT})._replace(name=name)
        for design, name in ((settings.base, PILOTED), (mixed, MIX_PILOTED))
    ]
    return [*own, *hashes, mixed, *piloted, *scans]


def settings_of(window: int) -> AmriSettings:
    """Ours, with assessments as long as the window asks for."""
    return ours(window, window / 10_000, SMALL_BITS if window == WINDOWS[0] else None)


def case_of(size: AmriBenchSize, window: int, windows: float) -> EddyCase:
    """Drift of phases of so many windows."""
    phase = round(windows * window)
    n_phases = max(2, min(size.phases, size.tuples // phase))
    return drift_of(window, phase, n_phases, size.seed)


def counted(size: AmriBenchSize, window: int, windows: float) -> dict[str, tuple[EddyWork, ...]]:
    """(a): what each design did."""
    case = case_of(size, window, windows)
    return {design.name: eddy_run(case, design, size.seed) for design in designs(window)}


def tell_work(window: int, windows: float, runs: Mapping[str, Sequence[EddyWork]]) -> None:
    """A line for each design, and the aims."""
    costs = {name: cost([run]) for name, run in runs.items()}
    least = min(of for name, of in costs.items() if name not in MIXED)
    n = sum(batch.n_arrivals for batch in runs[BITS])
    print(f"\nW = {window:,}, phases of {windows:g} W: {n:,} arrivals; units of work for each")
    print(f"  {'':16}{'units':>10}{'/ best':>8}{'other prices':>21}{'bytes a tuple':>15}")
    for name, run in runs.items():
        own, dearer, last = costs[name], cost([run], DEARER), run[-1]
        n_bytes = last.index_bytes / max(1, last.stored)
        print(f"  {name:16}{own:10.1f}{own / least:8.2f}{dearer:21.1f}{n_bytes:15.0f}")
    fixed = min(of for name, of in costs.items() if name == STATIC or "hash" in name)
    if window == WINDOWS[0]:
        if windows == DRIFTS[-1]:
            _aim("bits / best of static bitmap and hash indexes", costs[BITS] / fixed, 0.85)
        _aim("bits / best of all designs", costs[BITS] / least, 1.10)
    if windows == DRIFTS[-1]:
        _aim("portfolio / best single design", costs[PORTFOLIO] / least, 1.05)


def tell_following(window: int, windows: float, runs: Mapping[str, Sequence[EddyWork]]) -> None:
    """(f): in the window behind the second one after a change, against what the best design takes
    in the last two windows of the phase; counted as the cost model does."""
    phase, each = round(4 * windows), 4  # batches of a quarter of the windows
    if phase < 4 * each:
        return
    work = {
        name: np.array([batch.cost(1.0, *REFINED_PRICES) / batch.n_arrivals for batch in run])
        for name, run in runs.items()
    }
    for name in (BITS, PORTFOLIO):
        rivals = [of for other, of in work.items() if other in (name, BITS, EVEN, STATIC)]
        shares = []
        for begin in range(phase, len(work[name]) - phase + 1, phase):
            best = min(of[begin + phase - 2 * each : begin + phase].mean() for of in rivals)
            shares.append(best / work[name][begin + 2 * each : begin + 3 * each].mean())
        _least(f"{name}, of the new best after two windows, median phase", median(shares), 0.95)


def tell_prices(times: IndexTimes) -> None:
    """(e), and what the cost model takes a code to cost."""
    print("\nns of a tuple compared, a code read, a bucket visited, a tuple taken in and moved")
    print("  " + ", ".join(f"{of:.1f}" for of in times))
    print(f"  a code / a tuple compared: {times.code / times.compare:.3f}, taken as {CODE_READ:g}")
    print(f"  a bucket / a code: {times.bucket / times.code:.1f}, taken as {CODES_A_BUCKET}")
    _aim("moving a tuple / taking it in", times.move / times.insert, 2.0)


def _least(what: str, number: float, least: float) -> None:
    missed = "" if number >= least else "; missed"
    print(f"  {what}: {number:.2f} (aim: at least {least:g}{missed})")


def _aim(what: str, number: float, most: float) -> None:
    print(f"  {what}: {number:.2f} (aim: at most {most:g}{'' if number <= most else '; missed'})")


def timed(
    size: AmriBenchSize, window: int
) -> tuple[dict[str, list[JoinStretch]], dict[str, EddyLane]]:
    """(c): in turns, behind training; the MJoin takes the orders that were best at first."""
    case = case_of(size, window, size.drifts[len(size.drifts) // 2])
    own = {
        design.name: eddy_lane(case, design.begin(window), design.then())
        for design in designs(window, few=True)
    }
    widths = (N_STREAMS - 1,) * N_STREAMS
    orders = tuple(tuple(k for k in range(N_STREAMS) if k != i) for i in range(N_STREAMS))
    plain = FixedLane(JoinOp(CLIQUE.equal), widths, JoinTuning(orders=orders))
    lanes: dict[str, JoinLane] = {MJOIN: plain, **own}
    arrivals = case.arrivals(np.random.default_rng(size.seed))
    took = join_turns(lanes, arrivals, case.batch)
    trained = -(-N_STREAMS * case.training // case.batch)
    return {name: of[trained:] for name, of in took.items()}, own


def _ns(of: Sequence[JoinStretch]) -> float:
    """Processor time of an arrival, in the median batch."""
    return median(1e9 * stretch.cpu_s / stretch.operations.n_arrivals for stretch in of)


def tell_times(window: int, took: Mapping[str, Sequence[JoinStretch]]) -> None:
    """A line for each lane, the aims behind them."""
    n = sum(stretch.operations.n_arrivals for stretch in took[MJOIN])
    load = os.getloadavg()[0]
    print(f"\nW = {window:,}: {n:,} arrivals in turns, load {load:.1f}; the median batch")
    print(f"  {'':16}{'ns an arrival':>15}{'MJoin / it':>12}{'scan / it':>12}")
    for name, of in took.items():
        by_scan = _ns(took[SCAN]) / _ns(of) if SCAN in took else float("nan")
        print(f"  {name:16}{_ns(of):15,.0f}{_ns(took[MJOIN]) / _ns(of):12.2f}{by_scan:12.1f}")
    single = [name for name in took if name not in (MJOIN, *MIXED)]
    best = min(_ns(took[name]) for name in single)
    least = {"best single design / portfolio": (best / _ns(took[PORTFOLIO]), 0.95)}
    least["MJoin / portfolio"] = (_ns(took[MJOIN]) / _ns(took[PORTFOLIO]), 0.95)
    if SCAN in took and window >= WINDOWS[-1]:
        least["scan / portfolio"] = (_ns(took[SCAN]) / _ns(took[PORTFOLIO]), 20.0)
    for what, (number, aim) in least.items():
        _least(what, number, aim)


def tell_join(case: JoinCase) -> None:
    """A workload of ``bench joins``: the MJoin beside eddies."""
    window, widths = max(case.arrivals.sizes), case.arrivals.widths
    settings, work = settings_of(window), EddyOp(case.work.equal)
    lanes: dict[str, JoinLane] = {
        MJOIN: FixedLane(case.work, widths, JoinTuning(orders=case.orders))
    }
    for design in (settings.base, settings.portfolio):
        knobs = design.with_knobs(router="cheapest").then()
        lanes[design.name] = EddyLane(work, widths, knobs, knobs, 0)
    n = len(case.arrivals.streams)
    took = join_turns(lanes, case.arrivals, -(-n // _STRETCHES))
    late = {name: of[len(of) // 3 :] for name, of in took.items()}
    print(f"\n{case.name}: {n:,} arrivals, load {os.getloadavg()[0]:.1f}")
    for name, of in late.items():
        print(f"  {name:16}{_ns(of):15,.0f}{_ns(late[MJOIN]) / _ns(of):12.2f}")


def tell_bytes(window: int, lanes: Mapping[str, EddyLane]) -> None:
    """(b): of all access methods, for each stored tuple."""
    each = {name: lane.done[-1].index_bytes / lane.done[-1].stored for name, lane in lanes.items()}
    listed = ", ".join(f"{name} {of:.0f}" for name, of in each.items())
    print(f"\nW = {window:,}, bytes of indexes a tuple: {listed}")
    _aim("bits / seven hash indexes", each[BITS] / each[SEVEN], 0.2)


def tell_tuning(
    window: int, took: Mapping[str, Sequence[JoinStretch]], lanes: Mapping[str, EddyLane]
) -> None:
    """(d): shares of processor time."""
    print(f"\nW = {window:,}, share of processor time")
    for name in (BITS, PILOTED, *MIXED):
        of = took[name]
        total = sum(stretch.cpu_s for stretch in of)
        decided = sum(stretch.decide_s for stretch in of) / total
        moved = sum(batch.migration_ns for batch in lanes[name].done[-len(of) :]) / 1e9 / total
        print(f"  {name}: deciding {decided:.1%}, migration {moved:.1%}")
        _aim("both together", decided + moved, 0.03)
