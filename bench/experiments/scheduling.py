"""``run.py experiment scheduling``: memory over time by scheduler (thesis, section 2.3.3)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path as File
from typing import Final, NamedTuple

import pyarrow.compute as pc

from backend.operators.network.core.job import Policy
from backend.workloads.flights import flights_table
from bench.experiments.command import write
from bench.experiments.results import FigureResult, PaperClaim, Plot, Series, listed, verdict
from bench.experiments.scheduling_model import Path, least_memory, memory

POLICIES: Final[Mapping[str, Policy]] = {
    "FIFO": "fifo",
    "round robin": "round_robin",
    "Greedy": "greedy",
    "Chain": "chain",
}
BOUND: Final = "clairvoyant bound"
#: A block at each time 0..6, as in the worked tables.
STEADY: Final = (1,) * 7
#: Three bursts, each with time enough behind it to work them off.
BURSTY: Final = ((1,) * 8 + (0,) * 22) * 3
FIRST: Final = Path((0.2, 0.0), (1, 1))
SECOND: Final = Path((0.9, 1.0, 0.0), (1, 1, 1))


class FlightsData(NamedTuple):
    """Where the data is. cache: folder of the flights."""

    cache: File


def curves(path: Path, arrivals: Sequence[int]) -> dict[str, list[float]]:
    """Memory at each time, by scheduler, and the bound."""
    memories = {name: memory(path, arrivals, policy) for name, policy in POLICIES.items()}
    return memories | {BOUND: least_memory(path, arrivals)}


def plot(title: str, memories: Mapping[str, Sequence[float]]) -> Plot:
    """Memory over time."""
    times = tuple(float(t) for t in range(len(memories[BOUND])))
    lines = tuple(Series(name, times, tuple(line)) for name, line in memories.items())
    return Plot(title, "time, units", "queued, blocks", "lines", lines)


def first_plan(data: FlightsData) -> FigureResult:
    """Selectivities 0.2 and 0: Greedy and Chain are the optimum."""
    steady, bursts = curves(FIRST, STEADY), curves(FIRST, BURSTY)
    best = steady["Chain"]
    claims = (
        PaperClaim(
            "FIFO needs 1.0 1.2 2.0 2.2 3.0 3.2 4.0",
            verdict([_equal(steady["FIFO"], (1.0, 1.2, 2.0, 2.2, 3.0, 3.2, 4.0))]),
            listed(steady["FIFO"], 1),
        ),
        PaperClaim(
            "Greedy and Chain need 1.0 1.2 1.4 1.6 1.8 2.0 2.2, the least possible",
            verdict([_equal(best, (1, 1.2, 1.4, 1.6, 1.8, 2, 2.2)), best == steady["Greedy"]]),
            listed(best, 1),
        ),
        *_always(bursts),
    )
    return _result("first", "Selectivities 0.2 and 0", FIRST, steady, bursts, claims)


def second_plan(data: FlightsData) -> FigureResult:
    """Selectivities 0.9, 1 and 0: Greedy is worse than FIFO, Chain is not."""
    steady, bursts = curves(SECOND, STEADY), curves(SECOND, BURSTY)
    same = _equal(steady["FIFO"], steady["Chain"])
    claims = (
        PaperClaim(
            "FIFO and Chain need 1.0 1.9 2.9 3.0 3.9 4.9 5.0",
            verdict([same, _equal(steady["FIFO"], (1, 1.9, 2.9, 3, 3.9, 4.9, 5))]),
            listed(steady["Chain"], 1),
        ),
        PaperClaim(
            "Greedy needs 1.0 1.9 2.8 3.7 4.6 5.5 6.4, more than FIFO",
            verdict([_equal(steady["Greedy"], (1, 1.9, 2.8, 3.7, 4.6, 5.5, 6.4))]),
            listed(steady["Greedy"], 1),
        ),
        *_always(bursts),
    )
    return _result("second", "Selectivities 0.9, 1 and 0", SECOND, steady, bursts, claims)


def flights_plan(data: FlightsData) -> FigureResult:
    """Three selections as they come in a query over the flights of 2013; selectivities measured."""
    table = flights_table(data.cache)
    wanted = [
        pc.greater(table["dep_delay"], 0),
        pc.greater(table["distance"], 1000),
        pc.equal(table["origin"], "JFK"),
    ]
    selectivities: list[float] = []
    passing = None
    n_in = table.num_rows
    for condition in wanted:
        passing = condition if passing is None else pc.and_(passing, condition)
        n_out = pc.sum(pc.fill_null(passing, False)).as_py() or 0
        selectivities.append(n_out / n_in)
        n_in = n_out
    path = Path((*selectivities[:-1], 0.0), (1, 1, 1))
    bursts = curves(path, BURSTY)
    title = "Flights: dep_delay > 0, distance > 1000, origin = 'JFK'"
    notes = (f"Measured selectivities: {listed(selectivities)}; the last one's output leaves.",)
    return FigureResult(
        "flights", title, _setup(path), (plot(f"{title}: bursts", bursts),), _always(bursts), notes
    )


def _result(
    key: str,
    title: str,
    path: Path,
    steady: Mapping[str, Sequence[float]],
    bursts: Mapping[str, Sequence[float]],
    claims: tuple[PaperClaim, ...],
) -> FigureResult:
    plots = (plot(f"{title}: a block a unit", steady), plot(f"{title}: bursts", bursts))
    notes = ("The thesis's 0.2 n in front of the second operator reads 'at least' (erratum D13).",)
    return FigureResult(key, title, _setup(path), plots, claims, notes)


def _setup(path: Path) -> tuple[tuple[str, str], ...]:
    return (
        ("selectivities", listed(path.selectivities)),
        ("units of time for a block", ", ".join(map(str, path.units))),
        ("bursts", "8 blocks, one a unit, then 22 units without; three times"),
    )


def _always(memories: Mapping[str, Sequence[float]]) -> tuple[PaperClaim, ...]:
    """What holds of Chain on every plan."""
    bound = memories[BOUND]
    excess = max(a - b for a, b in zip(memories["Chain"], bound, strict=True))
    mean = {name: sum(line) / len(line) for name, line in memories.items()}
    means = ", ".join(f"{name} {value:.3f}" for name, value in mean.items())
    return (
        PaperClaim(
            "In bursts Chain is never more than a block above the clairvoyant bound",
            verdict([excess <= 1.0]),
            f"at most {excess:.2f} blocks above",
        ),
        PaperClaim(
            "In bursts Chain needs no more memory than FIFO on average",
            verdict([mean["Chain"] <= mean["FIFO"] + 1e-9]),
            f"means in blocks: {means}",
        ),
    )


def _equal(counted: Sequence[float], wanted: Sequence[float]) -> bool:
    """To the last digit that is printed."""
    return all(abs(a - b) < 0.05 for a, b in zip(counted, wanted, strict=True))


FIGURES: Final[Mapping[str, Callable[[FlightsData], FigureResult]]] = {
    "first": first_plan,
    "second": second_plan,
    "flights": flights_plan,
}
TITLE: Final = "Scheduling: memory over time"


def main(options: argparse.Namespace, state: File) -> int:
    """Run what the command line asks for and write the report; 2 when it cannot be done."""
    data = FlightsData(state / "cache")
    return write(options, FIGURES, data, TITLE, state / "experiment-scheduling.html")
