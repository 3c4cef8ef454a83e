"""What caches save and cost: the cost model of [B05] §5.5.1, exact (card 10.1).

Time is counted in elements of the join: "per element" is per element of whatever input, so flows of
pipelines are comparable and add up. Costs are in one unit throughout, nanoseconds where they are
measured and index probes where they are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from backend.operators.network.joins.join_tuning import Segment
from backend.systems.joins.decide.candidates import CacheCandidate


class PipelineFlow(NamedTuple):
    """A pipeline of n-1 steps. share, minus_share: elements, and deletions, of its input per
    element of the join. entering: d_ij, tuples per element that enter each step; the last of the n
    is results. step_costs: c_ij, of a tuple that enters. n: profiled elements behind it."""

    share: float
    minus_share: float
    entering: tuple[float, ...]
    step_costs: tuple[float, ...]
    n: int

    def segment_cost(self, first: int, last: int) -> float:
        """Σ d_il c_il over steps first..last, per element of the join."""
        return sum(self.entering[step] * self.step_costs[step] for step in range(first, last + 1))


class UnitCosts(NamedTuple):
    """What operations of a cache cost: a look-up, forwarding one tuple of a hit (as much as a probe
    of an index), an insert, delete or create."""

    lookup: float
    forward: float
    update: float


class ReaderCosts(NamedTuple):
    """A cache at one segment, per element of the join; all as in the cost model.

    lookups: d_ij. segment: what the segment costs without it. leaving: tuples that leave the
    segment. probe_cost: of a look-up, hits forwarded included. creates: what is taken
    in if all look-ups miss. n_probes: look-ups that miss_prob rests on.
    """

    segment: float
    lookups: float
    leaving: float
    probe_cost: float
    creates: float
    miss_prob: float
    n_probes: int

    @property
    def on_miss(self) -> float:
        """What happens if all look-ups miss, less the look-ups: the segment and the creates."""
        return self.segment + self.creates

    @property
    def proc(self) -> float:
        """proc(C): what the operators of the segment cost with the cache."""
        return self.lookups * self.probe_cost + self.miss_prob * self.on_miss

    @property
    def benefit(self) -> float:
        """benefit(C) = segment - proc(C)."""
        return self.segment - self.proc


def reader_costs(
    flow: PipelineFlow,
    reader: Segment,
    units: UnitCosts,
    miss_prob: float,
    n_probes: int,
    n_counted: int = 0,
) -> ReaderCosts:
    """A cache looked up before step ``reader.first`` of a pipeline. miss_prob: [0, 1].

    A miss costs an update for each tuple of the segment, and one where there is none, as that is
    noted as well. n_counted: inputs whose witnesses are looked for, by a probe and a match each,
    for every such tuple.
    """
    lookups, leaving = flow.entering[reader.first], flow.entering[reader.last + 1]
    forwarded = leaving / lookups if lookups else 0.0
    return ReaderCosts(
        segment=flow.segment_cost(reader.first, reader.last),
        lookups=lookups,
        leaving=leaving,
        probe_cost=units.lookup + units.forward * forwarded,
        creates=units.update * max(lookups, leaving) + 2 * n_counted * units.forward * leaving,
        miss_prob=miss_prob,
        n_probes=n_probes,
    )


def maintenance_cost(
    candidate: CacheCandidate, flows: Sequence[PipelineFlow], units: UnitCosts
) -> float:
    """cost(C): an update for each tuple that leaves the prefix of a pipeline of X ∪ Y.

    A keyed cache is told of results by the pipelines of X alone; each deletion of its witness is
    one probe for another one with that key (card 11).
    """
    step = candidate.update_step + 1
    cost = units.update * sum(flows[i].entering[step] for i in candidate.told_by)
    if candidate.keyed:
        cost += units.forward * sum(flows[i].minus_share for i in candidate.witnesses)
    return cost


def bare_costs(flows: Sequence[PipelineFlow]) -> tuple[tuple[float, ...], ...]:
    """By pipeline: what each step costs without caches, per element of the join."""
    return tuple(
        tuple(d * c for d, c in zip(flow.entering, flow.step_costs, strict=False)) for flow in flows
    )


def lookup_cost(
    flows: Sequence[PipelineFlow], readers: Sequence[Segment], units: UnitCosts
) -> float:
    """Of one look-up of a cache by its readers, on average, as assumed before it is measured."""
    lookups = sum(flows[reader.pipeline].entering[reader.first] for reader in readers)
    leaving = sum(flows[reader.pipeline].entering[reader.last + 1] for reader in readers)
    return units.lookup + units.forward * leaving / lookups if lookups else 0.0
