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
    AnswerElement,
    NetworkReport,
    OperatorCounts,
    QueueCurve,
    ShardLoad,
    StoreReport,
    StubReport,
)
from backend.operators.network.joins.join_tuning import added_fields

#: Elements of an answer that are told of a batch, at most.
RECENT_ELEMENTS: Final = 50
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What a shard did. parts: query -> files of its answer in the staging folder.

    What follows is told by shard 0 alone. late_parts: stream -> files of late tuples; n_tuples:
    tuples it was given, late ones not counted; slowest: streams that time waits for.
    """

    unit: str
    shard: int
    network: NetworkReport
    parts: Mapping[str, tuple[str, ...]]
    late_parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    n_tuples: int = 0
    slowest: frozenset[str] = frozenset()

    def packed(self) -> bytes:
        """For the way to the driver."""
        return pickle.dumps(self, protocol=5)


@dataclass(frozen=True)
class MergedShards:
    """What the shards of a unit did. parts: query -> files to publish; late_parts: stream -> files
    of late tuples; slowest: streams that time waits for."""

    result: UnitResult
    parts: Mapping[str, tuple[str, ...]]
    late_parts: Mapping[str, tuple[str, ...]]
    slowest: frozenset[str]


def merged_shards(reports: Sequence[ShardReport]) -> MergedShards:
    """The reports of a unit's shards as one, by their numbers; at least one."""
    report = merged_network([one.network for one in reports])
    parts: dict[str, tuple[str, ...]] = {}
    for one in reports:
        for query, names in one.parts.items():
            parts[query] = (*parts.get(query, ()), *names)
    first = reports[0]
    matched = {query: n for query, n in report.answers.items() if n}
    result = UnitResult(first.n_tuples, sum(matched.values()), matched, report)
    return MergedShards(result, parts, first.late_parts, first.slowest)


def merged_network(reports: Sequence[NetworkReport]) -> NetworkReport:
    """The reports of a unit's shards as one; at least one."""
    return NetworkReport(
        heartbeat=max(one.heartbeat for one in reports),
        operators=_together((one.operators for one in reports), _added),
        queues=_together((one.queues for one in reports), _summed),
        answers=_counted(one.answers for one in reports),
        net=_counted(one.net for one in reports),
        recent=_together((one.recent for one in reports), _last),
        n_late=_counted(one.n_late for one in reports),
        late={name: found for one in reports for name, found in one.late.items()},
        pending=_counted(one.pending for one in reports),
        state_bytes=sum(one.state_bytes for one in reports),
        log_bytes=sum(one.log_bytes for one in reports),
        attached=_counted(one.attached for one in reports),
        newest=max(one.newest for one in reports),
        stores=_together((one.stores for one in reports), _store),
        shards=tuple(_load(one) for one in reports) if len(reports) > 1 else (),
    )


def _load(report: NetworkReport) -> ShardLoad:
    counts = report.operators.values()
    n_in, busy_ns = sum(one.n_in for one in counts), sum(one.busy_ns for one in counts)
    return ShardLoad(n_in, busy_ns, report.state_bytes)


def _counted(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for one in counts:
        for name, n in one.items():
            found[name] += n
    return dict(found)


def _together(
    parts: Iterable[Mapping[str, _T]], join: Callable[[Sequence[_T]], _T]
) -> dict[str, _T]:
    """By name what several say, joined where more than one does."""
    found: dict[str, list[_T]] = {}
    for one in parts:
        for name, value in one.items():
            found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else join(values) for name, values in found.items()}


def _added(counts: Sequence[OperatorCounts]) -> OperatorCounts:
    names = dict.fromkeys(name for one in counts for name in one.counters)
    profiles = [one.profile for one in counts if one.profile is not None]
    return replace(
        added_fields(counts, ("counters", "profile")),
        counters={name: sum(one.counters.get(name, 0.0) for one in counts) for name in names},
        profile=profiles[0].merged(profiles[1:]) if profiles else None,
    )


def _store(parts: Sequence[StoreReport]) -> StoreReport:
    """A store of all shards: they are laid out alike, but for stubs still apart."""
    stubs: dict[tuple[str, int], StubReport] = {}
    for one in (stub for part in parts for stub in part.stubs):
        before = stubs.get((one.operator, one.port), StubReport(one.operator, one.port, 0, 0))
        stubs[one.operator, one.port] = StubReport(
            one.operator, one.port, before.n_tuples + one.n_tuples, before.behind + one.behind
        )
    return replace(added_fields(parts, ("id", "stubs")), stubs=tuple(stubs.values()))


def _summed(curves: Sequence[QueueCurve]) -> QueueCurve:
    """Lengths added up tick by tick: shards have one time. high: as if all were highest at once
    where that was not seen."""
    times = np.unique(np.concatenate([one.times for one in curves]))
    tuples: Ints = np.sum([_at(times, one) for one in curves], axis=0, dtype=np.int64)
    return QueueCurve(
        times,
        tuples,
        sum(one.high for one in curves),
        sum(one.n_passed for one in curves),
        curves[0].n_bytes,
    )


def _at(times: Ints, curve: QueueCurve) -> Ints:
    """What the queue held at some ticks: what it did when it was looked at last."""
    places = np.searchsorted(curve.times, times, side="right") - 1
    found: Ints = np.where(places >= 0, np.append(curve.tuples, 0)[places], 0)
    return found


def _last(answers: Sequence[tuple[AnswerElement, ...]]) -> tuple[AnswerElement, ...]:
    """The last elements of all shards, in order of time."""
    elements = sorted((one for answer in answers for one in answer), key=lambda one: one.tau)
    return tuple(elements[-RECENT_ELEMENTS:])
