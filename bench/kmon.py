"""Joins under k-constraints beside SWJ and the same join without constraints, in one run.

At every k of Fig. 6.10, 6.12, 6.14 and 6.16 [B05]: SWJ (card B8), the many-one join without any
constraint, with the constraints of the figure and their k, dropping what they say is not needed or
laying it aside, and one whose constraints are all watched and none used. Lanes take the stretches
of a trace in turns, and must find the same results in each. Then the links of §6.1; then what is
chosen, beside the best sets; then both estimators on the changing k of Fig. 6.11, 6.13 and 6.15.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple, Protocol

import numpy as np

from backend.operators.network.core.blocks import Block
from backend.operators.network.kmon.tuning import ConstraintTuning, KMonTuning, constraint_ids
from backend.workloads.adhering import ArrivingTuples
from bench import kmon_choice
from bench.experiments.kmon_combining import LINKS, links_rates, links_trace, links_tuning
from bench.experiments.kmon_memory import CA, OAC, OAP, RIDS, MemorySetUp, traced
from bench.experiments.kmon_monitoring import CLUSTERED, ORDERED, REFERRING, tracked
from bench.experiments.kmon_running import BenchKMon, BenchQuery, BenchSWJ, stretches
from bench.experiments.kmon_sizes import KMonSizes, declared
from bench.stream_data import Answered, DifferentResults, answered

SET_UPS: Final[Mapping[str, MemorySetUp]] = {
    "RIDS (6.10)": RIDS,
    "CA (6.12)": CA,
    "OAP (6.14)": OAP,
    "OAC (6.16)": OAC,
}
#: A fifth of the windows, tuples and k of the text, which ``experiment kmon`` has whole; seconds.
FULL, SMALL = KMonSizes(scale=0.2, repeats=1), KMonSizes(scale=0.01, repeats=1)
SWJ, PLAIN, BUDGET, NEVER, WATCHED = "SWJ", "no constraints", "budget", "never", "watched"
#: Stretches of a run; memory and time are those of the last third, when windows are full.
_STRETCHES: Final = 30
#: What is aimed at: time over that of SWJ, and of the join without constraints; laying aside over
#: dropping; share of the time for watching; tuples of SWJ over those on the links.
_TIME, _TIME_PLAIN, _ASIDE, _MONITORS, _FEWER = 1.0, 0.9, 1.2, 0.02, 300


class KMonStretch(NamedTuple):
    """Some tuples by one lane. ns: of processor time, monitor_ns of it by its own clock; held,
    n_bytes: in memory at its end; swj, swj_bytes: of SWJ, a tuple taking as much as here."""

    ns: int
    answered: Answered
    monitor_ns: int = 0
    held: int = 0
    n_bytes: int = 0
    swj: int = 0
    swj_bytes: int = 0


class KMonLane(Protocol):
    """One way."""

    def step(self, begin: int, end: int, inputs: Sequence[Block]) -> KMonStretch:
        """Join tuples ``begin`` to ``end`` of the trace."""


class SWJLane:
    """The join of shrunk windows."""

    def __init__(self, query: BenchQuery, trace: ArrivingTuples) -> None:
        self._swj = BenchSWJ(query, trace)

    def step(self, begin: int, end: int, inputs: Sequence[Block]) -> KMonStretch:
        """See ``KMonLane``."""
        results, ns = self._swj.stretch(begin, end)
        return KMonStretch(ns, _came(results))


class TunedLane:
    """k-Mon's join."""

    def __init__(self, query: BenchQuery, tuning: KMonTuning) -> None:
        self._join = BenchKMon(query, tuning)

    def step(self, begin: int, end: int, inputs: Sequence[Block]) -> KMonStretch:
        """See ``KMonLane``."""
        outcome = self._join.stretch(inputs, end)
        return KMonStretch(
            outcome.profile.processor_ns,
            _came(self._join.made),
            outcome.profile.monitor_ns,
            outcome.held,
            outcome.n_bytes,
            outcome.plain,
            outcome.plain_bytes,
        )


def _came(block: Block) -> Answered:
    rows = np.flatnonzero(block.sign > 0)
    return answered([column.values[rows] for column in block.columns])


def main(sizes: KMonSizes = FULL) -> None:
    """Print all tables."""
    for title, of in SET_UPS.items():
        print(f"\n{title}: {of.words}; windows of {sizes.window:,} tuples\n{_HEAD}")
        for k in sizes.adherences:
            tell(f"k {k:,}", known_k(sizes, of, k))
    print(f"\nLinks (6.1), RIDS both ways, k estimated\n{_HEAD}")
    took = on_links(sizes)
    tell("links", took)
    tell_aim("SWJ's tuples on the links over those held", _fewer(took[BUDGET]), _FEWER, least=True)
    if sizes == FULL:
        kmon_choice.main()
    print("\nlost %: of all results, and of the worst block; used %: blocks in which k is in use")
    for of_k in (REFERRING, CLUSTERED, ORDERED):
        for estimator in ("literal", "censored"):
            run = tracked(sizes, of_k, estimator)
            print(
                f"{of_k.key} {estimator:9} lost {100 * run.lost_all:.3f}, worst "
                f"{100 * run.lost.max():.2f}; used {100 * run.used:.0f}; tuples / SWJ "
                f"{1 - run.saved:.3f}; {_aimed(run.lost_all, KMonTuning().loss_budget)}"
            )


def small() -> None:
    """The same in seconds: results are compared, times mean nothing."""
    main(SMALL)


def known_k(sizes: KMonSizes, of: MemorySetUp, k: int) -> dict[str, list[KMonStretch]]:
    """All lanes at a k of a figure."""
    query = BenchQuery(of.graph, sizes.window)
    trace = traced(of, sizes.run, k)(sizes.generators()[0])
    known = of.constraints(trace)
    ids = constraint_ids(query.work())
    lanes: dict[str, KMonLane] = {
        SWJ: SWJLane(query, trace),
        PLAIN: TunedLane(query, KMonTuning()),
        BUDGET: TunedLane(query, declared(known)),
        NEVER: TunedLane(query, declared(known, "never")),
        WATCHED: TunedLane(
            query, KMonTuning(tuple(ConstraintTuning(id, is_used=False) for id in ids))
        ),
    }
    return turns(lanes, query, trace)


def on_links(sizes: KMonSizes) -> dict[str, list[KMonStretch]]:
    """Without SWJ, whose windows here are of time; dropping may lose results."""
    trace = links_trace(sizes.seed, links_rates(sizes))
    lanes: dict[str, KMonLane] = {
        PLAIN: TunedLane(LINKS, KMonTuning()),
        BUDGET: TunedLane(LINKS, links_tuning(True)),
        NEVER: TunedLane(LINKS, links_tuning(True, "never")),
    }
    return turns(lanes, LINKS, trace, lossy=(BUDGET,))


def turns(
    lanes: Mapping[str, KMonLane],
    query: BenchQuery,
    trace: ArrivingTuples,
    lossy: Sequence[str] = (),
) -> dict[str, list[KMonStretch]]:
    """What each lane took, stretch by stretch; in another order each time. lossy: may lose results.
    Raises DifferentResults."""
    length, rng = max(1, len(trace.streams) // _STRETCHES), np.random.default_rng(0)
    took: dict[str, list[KMonStretch]] = {name: [] for name in lanes}
    begin = 0
    for end, inputs in stretches(trace, query.graph.n, length):
        for name in rng.permutation([*lanes]).tolist():
            took[name].append(lanes[name].step(begin, end, inputs))
        answers = {name: of[-1].answered for name, of in took.items() if name not in lossy}
        if len(set(answers.values())) > 1:
            raise DifferentResults(f"tuples {begin} to {end}: {answers}")
        begin = end
    return took


_HEAD: Final = (
    f"{'':10}{'lane':16}{'tuples':>10}{'/ SWJ':>8}{'bytes':>13}{'/ SWJ':>8}"
    f"{'ms':>8}{'/ SWJ':>8}{'/ plain':>9}"
)


def tell(title: str, took: Mapping[str, Sequence[KMonStretch]]) -> None:
    """A line for each lane: memory, and time for a stretch, paired; then what is aimed at."""
    late = {name: of[-len(of) // 3 :] for name, of in took.items()}
    swj, swj_bytes = (_mean(late[PLAIN], read) for read in ("swj", "swj_bytes"))
    for name, of in late.items():
        held, n_bytes = (_mean(of, read) for read in ("held", "n_bytes"))
        if name == SWJ:
            held, n_bytes = swj, swj_bytes
        ratios = "".join(
            f"{_ratio(of, late[lane]):{width}.2f}" if lane in late else f"{'–':>{width}}"
            for lane, width in ((SWJ, 8), (PLAIN, 9))
        )
        print(
            f"{title:10}{name:16}{held:10,.0f}{held / swj:8.3f}{n_bytes:13,.0f}"
            f"{n_bytes / swj_bytes:8.3f}{_mean(of, 'ns') / 1e6:8.1f}{ratios}"
        )
    if SWJ in late:
        tell_aim("  time over SWJ's", _ratio(late[BUDGET], late[SWJ]), _TIME)
        more = _ratio(late[WATCHED], late[PLAIN]) - 1
        share = _mean(late[WATCHED], "monitor_ns") / _mean(late[WATCHED], "ns")
        tell_aim(f"  watching, paired ({share:.3f} by its own clock)", more, _MONITORS)
    tell_aim("  time over that without constraints", _ratio(late[BUDGET], late[PLAIN]), _TIME_PLAIN)
    tell_aim("  aside over dropped, time", _ratio(late[NEVER], late[BUDGET]), _ASIDE)


def _mean(of: Sequence[KMonStretch], read: str) -> float:
    return float(np.mean([getattr(stretch, read) for stretch in of]))


def _ratio(of: Sequence[KMonStretch], base: Sequence[KMonStretch]) -> float:
    """Of times: the median stretch."""
    return median(own.ns / other.ns for own, other in zip(of, base, strict=True))


def _fewer(of: Sequence[KMonStretch]) -> float:
    late = of[-len(of) // 3 :]
    return _mean(late, "swj") / _mean(late, "held")


def tell_aim(what: str, value: float, aim: float, least: bool = False) -> None:
    """A number beside what it should be: at most, or at least."""
    print(f"{what}: {value:.3f}, {_aimed(-value if least else value, -aim if least else aim)}")


def _aimed(value: float, aim: float) -> str:
    return f"aim {abs(aim):g} {'held' if value <= aim else 'missed'}"
