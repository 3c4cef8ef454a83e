"""Adapting by thresholds and by the autopilot, counted, beside the best plans of each phase.

Selections over the drift schedule, filters over the correlated demo, the order of a join's pipeline
and the bits of a state of AMRI, each by itself, over phases drawn at random; all over data that
stay as they are, and conditions that come back. No Spark; counts come out the same every time,
microseconds are those of the decision core. "priced": a switch costs as much as 1 000 tuples, 250
elements of a join; moving what a state stores is in all of its columns. "worst": phase; "x one":
beside the best plan for everything; "false": switches to plans that cost more than those they
replaced; "watching": what only profiles asked, beside the best; "none spared": every filter is
asked about every profile tuple. Of several seeds the sums.
"""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

import numpy as np

from backend.workloads.drift import Phase, phases_from_json
from backend.workloads.spec import load_workload, shipped_workloads
from bench import adapt_amri as indexes
from bench import adapt_filters as filters
from bench import adapt_joins as orders
from bench import adapt_selections as selections
from bench.adapt_run import (
    BY_THRESHOLDS,
    PILOTED,
    AdaptRun,
    PhasedStream,
    Policies,
    tell,
    tell_header,
    tell_regret,
    together,
)

SELECTIONS: Final[Policies] = {
    "autopilot": partial(selections.followed, knobs=PILOTED),
    **{
        f"thresholds, mu = {mu:g}": partial(selections.followed, knobs={**BY_THRESHOLDS, "mu": mu})
        for mu in (0.0, 0.05, 0.1, 0.15)
    },
}
FILTERS: Final[Policies] = {
    "autopilot": partial(filters.followed, knobs=PILOTED),
    "autopilot, none spared": partial(filters.followed, knobs=PILOTED, of=filters.Unsparing),
    "thresholds": partial(filters.followed, knobs=BY_THRESHOLDS),
}


def _indexed(n_batches: int, of: indexes.AskedStream) -> AdaptRun:
    return indexes.followed(of, indexes.by_thresholds(n_batches))


#: Of thresholds a selection every so many batches of 1 000 requests: often, as often as in ``bench
#: amri`` for as many tuples, and by default.
BITS: Final[Policies] = {
    "autopilot": lambda of: indexes.followed(of, indexes.piloted([])),
    **{f"thresholds, {period},000": partial(_indexed, period) for period in (5, 12, 60)},
}


class OrderCase(NamedTuple):
    """Phases of a pipeline's elements. n: inputs behind the first; profile_prob: p."""

    n_phases: int
    n_elements: int
    profile_prob: float = 0.05
    n: int = 4

    @property
    def title(self) -> str:
        """What is run."""
        return (
            f"{self.n} inputs, {self.n_phases} x {self.n_elements:,} elements, "
            f"p = {self.profile_prob:g}"
        )


ORDERS: Final = (OrderCase(10, 60_000), OrderCase(5, 200_000, 0.005), OrderCase(1, 600_000))
#: Also, of whole schedules.
MORE_ORDERS: Final = (
    OrderCase(10, 60_000, 0.005),
    OrderCase(1, 600_000, 0.005),
    OrderCase(10, 60_000, 0.05, 3),
    OrderCase(30, 20_000, 0.05, 3),
    OrderCase(10, 60_000, 0.02, 2),
    OrderCase(10, 60_000, 0.05, 6),
)


def main(full: bool = False) -> None:
    """Print the tables; full: whole schedules, and more looks at what stays as it is."""
    drift(60_000 if full else 20_000)
    selections_recurring(40_000 if full else 20_000)
    correlated(60_000, 33 if full else 10)
    filters_recurring(60_000)
    looks(100_000 if full else 2_000)
    for case in (*ORDERS, *MORE_ORDERS) if full else ORDERS:
        joins(case)
    joins_recurring(60_000)
    for n_phases in (6, 1):
        bits(n_phases, 360 // n_phases)
    bits_recurring(60)


def table(title: str, policies: Policies, *streams: PhasedStream) -> None:
    """A row for each policy, over streams of several seeds together."""
    phases = [n for stream in streams for n in stream.phases]
    bests = [best for stream in streams for best in stream.bests()]
    fixed = sum(stream.best() for stream in streams)
    tell_header(title)
    for name, follow in policies.items():
        tell(name, together([follow(stream) for stream in streams]), phases, bests, fixed)


def recurring(title: str, policies: Policies, n_regimes: int, *streams: PhasedStream) -> None:
    """A row for each policy: what both comings of so many regimes missed, over all streams."""
    bests = np.sum([stream.bests() for stream in streams], axis=0).tolist()
    print(f"\n{title}, {n_regimes} regimes twice: missed, first and second coming")
    for name, follow in policies.items():
        spent = np.sum([follow(stream).spent(stream.phases) for stream in streams], axis=0)
        tell_regret(name, spent.tolist(), bests, n_regimes)


def drift(n_tuples: int) -> None:
    """Selections: the schedule, so many tuples a phase, and its second phase alone for as long."""
    (stream,) = load_workload(shipped_workloads()["drift"]).streams
    phases = phases_from_json(stream.source.options["phases"])
    schedule = [_long(phase, n_tuples) for phase in phases]
    still = [_long(phases[1], n_tuples * len(phases))]
    for title, of in ((f"drift, {n_tuples:,} tuples a phase", schedule), ("one phase", still)):
        table(f"selections, visits: {title}", SELECTIONS, selections.DriftStream.of(of))


def _long(phase: Phase, n_tuples: int) -> Phase:
    return Phase(phase.distribution, n_tuples, phase.selective, phase.permissive, phase.strength)


def selections_recurring(n_tuples: int) -> None:
    """Two regimes in turns."""
    hubs = ("a1", "a2", "a3"), ("a4", "a5", "a6")
    pair = [Phase("uniform", n_tuples, *each) for each in (hubs, hubs[::-1])]
    recurring("selections, visits", SELECTIONS, 2, selections.DriftStream.of(pair * 2))


def correlated(period: int, n_phases: int) -> None:
    """Filters: the demo, and its first phase alone for as long."""
    changing = filters.correlated(period, n_phases)
    still = filters.correlated(period * n_phases, 1)
    for title, stream in ((f"correlated, {n_phases} phases", changing), ("one phase", still)):
        table(f"filters, probes: {title}", FILTERS, stream)


def filters_recurring(period: int, regimes: int = 3) -> None:
    """Three regimes in turns."""
    stream = filters.correlated(period, 2 * regimes, regimes)
    recurring("filters, probes", FILTERS, regimes, stream)


def looks(n_looks: int) -> None:
    """Switches of looks at data that stay as they are, one after every hundred profile tuples."""
    n_switches, n_false = filters.looked(n_looks)
    rate = 1000 * n_false / n_looks
    print(f"\nfilters, {n_looks:,} looks at one phase: {n_switches} switches,", end=" ")
    print(f"{n_false} of them false: {rate:.2f} in 1 000 looks", flush=True)


def joins(case: OrderCase, n_seeds: int = 3) -> None:
    """Orders of a pipeline."""
    streams = (
        orders.pipeline_stream(seed, case.n_phases, case.n_elements, case.n)
        for seed in range(n_seeds)
    )
    title = f"joins, look-ups, {n_seeds} seeds: {case.title}"
    table(title, _order_policies(case.profile_prob), *streams)


def joins_recurring(n_elements: int, regimes: int = 3, n_seeds: int = 3) -> None:
    """Regimes in turns."""
    streams = (
        orders.pipeline_stream(seed, 2 * regimes, n_elements, regimes=regimes)
        for seed in range(n_seeds)
    )
    title = f"joins, look-ups, {n_seeds} seeds"
    recurring(title, _order_policies(orders.PROFILED), regimes, *streams)


def _order_policies(p: float) -> Policies:
    return {
        "autopilot": lambda of: orders.followed(of, orders.piloted(orders.star_pilot(of.n), []), p),
        "thresholds": lambda of: orders.followed(of, orders.by_thresholds, p),
    }


def bits(n_phases: int, n_batches: int, n_seeds: int = 5) -> None:
    """Of a state of AMRI."""
    streams = (indexes.asked_stream(seed, n_phases, n_batches) for seed in range(n_seeds))
    n_requests = n_batches * indexes.REQUESTS
    title = f"bits of a state, work, {n_seeds} seeds: {n_phases} x {n_requests:,} requests"
    table(title, BITS, *streams)


def bits_recurring(n_batches: int, regimes: int = 3, n_seeds: int = 5) -> None:
    """Regimes in turns."""
    streams = (
        indexes.asked_stream(seed, 2 * regimes, n_batches, regimes) for seed in range(n_seeds)
    )
    recurring(f"bits of a state, work, {n_seeds} seeds", BITS, regimes, *streams)
