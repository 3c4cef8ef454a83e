"""A run that adapts, counted: what it spent beside the best fixed plans, and what deciding took."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.planlog.steering import SWITCH_TUPLES
from storage.vocabulary.planlog import AUTOPILOT, POLICY, THRESHOLDS
from storage.vocabulary.records import Decision

PILOTED: Final = {POLICY: AUTOPILOT}
BY_THRESHOLDS: Final = {POLICY: THRESHOLDS}


@dataclass(frozen=True, slots=True)
class AdaptRun:
    """costs: float64[batches], of the plans that ran; switched: cost a tuple of the plan that was
    left and of the one that was taken, on all tuples of the phase. n_looks: evaluations;
    deciding_s: of the decision core; watching: cost of what only profiles asked; switch_tuples:
    that a switch costs as much as, 0: what it costs is in costs."""

    n_batch: int
    costs: NDArray[np.float64]
    switched: Sequence[tuple[float, float]]
    n_looks: int
    deciding_s: float
    watching: float = 0.0
    switch_tuples: int = SWITCH_TUPLES

    def spent(self, phases: Sequence[int]) -> list[float]:
        """Of each phase; lengths in tuples, whole batches."""
        cuts = np.cumsum([length // self.n_batch for length in phases])[:-1]
        return [float(part.sum()) for part in np.split(self.costs, cuts)]

    def priced(self) -> float:
        """Spent, with switches at the autopilot's price, whoever decided."""
        total = float(self.costs.sum())
        n_tuples = len(self.costs) * self.n_batch
        return total * (1 + self.switch_tuples * len(self.switched) / n_tuples)

    @property
    def false_switches(self) -> int:
        """To plans that cost more than those they replaced."""
        return sum(new > old for old, new in self.switched)


class PhasedStream(Protocol):
    """Tuples whose conditions change phase by phase."""

    @property
    def phases(self) -> tuple[int, ...]:
        """Their lengths, in tuples."""

    def bests(self) -> list[float]:
        """Cost of the best fixed plan of each phase."""

    def best(self) -> float:
        """Cost of the best fixed plan for everything."""


#: By name, what follows a stream.
Policies: TypeAlias = Mapping[str, Callable[[Any], AdaptRun]]


def together(runs: Sequence[AdaptRun]) -> AdaptRun:
    """Of several seeds, one behind the other."""
    return replace(
        runs[0],
        costs=np.concatenate([run.costs for run in runs]),
        switched=[move for run in runs for move in run.switched],
        n_looks=sum(run.n_looks for run in runs),
        deciding_s=sum(run.deciding_s for run in runs),
        watching=sum(run.watching for run in runs),
    )


def phase_at(place: int, phases: Sequence[int]) -> slice:
    """The tuples of the phase that a tuple is in; lengths in tuples."""
    ends = np.cumsum(phases).tolist()
    number = int(np.searchsorted(ends, place, side="right"))
    return slice(ends[number] - phases[number], ends[number])


def is_evaluation(instruction: object) -> bool:
    """Whether an instruction records one."""
    return isinstance(instruction, Decision)


def tell_header(title: str) -> None:
    """Of the rows of ``tell``."""
    print(f"\n{title}")
    columns = (
        "x best",
        "priced",
        "worst",
        "x one",
        "switches",
        "looks",
        "false",
        "us/batch",
        "watching",
    )
    print(f"  {'':24}" + "".join(f"{name:>10}" for name in columns))


def tell(
    name: str, run: AdaptRun, phases: Sequence[int], bests: Sequence[float], overall: float
) -> None:
    """A row. bests: cost of the best fixed plan of each phase; overall: of that for everything."""
    spent, best = run.spent(phases), sum(bests)
    worst = max(mine / least for mine, least in zip(spent, bests, strict=True))
    ratios = (sum(spent) / best, run.priced() / best, worst, sum(spent) / overall)
    deciding_us = 1e6 * run.deciding_s / len(run.costs)
    counts = (len(run.switched), run.n_looks, run.false_switches)
    print(
        f"  {name:24}"
        + "".join(f"{ratio:10.3f}" for ratio in ratios)
        + "".join(f"{n:10}" for n in counts)
        + f"{deciding_us:10.0f}{run.watching / best:10.3f}",
        flush=True,
    )


def tell_regret(name: str, spent: Sequence[float], bests: Sequence[float], n_regimes: int) -> None:
    """Of conditions that came twice: what the second coming missed beside the first."""
    missed = [mine - least for mine, least in zip(spent, bests, strict=True)]
    first, second = sum(missed[:n_regimes]), sum(missed[n_regimes : 2 * n_regimes])
    ratio = second / first if first > 0 else float("nan")
    print(f"  {name:24}{first:14,.0f}{second:14,.0f}{ratio:10.2f}", flush=True)
