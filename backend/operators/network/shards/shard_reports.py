"""What shards tell of a batch, and how it adds up."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

import numpy as np

from backend.operators.contract import UnitResult
from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.reports import (
    MOST_CHANGED,
    AnswerElement,
    Changed,
    NetworkReport,
    OperatorCounts,
    QueueCurve,
    ShardLoad,
    StoreReport,
    StubReport,
    Tapped,
    TappedElement,
)
from backend.operators.network.joins.join_tuning import added_fields
from storage.vocabulary.records import Json

#: Elements of an answer that are told of a batch, at most.
RECENT_ELEMENTS: Final = 50
#: Different elements of an operator that are kept of a batch for who looks at them, at most.
TAPPED_ELEMENTS: Final = 20
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What a shard did. parts: query -> files of its answer in the staging folder.

    What follows is told by shard 0 alone. late_parts: stream -> files of late tuples; n_tuples:
    tuples it was given, late ones not counted.
    """

    unit: str
    shard: int
    network: NetworkReport
    parts: Mapping[str, tuple[str, ...]]
    late_parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    n_tuples: int = 0

    def packed(self) -> bytes:
        """For the way to the driver."""
        return pickle.dumps(self, protocol=5)


@dataclass(frozen=True)
class MergedShards:
    """What the shards of a unit did. parts: query -> files to publish; late_parts: stream -> files
    of late tuples."""

    result: UnitResult
    parts: Mapping[str, tuple[str, ...]]
    late_parts: Mapping[str, tuple[str, ...]]


def merged_shards(reports: Sequence[ShardReport]) -> MergedShards:
    """The reports of a unit's shards as one, by their numbers; at least one."""
    report = merged_network([shard_report.network for shard_report in reports])
    parts: dict[str, tuple[str, ...]] = {}
    for shard_report in reports:
        for query, names in shard_report.parts.items():
            parts[query] = (*parts.get(query, ()), *names)
    first = reports[0]
    matched = {query: n for query, n in report.answers.items() if n}
    result = UnitResult(first.n_tuples, sum(matched.values()), matched, report)
    return MergedShards(result, parts, first.late_parts)


def merged_network(reports: Sequence[NetworkReport]) -> NetworkReport:
    """The reports of a unit's shards as one; at least one."""
    return NetworkReport(
        heartbeat=max(report.heartbeat for report in reports),
        clocks=reports[0].clocks,
        operators=_together((report.operators for report in reports), _added),
        queues=_together((report.queues for report in reports), _summed),
        answers=_counted(report.answers for report in reports),
        net=_counted(report.net for report in reports),
        recent=_together((report.recent for report in reports), _last),
        changed=_together((report.changed for report in reports), _all_changed),
        n_late=_counted(report.n_late for report in reports),
        late={name: tuples for report in reports for name, tuples in report.late.items()},
        n_missed=_counted(report.n_missed for report in reports),
        missed={name: tuples for report in reports for name, tuples in report.missed.items()},
        pending=_counted(report.pending for report in reports),
        state_bytes=sum(report.state_bytes for report in reports),
        log_bytes=sum(report.log_bytes for report in reports),
        attached=_counted(report.attached for report in reports),
        stores=_together((report.stores for report in reports), _store),
        shards=tuple(_load(report) for report in reports) if len(reports) > 1 else (),
        tapped=_together((report.tapped for report in reports), _least),
    )


def _load(report: NetworkReport) -> ShardLoad:
    counts = report.operators.values()
    n_in, busy_ns = (
        sum(operator.n_in for operator in counts),
        sum(operator.busy_ns for operator in counts),
    )
    return ShardLoad(n_in, busy_ns, report.state_bytes)


def _counted(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for shard_counts in counts:
        for name, n in shard_counts.items():
            sums[name] += n
    return dict(sums)


def _together(
    parts: Iterable[Mapping[str, _T]], join: Callable[[Sequence[_T]], _T]
) -> dict[str, _T]:
    """By name what several say, joined where more than one does."""
    by_name: dict[str, list[_T]] = {}
    for part in parts:
        for name, value in part.items():
            by_name.setdefault(name, []).append(value)
    return {
        name: values[0] if len(values) == 1 else join(values) for name, values in by_name.items()
    }


def _added(counts: Sequence[OperatorCounts]) -> OperatorCounts:
    names = dict.fromkeys(name for operator in counts for name in operator.counters)
    profiles = [operator.profile for operator in counts if operator.profile is not None]
    return replace(
        added_fields(counts, ("counters", "profile")),
        counters={
            name: sum(operator.counters.get(name, 0.0) for operator in counts) for name in names
        },
        profile=profiles[0].merged(profiles[1:]) if profiles else None,
    )


def _store(parts: Sequence[StoreReport]) -> StoreReport:
    """A store of all shards: they are laid out alike, but for stubs still apart."""
    stubs: dict[tuple[str, int], StubReport] = {}
    for stub in (stub for part in parts for stub in part.stubs):
        before = stubs.get((stub.operator, stub.port), StubReport(stub.operator, stub.port, 0, 0))
        stubs[stub.operator, stub.port] = StubReport(
            stub.operator, stub.port, before.n_tuples + stub.n_tuples, before.behind + stub.behind
        )
    return replace(added_fields(parts, ("id", "stubs")), stubs=tuple(stubs.values()))


def _summed(curves: Sequence[QueueCurve]) -> QueueCurve:
    """Lengths added up tick by tick: shards have one time. high: as if all were highest at once
    where that was not seen."""
    times = np.unique(np.concatenate([curve.times for curve in curves]))
    tuples: Ints = np.sum([_at(times, curve) for curve in curves], axis=0, dtype=np.int64)
    return QueueCurve(
        times,
        tuples,
        sum(curve.high for curve in curves),
        sum(curve.n_passed for curve in curves),
        curves[0].n_bytes,
    )


def _at(times: Ints, curve: QueueCurve) -> Ints:
    """What the queue held at some ticks: what it did when it was looked at last."""
    places = np.searchsorted(curve.times, times, side="right") - 1
    lengths: Ints = np.where(places >= 0, np.append(curve.tuples, 0)[places], 0)
    return lengths


def _all_changed(parts: Sequence[Changed]) -> Changed:
    """The rows that changed in all shards together."""
    net: Counter[tuple[Json, ...]] = Counter()
    for part in parts:
        if part is None:
            return None
        net.update(dict(part))
    rows = tuple((row, n) for row, n in net.items() if n)
    return rows if len(rows) <= MOST_CHANGED else None


def _last(answers: Sequence[tuple[AnswerElement, ...]]) -> tuple[AnswerElement, ...]:
    """The last elements of all shards, in order of time."""
    elements = sorted(
        (element for answer in answers for element in answer), key=lambda element: element.tau
    )
    return tuple(elements[-RECENT_ELEMENTS:])


def _least(taps: Sequence[Tapped]) -> Tapped:
    """The elements of all shards that have the least ranks."""
    by_rank: dict[tuple[int, int], TappedElement] = {}
    for kept in (kept for tap in taps for kept in tap.elements):
        same = by_rank.get(kept.rank)
        by_rank[kept.rank] = kept if same is None else same._replace(n=same.n + kept.n)
    least = tuple(by_rank[rank] for rank in sorted(by_rank)[:TAPPED_ELEMENTS])
    return Tapped(taps[0].columns, least)
