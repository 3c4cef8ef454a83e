"""What all figures on pipelined filters share: sizes, seeds, runs over a parameter, plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from bench.experiments.conditions import mean
from bench.experiments.filter_running import (
    GAMMA,
    INTERVAL,
    LEAST,
    PROFILE_PROB,
    STAGE,
    WINDOW,
    ComparedFilters,
    Scheme,
    Setup,
    compare,
)
from bench.experiments.progress import ProgressBar
from bench.experiments.results import Plot, Series

#: Tuples of a convergence run; the first quarter is not counted: the default p of Independent
#: fills the window with 200 000.
STABLE_TUPLES: Final = 800_000
#: "The same", "optimal": at most this much dearer.
NEAR: Final = 0.05
#: Repeats of one set-up, by the x of a figure.
Groups = Mapping[str, list[ComparedFilters]]


class TrialSizes(NamedTuple):
    """scale: of the numbers of tuples, 1 is full size. repeats: streams, draws and first orders a
    point is the mean of."""

    scale: float
    seed: int
    repeats: int

    def tuples(self, full: int) -> int:
        """So many tuples at this scale, a whole number of intervals."""
        return max(2, round(full * self.scale / INTERVAL)) * INTERVAL

    def seeds(self) -> range:
        """A seed a repeat."""
        return range(self.seed, self.seed + self.repeats)

    def stable(
        self, key: str, setups: Mapping[str, Setup], chosen: Sequence[Scheme]
    ) -> dict[str, list[ComparedFilters]]:
        """Every set-up under every scheme, after convergence."""
        n_tuples = self.tuples(STABLE_TUPLES)
        return self.run(key, setups, chosen, n_tuples, _warm_up(n_tuples))

    def run(
        self,
        key: str,
        setups: Mapping[str, Setup],
        chosen: Sequence[Scheme],
        n_tuples: int,
        since: int,
    ) -> dict[str, list[ComparedFilters]]:
        """Every set-up with every seed under every scheme."""
        bar = ProgressBar(key, n_tuples * self.repeats * len(setups))
        groups: dict[str, list[ComparedFilters]] = {name: [] for name in setups}
        for seed in self.seeds():
            for name, setup in setups.items():
                bar.begin(f"{name}, seed {seed}")
                groups[name].append(compare(setup, chosen, seed, n_tuples, since))
                bar.advance(n_tuples)
        bar.end()
        return groups

    def setup(
        self, n_tuples: int, since: int, *rows: tuple[str, str]
    ) -> tuple[tuple[str, str], ...]:
        """The conditions a figure is shown with."""
        return (
            (
                "tuples",
                f"{n_tuples:,}, the first {since:,} not counted" if since else f"{n_tuples:,}",
            ),
            ("scale", f"{self.scale:g}"),
            ("repeats", f"{self.repeats} (seeds {', '.join(map(str, self.seeds()))})"),
            ("profile window", f"{WINDOW} profile tuples, Sweep a stage of {STAGE}; α = 0.9"),
            ("least sample", f"{LEAST} profile tuples (not stated in the thesis)"),
            ("first order", "random, by seed"),
            *rows,
        )

    def stable_setup(self, *rows: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        """The conditions of a convergence run."""
        n_tuples = self.tuples(STABLE_TUPLES)
        return self.setup(n_tuples, _warm_up(n_tuples), *rows)


def _warm_up(n_tuples: int) -> int:
    return n_tuples // 4 // INTERVAL * INTERVAL


def default_p(profile_prob: float = PROFILE_PROB) -> tuple[str, str]:
    """The row of the set-up on p."""
    return ("p", f"{profile_prob:g}, Independent {profile_prob / 2:g}")


def likeness(gamma: int = GAMMA) -> tuple[str, str]:
    """The row of the set-up on Γ."""
    return ("Γ", f"{gamma}, filters 1 to Γ the first group, and so on; 80 % alike in a group")


def rates(title: str, groups: Groups, names: Sequence[str], x_title: str) -> Plot:
    """Tuples per thousand probes, a line a scheme."""
    return lines(title, groups, names, x_title, "tuples per 1,000 probes", ComparedFilters.rate)


def lines(
    title: str,
    groups: Groups,
    names: Sequence[str],
    x_title: str,
    y_title: str,
    value: Callable[[ComparedFilters, str], float],
) -> Plot:
    """Means over the repeats, a line a scheme; the x are numbers."""
    x = tuple(float(name) for name in groups)
    series = [
        Series(n, x, tuple(mean([value(c, n) for c in compared]) for compared in groups.values()))
        for n in names
    ]
    return Plot(title, x_title, y_title, "lines", tuple(series))


def breakdown(title: str, groups: Groups, names: Sequence[str], x_title: str) -> tuple[Plot, Plot]:
    """Cost per tuple, regular and of the profile, a line a scheme."""

    def processing(c: ComparedFilters, name: str) -> float:
        return c.optimal if name == "Optimal" else c.runs[name].processing

    def profiling(c: ComparedFilters, name: str) -> float:
        return c.runs[name].profiling

    y = "probes per tuple"
    return (
        lines(f"Tuple processing, {title}", groups, ["Optimal", *names], x_title, y, processing),
        lines(f"Profile, {title}", groups, names, x_title, y, profiling),
    )


def means(groups: Groups, value: Callable[[ComparedFilters], float]) -> list[float]:
    """Means over the repeats, by x."""
    return [mean([value(c) for c in compared]) for compared in groups.values()]


def cases(groups: Groups, holds: Callable[[ComparedFilters], bool]) -> list[bool]:
    """Whether it holds, run by run."""
    return [holds(c) for compared in groups.values() for c in compared]
