"""Designs beside each other: results at the end of equal work, and claims on their ratios. [W13] §9

All designs find the same results in the same arrivals; of two the one that takes less work is
further with the work that is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from bench.experiments.amri_data import EddyCase
from bench.experiments.amri_designs import AmriSettings, AmriSizes, settings_of
from bench.experiments.amri_running import EddyDesign, EddyWork, eddy_run
from bench.experiments.progress import ProgressBar
from bench.experiments.results import FigureResult, PaperClaim, Plot, Series, verdict


class Prices(NamedTuple):
    """Of links, visits of buckets, codes read in vain."""

    link: float = 1.0
    bucket: float = 0.0
    code: float = 0.0


#: Units of the card, and the other prices beside which ratios are told.
COUNTED: Final = Prices()
DEARER: Final = Prices(3.0, 0.1, 0.2)
#: R of the first is at least so many times R of the second.
Relation: TypeAlias = tuple[str, float, str]
#: By design its runs, one for each seed.
Runs: TypeAlias = Mapping[str, tuple[tuple[EddyWork, ...], ...]]
NOTES: Final = (
    "Work is counted: hashing an attribute, comparing, inserting, deleting a tuple, a link of a "
    "hash index are 1 each; buckets are visited, and codes of 8 bytes read in vain, for nothing. "
    "With 64 bits a request that leaves attributes open reads all codes there are. "
    "Elements that leave a window are search requests, too, as in the engine.",
    "R(a) / R(b): arrivals worked off with the work that the cheaper one of both takes for all; "
    "results go with them, as after each batch all designs have the same. "
    "Times of the machine are drawn beside it and judge nothing.",
)


def all_runs(
    sizes: AmriSizes, key: str, case: EddyCase, designs: Sequence[EddyDesign]
) -> dict[str, tuple[tuple[EddyWork, ...], ...]]:
    """Every design over the same tuples, seed by seed."""
    bar, by_design = ProgressBar(key, len(designs) * sizes.repeats), {}
    for design in designs:
        runs = []
        for seed in sizes.seeds:
            bar.begin(f"{design.name}, seed {seed}")
            runs.append(eddy_run(case, design, seed))
            bar.advance(1)
        by_design[design.name] = tuple(runs)
    bar.end()
    return by_design


def ratio(runs: Runs, a: str, b: str, prices: Prices = COUNTED) -> float:
    """R(a) / R(b): arrivals worked off with the work that the cheaper one of both takes for all of
    them, over all seeds."""
    totals = np.zeros(2)
    for of_a, of_b in zip(runs[a], runs[b], strict=True):
        curves = [_curve(run, prices) for run in (of_a, of_b)]
        budget = min(float(work[-1]) for work, _ in curves)
        totals += [np.interp(budget, work, done) for work, done in curves]
    return float(totals[0] / totals[1])


def _curve(run: Sequence[EddyWork], prices: Prices) -> tuple[np.ndarray, np.ndarray]:
    work = np.cumsum([0.0, *(batch.cost(*prices) for batch in run)])
    return work, np.cumsum([0.0, *(batch.n_arrivals for batch in run)])


def cost(runs: Sequence[Sequence[EddyWork]], prices: Prices = COUNTED) -> float:
    """Of an arrival, over all seeds."""
    total = sum(batch.cost(*prices) for run in runs for batch in run)
    return total / sum(batch.n_arrivals for run in runs for batch in run)


class RatioClaim(NamedTuple):
    """A sentence and the relations it is made of."""

    text: str
    relations: tuple[Relation, ...]

    @property
    def names(self) -> set[str]:
        """Of the designs it is about."""
        return {name for a, _, b in self.relations for name in (a, b)}


class RatioFigure(NamedTuple):
    """A figure about ratios. designs: with some settings; error, theta: of assessment, 0: those of
    the settings."""

    key: str
    title: str
    claims: tuple[RatioClaim, ...]
    case: Callable[[AmriSizes], EddyCase]
    designs: Callable[[AmriSettings], Sequence[EddyDesign]]
    error: float = 0.0
    theta: float = 0.0

    def result(self, sizes: AmriSizes) -> FigureResult:
        """Run it with all settings."""
        claims, plots = list[PaperClaim](), list[Plot]()
        for settings in settings_of(sizes):
            if self.error:
                settings = settings.assessed(self.error, self.theta)
            runs = all_runs(sizes, self.key, self.case(sizes), self.designs(settings))
            asked = [claim for claim in self.claims if claim.names <= runs.keys()]
            claims += [judged(claim, settings.name, runs) for claim in asked]
            plots += plots_of(settings.name, runs)
        setup = sizes.setup(*self._assessed)
        return FigureResult(self.key, self.title, setup, tuple(plots), tuple(claims), NOTES)

    @property
    def _assessed(self) -> tuple[tuple[str, str], ...]:
        if not self.error:
            return ()
        return (
            ("assessment", f"error {self.error:g}, θ {self.theta:g} with the paper's settings"),
        )


def judged(claim: RatioClaim, settings: str, runs: Runs) -> PaperClaim:
    """Whether it holds in unit work, and the ratios; beside them those with other prices."""
    ratios = {(a, b): ratio(runs, a, b) for a, _, b in claim.relations}
    others = [ratio(runs, a, b, DEARER) for a, b in ratios]
    number = f"{_told(ratios)}; with the other prices {_numbers(others)}"
    cases = [ratios[a, b] >= factor for a, factor, b in claim.relations]
    return PaperClaim(f"{claim.text} ({settings})", verdict(cases), number)


def _told(ratios: Mapping[tuple[str, str], float]) -> str:
    parts = []
    for a in dict.fromkeys(a for a, _ in ratios):
        others = {b: of for (own, b), of in ratios.items() if own == a}
        parts.append(f"{a} / {', '.join(others)}: {_numbers(others.values())}")
    return "; ".join(parts)


def _numbers(ratios: Iterable[float]) -> str:
    return ", ".join(f"{of:.2f}" for of in ratios)


def plots_of(settings: str, runs: Runs) -> list[Plot]:
    """Work over arrivals of the first seed, and time of an arrival."""
    lines, bars = [], []
    for name, of in runs.items():
        work, done = _curve(of[0], COUNTED)
        lines.append(Series(name, tuple(done.tolist()), tuple(work.tolist())))
        ns = sum(batch.cpu_ns + batch.decide_ns for run in of for batch in run)
        bars.append(ns / sum(batch.n_arrivals for run in of for batch in run))
    times = Series("of an arrival", tuple(runs), tuple(bars))
    return [
        Plot(f"Work, {settings}", "arrivals", "units", "lines", tuple(lines)),
        Plot(f"Processor time, {settings}", "design", "ns", "bars", (times,)),
    ]
