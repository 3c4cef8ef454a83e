"""Streams that change: Fig. 4.19 to 4.24 of [B05] §4.7.4."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from bench.experiments.conditions import mean
from bench.experiments.filter_running import INTERVAL, ComparedFilters, Ran, Setup, schemes
from bench.experiments.filter_trials import (
    Groups,
    TrialSizes,
    likeness,
    lines,
    means,
)
from bench.experiments.results import FigureResult, PaperClaim, Plot, Series, listed, verdict

#: Fig. 4.19 to 4.21: when selectivities are permuted, and tuples in all.
CHANGE: Final = 600_000
TIMELINE_TUPLES: Final = 1_000_000
#: Not stated: eight different ones.
SELECTIVITIES: Final = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85)
#: Shown before and after the change.
_BEFORE, _AFTER = 60_000, 200_000
#: Settled: within this of the level at the end, over so many intervals.
_SETTLED, _LEVEL, _RUN = 0.05, 50, 5
#: Fig. 4.22: a workload, and periods of the permutations.
WORKLOAD: Final = 4_000_000
PERIODS: Final = (20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
#: Fig. 4.23, 4.24.
PRICES: Final = (1, 5, 10, 50, 100)
#: §4.7.4 does not state p: the default, and that of §4.7.3.
PROBABILITIES: Final = (0.01, 0.05)
NAMES: Final = ["A-Greedy", "Sweep", "Independent"]


# ------------------------------------------------------------------ timelines


@lru_cache(maxsize=1)
def _timelines(trials: TrialSizes) -> Mapping[float, list[ComparedFilters]]:
    """Eight filters, permuted once, by p."""
    setup = Setup(SELECTIVITIES, (1,) * 8, period=trials.tuples(CHANGE))
    n_tuples = _length(trials)
    by_p = {}
    for p in PROBABILITIES:
        chosen = list(schemes(p).values())
        key = f"Fig. 4.19 to 4.21, p = {p:g}"
        by_p[p] = trials.run(key, {key: setup}, chosen, n_tuples, 0)[key]
    return by_p


def _length(trials: TrialSizes) -> int:
    return max(trials.tuples(TIMELINE_TUPLES), trials.tuples(CHANGE) + 2 * _RUN * INTERVAL)


def _change(trials: TrialSizes) -> int:
    """The first interval after the change."""
    return trials.tuples(CHANGE) // INTERVAL


def level(run: Ran, until: int) -> float:
    """Filters asked per 2000 tuples before interval ``until``, over the last 50."""
    return float(run.evaluations[max(0, until - _LEVEL) : until].mean())


def settling(run: Ran, change: int, end: float) -> int:
    """Tuples from the change until five intervals lie within 5 % of the level ``end``."""
    values = run.evaluations
    for place in range(change, len(values) - _RUN + 1):
        if float(values[place : place + _RUN].mean()) <= (1 + _SETTLED) * end:
            return (place - change) * INTERVAL
    return (len(values) - change) * INTERVAL


def roughness(run: Ran, change: int) -> float:
    """The largest change between two means of five intervals after one another, after the change
    settles in: how sudden the cost falls, in filters per 2000 tuples."""
    values = run.evaluations[change:]
    smooth = np.convolve(values, np.ones(_RUN) / _RUN, mode="valid")[::_RUN]
    return float(np.max(-np.diff(smooth))) if len(smooth) > 1 else 0.0


def _settled(
    trials: Sequence[ComparedFilters], name: str, change: int, of: str = "A-Greedy"
) -> float:
    """Mean tuples until ``name`` is at the final level of ``of``."""
    ends = [level(c.runs[of], len(c.runs[of].evaluations)) for c in trials]
    return mean([settling(c.runs[name], change, end) for c, end in zip(trials, ends, strict=True)])


def _timeline(
    trials: TrialSizes, key: str, other: str, claims: tuple[PaperClaim, ...]
) -> FigureResult:
    """A-Greedy beside another algorithm, one run each p."""
    by_p, change = _timelines(trials), _change(trials)
    first = max(0, change - _BEFORE // INTERVAL)
    last = min(len(by_p[0.01][0].runs[other].evaluations), change + _AFTER // INTERVAL)
    x = tuple(float(place * INTERVAL) for place in range(first, last))
    plots = []
    for p, compared in by_p.items():
        runs = compared[0].runs
        series = [
            Series(n, x, tuple(runs[n].evaluations[first:last].tolist()))
            for n in ("A-Greedy", other)
        ]
        title = f"Filters evaluated, p = {p:g}"
        marks = (float(change * INTERVAL),)
        plots.append(Plot(title, "tuples", "per 2,000 tuples", "lines", tuple(series), marks))
    rows = (
        likeness(),
        ("selectivities", f"{listed(SELECTIVITIES, 2)}, permuted at {change * INTERVAL:,}"),
        ("p", "0.01 and 0.05 (not stated), Independent half of it"),
        ("shown", f"seed {trials.seed}; numbers are means over the repeats"),
    )
    setup = trials.setup(_length(trials), 0, *rows)
    notes = (
        f"Adapted: five points within {_SETTLED:.0%} of A-Greedy's level at the end, Independent of"
        " its own.",
    )
    title = f"Fig. {key} — A-Greedy and {other}, one change"
    return FigureResult(key, title, setup, tuple(plots), claims, notes)


def _faster(trials: TrialSizes, other: str) -> PaperClaim:
    change, numbers, holds = _change(trials), [], []
    for p, compared in _timelines(trials).items():
        ours, theirs = (_settled(compared, name, change) for name in ("A-Greedy", other))
        holds.append(ours < theirs)
        numbers.append(f"{ours:,.0f} against {theirs:,.0f} tuples at p = {p:g}")
    return PaperClaim(
        f"A-Greedy adapts much faster than {other}", verdict(holds), "; ".join(numbers)
    )


def figure_19(trials: TrialSizes) -> FigureResult:
    """A-Greedy and Sweep."""
    return _timeline(trials, "4.19", "Sweep", (_faster(trials, "Sweep"),))


def figure_20(trials: TrialSizes) -> FigureResult:
    """A-Greedy and LocalSwaps."""
    change, numbers, holds = _change(trials), [], []
    for p, compared in _timelines(trials).items():
        local, sweep = (
            mean([roughness(c.runs[n], change) for c in compared]) for n in ("LocalSwaps", "Sweep")
        )
        holds.append(local < sweep)
        numbers.append(f"{local:,.0f} against {sweep:,.0f} at p = {p:g}")
    smooth = PaperClaim(
        "The cost of LocalSwaps changes more smoothly than Sweep's",
        verdict(holds),
        f"largest fall within 10,000 tuples, per 2,000: {'; '.join(numbers)}",
    )
    return _timeline(trials, "4.20", "LocalSwaps", (_faster(trials, "LocalSwaps"), smooth))


def figure_21(trials: TrialSizes) -> FigureResult:
    """A-Greedy and Independent."""
    by_p, change = _timelines(trials), _change(trials)
    quick, worse, times, levels = [], [], [], []
    for p, compared in by_p.items():
        ours, sweep = (_settled(compared, name, change) for name in ("A-Greedy", "Sweep"))
        theirs = _settled(compared, "Independent", change, of="Independent")
        quick.append(theirs < sweep)
        others = f"A-Greedy {ours:,.0f}, Sweep {sweep:,.0f}"
        times.append(f"{theirs:,.0f} tuples ({others}) at p = {p:g}")
        for until, when in ((change, "before"), (10**9, "after")):
            pair = [
                mean([level(c.runs[n], min(until, len(c.runs[n].evaluations))) for c in compared])
                for n in ("Independent", "A-Greedy")
            ]
            worse.append(pair[0] > pair[1])
            levels.append(f"{pair[0]:,.0f} against {pair[1]:,.0f} {when}, p = {p:g}")
    claims = (
        PaperClaim("Independent adapts quickly, too", verdict(quick), "; ".join(times)),
        PaperClaim(
            "Its order is worse than A-Greedy's before and after the change",
            verdict(worse),
            f"per 2,000 tuples: {'; '.join(levels)}",
        ),
    )
    return _timeline(trials, "4.21", "Independent", claims)


# ------------------------------------------------------------------ rate of change


def changing(price: int, period: int) -> Setup:
    """Four filters of cost 1, four of ``price``; selectivities permuted each period."""
    return Setup(SELECTIVITIES, (1,) * 4 + (price,) * 4, period=period)


def _by_period(trials: TrialSizes, p: float) -> Groups:
    chosen = [schemes(p)[name] for name in NAMES]
    setups = {str(x): changing(10, trials.tuples(x)) for x in PERIODS}
    n_tuples = trials.tuples(WORKLOAD)
    return trials.run(f"Fig. 4.22, p = {p:g}", setups, chosen, n_tuples, 0)


def _ahead(groups: Groups, other: str = "Sweep") -> list[float]:
    """By how much the other is dearer than A-Greedy."""
    return means(groups, lambda c: c.total(other) / c.total("A-Greedy") - 1)


def _percent(values: Sequence[float]) -> str:
    return listed([100 * v for v in values], 1) + " %"


def figure_22(trials: TrialSizes) -> FigureResult:
    """The cost of a workload by the period of permutations."""
    by_p = {p: _by_period(trials, p) for p in PROBABILITIES}
    plots, claims = [], []
    for p, groups in by_p.items():
        plots.append(_costs(f"Cost, p = {p:g}", groups, "tuples between changes", log=True))
        gaps, others = (
            _ahead(groups),
            means(groups, lambda c: c.total("Sweep") / c.total("Independent") - 1),
        )
        claims += [
            PaperClaim(
                f"Under fast change A-Greedy and Independent beat Sweep (p = {p:g})",
                verdict([gaps[0] > 0, others[0] > 0]),
                f"Sweep dearer by {_percent([gaps[0]])} and {_percent([others[0]])}"
                f" at {PERIODS[0]:,} tuples",
            ),
            PaperClaim(
                f"The advantage diminishes as change gets slower (p = {p:g})",
                verdict([gaps[-1] < max(gaps), others[-1] < max(others)]),
                f"Sweep dearer than A-Greedy by {_percent(gaps)} for {listed(PERIODS, 0)} tuples",
            ),
            PaperClaim(
                f"At a change each million tuples Sweep is ahead (p = {p:g})",
                verdict([gaps[-1] < 0]),
                f"Sweep dearer by {_percent([gaps[-1]])}",
            ),
        ]
    setup = trials.setup(trials.tuples(WORKLOAD), 0, *_rows())
    title = "Fig. 4.22 — rate of change"
    return FigureResult("4.22", title, setup, tuple(plots), tuple(claims))


def _rows() -> tuple[tuple[str, str], ...]:
    return (
        likeness(),
        ("filters", f"8, selectivities {listed(SELECTIVITIES, 2)}; 5 to 8 are the dear ones"),
        ("p", "0.01 and 0.05 (not stated), Independent half of it"),
    )


def _costs(title: str, groups: Groups, x_title: str, log: bool = False) -> Plot:
    def value(c: ComparedFilters, name: str) -> float:
        return c.total(name)

    plot = lines(title, groups, ["Optimal", *NAMES], x_title, "probes per tuple", value)
    return plot._replace(log_x=log)


def _by_price(trials: TrialSizes, key: str, period: int, p: float) -> Groups:
    chosen = [schemes(p)[name] for name in NAMES]
    setups = {str(c): changing(c, trials.tuples(period)) for c in PRICES}
    return trials.run(f"{key}, p = {p:g}", setups, chosen, trials.tuples(WORKLOAD), 0)


def _priced(
    trials: TrialSizes, key: str, period: int
) -> tuple[Mapping[float, Groups], FigureResult]:
    """By the cost of the dear filters; the claims are still to come."""
    by_p = {p: _by_price(trials, f"Fig. {key}", period, p) for p in PROBABILITIES}
    plots = tuple(
        _costs(f"Cost, p = {p:g}", groups, "cost of the dear filters, in probes")
        for p, groups in by_p.items()
    )
    rows = (*_rows(), ("period", f"{trials.tuples(period):,} tuples"))
    setup = trials.setup(trials.tuples(WORKLOAD), 0, *rows)
    title = f"Fig. {key} — cost of filters, a change each {period:,} tuples"
    return by_p, FigureResult(key, title, setup, plots, ())


def figure_23(trials: TrialSizes) -> FigureResult:
    """A change each 100 000 tuples."""
    by_p, result = _priced(trials, "4.23", 100_000)
    claims = []
    for p, groups in by_p.items():
        gaps = _ahead(groups)
        claims.append(
            PaperClaim(
                f"A-Greedy stays ahead of Sweep, the more so the dearer filters are (p = {p:g})",
                verdict([min(gaps) > 0, gaps[-1] > gaps[0]]),
                f"Sweep dearer by {_percent(gaps)} for c = {listed(PRICES, 0)}",
            )
        )
    return result._replace(claims=tuple(claims))


def figure_24(trials: TrialSizes) -> FigureResult:
    """A change each million tuples."""
    by_p, result = _priced(trials, "4.24", 1_000_000)
    claims = []
    for p, groups in by_p.items():
        gaps = _ahead(groups)
        claims.append(
            PaperClaim(
                f"Sweep is ahead, the more so the dearer filters are (p = {p:g})",
                verdict([max(gaps) < 0, gaps[-1] < gaps[0]]),
                f"Sweep dearer by {_percent(gaps)} for c = {listed(PRICES, 0)}",
            )
        )
    return result._replace(claims=tuple(claims))
