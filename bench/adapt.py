"""Adapting by thresholds and by the autopilot, counted, beside the best plans of each phase.

Selections over the drift schedule, filters over the correlated demo, both over data that stay as
they are, and conditions that come back. No Spark; counts come out the same every time, microseconds
are those of the decision core. "priced": a switch costs as much as 1 000 tuples; "worst": phase;
"x one": beside the best plan for everything; "false": switches to plans that cost more than those
they replaced; "watching": what only profiles asked, beside the best; "none spared": every filter is
asked about every profile tuple.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from backend.systems.agreedy.reoptimizer import FiltersReOptimizer
from backend.workloads.drift import Phase, phases_from_json
from backend.workloads.spec import load_workload, shipped_workloads
from bench import adapt_filters as filters
from bench import adapt_selections as selections
from bench.adapt_run import BY_THRESHOLDS, PILOTED, tell, tell_header, tell_regret

_MUS: Final = (0.0, 0.05, 0.1, 0.15)
SELECTIONS: Final[Mapping[str, Mapping[str, Any]]] = {
    "autopilot": PILOTED,
    **{f"thresholds, mu = {mu:g}": {**BY_THRESHOLDS, "mu": mu} for mu in _MUS},
}
#: With the decision core that follows.
FILTERS: Final[Mapping[str, tuple[Mapping[str, Any], type[FiltersReOptimizer]]]] = {
    "autopilot": (PILOTED, FiltersReOptimizer),
    "autopilot, none spared": (PILOTED, filters.Unsparing),
    "thresholds": (BY_THRESHOLDS, FiltersReOptimizer),
}


def main(full: bool = False) -> None:
    """Print the tables; full: whole schedules, and more looks at what stays as it is."""
    drift(60_000 if full else 20_000)
    selections_recurring(40_000 if full else 20_000)
    correlated(60_000, 33 if full else 10)
    filters_recurring(60_000)
    looks(100_000 if full else 2_000)


def drift(n_tuples: int) -> None:
    """Selections: the schedule, so many tuples a phase, and its first phase alone for as long."""
    (stream,) = load_workload(shipped_workloads()["drift"]).streams
    phases = phases_from_json(stream.source.options["phases"])
    schedule = [_long(phase, n_tuples) for phase in phases]
    _selections(f"drift, {n_tuples:,} tuples a phase", schedule)
    _selections("the second phase alone", [_long(phases[1], n_tuples * len(phases))])


def _long(phase: Phase, n_tuples: int) -> Phase:
    return Phase(phase.distribution, n_tuples, phase.selective, phase.permissive, phase.strength)


def _selections(title: str, phases: list[Phase]) -> None:
    stream = selections.DriftStream.of(phases)
    bests, best = stream.bests(), stream.best()
    tell_header(f"selections, visits: {title}")
    for name, knobs in SELECTIONS.items():
        tell(name, selections.followed(stream, knobs), stream.lengths, bests, best)


def selections_recurring(n_tuples: int) -> None:
    """Two regimes in turns."""
    hubs = ("a1", "a2", "a3"), ("a4", "a5", "a6")
    pair = [Phase("uniform", n_tuples, *each) for each in (hubs, hubs[::-1])]
    stream = selections.DriftStream.of(pair * 2)
    bests = stream.bests()
    print("\nselections, two regimes twice: visits missed, first and second coming")
    for name, knobs in SELECTIONS.items():
        spent = selections.followed(stream, knobs).spent(stream.lengths)
        tell_regret(name, spent, bests, len(pair))


def correlated(period: int, n_phases: int) -> None:
    """Filters: the demo, and its first phase alone for as long."""
    changing = filters.correlated(period, n_phases)
    still = filters.correlated(period * n_phases, 1)
    for title, stream in ((f"correlated, {n_phases} phases", changing), ("one phase", still)):
        bests, best = stream.bests(), stream.best()
        tell_header(f"filters, probes: {title}")
        for name, core in FILTERS.items():
            tell(name, filters.followed(stream, *core), stream.phases, bests, best)


def filters_recurring(period: int, regimes: int = 3) -> None:
    """Three regimes in turns."""
    stream = filters.correlated(period, 2 * regimes, regimes)
    bests = stream.bests()
    print("\nfilters, three regimes twice: probes missed, first and second coming")
    for name, core in FILTERS.items():
        spent = filters.followed(stream, *core).spent(stream.phases)
        tell_regret(name, spent, bests, regimes)


def looks(n_looks: int) -> None:
    """Switches of looks at data that stay as they are, one after every hundred profile tuples."""
    n_switches, n_false = filters.looked(n_looks)
    rate = 1000 * n_false / n_looks
    print(f"\nfilters, {n_looks:,} looks at one phase: {n_switches} switches,", end=" ")
    print(f"{n_false} of them false: {rate:.2f} in 1 000 looks", flush=True)
