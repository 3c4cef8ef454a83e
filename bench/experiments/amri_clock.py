"""Who dies of memory when requests queue up: claims of [W13] that need a clock. Card A12

A virtual processor does so many units of work while a tuple comes; what has come and is not worked
off waits. Memory is tuples, links of hash indexes and what waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from bench.experiments.amri_data import N_STREAMS
from bench.experiments.amri_designs import AmriSettings, AmriSizes, drift, settings_of
from bench.experiments.amri_figures import hashes, peers, schedules
from bench.experiments.amri_ratios import NOTES, all_runs, cost
from bench.experiments.amri_running import EddyDesign, EddyWork
from bench.experiments.results import FigureResult, PaperClaim, Plot, Series, verdict

#: Work that the processor does while a tuple comes, of what AMRI needs for one.
HEADROOM: Final = 1.1
#: Memory in tuples of all windows: these, seven links each, and as many that wait.
LIMIT: Final = 9


class Clocked(NamedTuple):
    """A run by the clock. waiting: tuples that wait when a batch is done; most: of these, while it
    lives; died: share of the run after which memory was full; None: never."""

    waiting: tuple[float, ...]
    most: float
    died: float | None


def clocked(run: Sequence[EddyWork], per_tuple: float, limit: float) -> Clocked:
    """per_tuple: units of work while one comes; limit: of memory, in tuples and links."""
    n = sum(batch.n_arrivals for batch in run)
    finished, done, waiting, most = 0.0, 0, list[float](), 0.0
    died: float | None = None
    for batch in run:
        end = done + batch.n_arrivals
        finished = max(finished, end) + batch.cost() / per_tuple
        waiting.append(min(finished, n) - end)
        most = most if died is not None else max(most, waiting[-1])
        if died is None and batch.stored + batch.links + waiting[-1] > limit:
            died = end / n
        done = end
    return Clocked(tuple(waiting), most, died)


class ClockFigure(NamedTuple):
    """dies, lives: designs of which the paper says so; base: the one whose work sets the pace."""

    key: str
    title: str
    text: str
    designs: Callable[[AmriSettings], Sequence[EddyDesign]]
    base: str
    dies: tuple[str, ...]
    lives: tuple[str, ...]

    def result(self, sizes: AmriSizes) -> FigureResult:
        """Run it with all settings."""
        claims, plots, limit = [], [], float(LIMIT * N_STREAMS * sizes.window)
        for settings in settings_of(sizes):
            runs = all_runs(sizes, self.key, drift(sizes), self.designs(settings))
            pace = HEADROOM * cost(runs[self.base])
            ran = {name: [clocked(run, pace, limit) for run in of] for name, of in runs.items()}
            cases = [outcome.died is not None for name in self.dies for outcome in ran[name]]
            cases += [outcome.died is None for name in self.lives for outcome in ran[name]]
            outcomes = "; ".join(f"{name} {_told(ran[name])}" for name in (*self.dies, *self.lives))
            claims.append(PaperClaim(f"{self.text} ({settings.name})", verdict(cases), outcomes))
            lines = [
                Series(name, tuple(map(float, range(len(of[0].waiting)))), of[0].waiting)
                for name, of in ran.items()
            ]
            title = f"Tuples that wait, {settings.name}"
            plots.append(Plot(title, "batches", "tuples", "lines", tuple(lines)))
        setup = sizes.setup(
            ("processor", f"{HEADROOM:g} times the work that {self.base} takes on average"),
            ("memory", f"{LIMIT} times the tuples of all windows, a link as much as a tuple"),
        )
        return FigureResult(self.key, self.title, setup, tuple(plots), tuple(claims), NOTES)


def _told(ran: Sequence[Clocked]) -> str:
    died = ", ".join("lives" if run.died is None else f"{run.died:.0%}" for run in ran)
    return f"{died}, at most {max(run.most for run in ran):,.0f} waiting"


_HASHES: Final = tuple(f"{k} hash" for k in range(1, 8))
CLOCKS: Final = (
    ClockFigure(
        "a5", "a5: Fig. 8(b), memory by schedule",
        "Triggered dies of memory, the others do not",
        schedules, "hybrid", ("triggered",), ("hybrid", "periodic", "continuous"),
    ),
    ClockFigure(
        "b1", "b1: Fig. 9(a), memory of hash indexes",
        "1 to 7 adaptive hash indexes all die of memory",
        hashes, "AMRI", _HASHES, (),
    ),
    ClockFigure(
        "b5", "b5: Fig. 9(b), memory of the static bitmap",
        "The static bitmap dies of memory, AMRI does not",
        peers, "AMRI", ("static bitmap",), ("AMRI",),
    ),
)  # fmt: skip
