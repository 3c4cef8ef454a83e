"""What an operator network did in a batch as samples and matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from backend.model.ids import entity_id, unit_entity
from backend.operators.network.core.plan import Streams
from backend.operators.network.core.reports import (
    ClockReport,
    NetworkReport,
    OperatorCounts,
    QueueCurve,
    StoreReport,
    StubReport,
)
from backend.systems.publishing import Values, samples_of
from backend.systems.stream.holdings import Holding
from backend.systems.stream.layout import NetworkLayout
from backend.systems.stream.waiting import Wait
from storage.vocabulary.load import load_matrix, skew
from storage.vocabulary.records import Matrix, Sample

#: Queues shown in the matrix of curves: those in which most elements waited.
MOST_CURVES: Final = 40


def samples(
    layout: NetworkLayout,
    report: NetworkReport,
    n_shards: int,
    seconds: float | None,
    sizes: Mapping[str, int | None],
) -> list[Sample]:
    """All samples of a batch. seconds: since the batch before, None for the first; sizes: of what
    each query that answers has answered so far, None = unknown."""
    all_samples: list[Sample] = []
    busy = sum(operator.busy_ns for operator in report.operators.values())
    for stream, n in arrived(layout, report).items():
        all_samples += samples_of(layout.input(stream), _input(stream, n, report, seconds))
    for kept in layout.holdings:
        all_samples += samples_of(kept.id, _held(kept, report))
    for id in layout.words:
        counts = report.operators.get(id, OperatorCounts())
        all_samples += samples_of(layout.node(id), _operator(counts, busy, seconds))
        all_samples += samples_of(layout.node(id), _special(layout, id, counts))
    for id, curve in report.queues.items():
        all_samples += samples_of(layout.queue(id), _queue(curve, seconds))
    for query, size in sizes.items():
        n = report.answers.get(query, 0)
        all_samples.append(Sample(layout.answer(query), "reached_tuples", n, "tuples"))
        all_samples.append(Sample(layout.answer_queue(query), "flow_tuples", n, "tuples"))
        answer: Values = {
            "answer_tuples": (n, "tuples"),
            "net_tuples": (report.net.get(query, 0), "tuples"),
            "relation_tuples": (None if layout.plan.answers[query].is_stream else size, "tuples"),
            "answer_value": (_answer_value(report, query), "number"),
        }
        all_samples += samples_of(entity_id(layout.unit_id, "query", query), answer)
    return all_samples + samples_of(
        unit_entity(layout.unit_id), _unit(layout, report, n_shards, busy)
    )


def query_times(
    layout: NetworkLayout, report: NetworkReport, waits: Mapping[Streams, Wait]
) -> list[Sample]:
    """How far the time of each query is behind, and how long it has waited for a stream."""
    recorded: list[Sample] = []
    for query, clock in layout.clocks.items():
        if clock in report.clocks:
            wait = waits.get(clock)
            times: Values = {
                "heartbeat_lag": (_lag(report.clocks[clock]), "ticks"),
                "waits_s": (0.0 if wait is None else wait.seconds, "s"),
            }
            recorded += samples_of(entity_id(layout.unit_id, "query", query), times)
    return recorded


def _lag(clock: ClockReport) -> int | None:
    return max(0, clock.newest - clock.heartbeat) if clock.has_begun else None


def _answer_value(report: NetworkReport, query: str) -> float | None:
    """The last numeric column of the newest element with sign +."""
    for element in reversed(report.recent.get(query, ())):
        if element.sign > 0:
            numbers = [v for v in element.values.values() if type(v) in (int, float)]
            return float(numbers[-1]) if numbers else None
    return None


def _operator(counts: OperatorCounts, busy_ns: int, seconds: float | None) -> Values:
    n_in, n_out = counts.n_in, counts.n_out
    operator: dict[str, tuple[float | None, str]] = {
        "reached_tuples": (n_in, "tuples"),
        "emitted_tuples": (n_out, "tuples"),
        "element_selectivity": (n_out / n_in if n_in else None, ""),
        "processing_us": (counts.busy_ns / 1e3 / n_in if n_in else None, "us/tuple"),
        "time_share": (counts.busy_ns / busy_ns if busy_ns else None, "prob"),
        "scheduled_runs": (counts.n_runs, "runs"),
    }
    if seconds:
        operator["in_per_s"] = (n_in / seconds, "tuples/s")
        operator["out_per_s"] = (n_out / seconds, "tuples/s")
    return operator


def _input(stream: str, n: int, report: NetworkReport, seconds: float | None) -> Values:
    input: dict[str, tuple[float | None, str]] = {
        "reached_tuples": (n, "tuples"),
        "late_tuples": (report.n_late.get(stream, 0), "tuples"),
        "pending_tuples": (report.pending.get(stream, 0), "tuples"),
    }
    if seconds:
        input["in_per_s"] = (n / seconds, "tuples/s")
    return input


def _special(layout: NetworkLayout, id: str, counts: OperatorCounts) -> Values:
    """What not all operators have."""
    values: dict[str, tuple[float | None, str]] = {}
    if layout.words[id].role == "join":
        counted = counts.counters
        pairs = counted.get("pairs")
        values["probes"] = (counted.get("probes"), "probes")
        values["join_selectivity"] = (counted["matches"] / pairs if pairs else None, "")
    if layout.words[id].role == "coalesce":
        n_runs = counts.counters.get("runs")
        share = n_runs / counts.n_tuples if n_runs and counts.n_tuples else None
        values["coalesced_tuples"] = (n_runs, "tuples")
        values["coalesced_share"] = (share, "prob")
    return values


def _stub_of(store: StoreReport | None, kept: Holding) -> StubReport | None:
    """Of a synopsis, in a store."""
    stubs = () if store is None else store.stubs
    own = (kept.operators[0], kept.port)
    return next((stub for stub in stubs if (stub.operator, stub.port) == own), None)


def _held(kept: Holding, report: NetworkReport) -> Values:
    """What a synopsis, a store or a stub holds; nothing of a store that is not laid out yet."""
    if not kept.store:
        counts = report.operators.get(kept.operators[0], OperatorCounts())
        sizes: Values = {
            "size_tuples": (counts.n_tuples, "tuples"),
            "state_bytes": (counts.n_bytes, "bytes"),
        }
        return sizes
    store = report.stores.get(kept.store)
    if kept.role != "store" and _stub_of(store, kept) is None:  # as it drops tuples, it shares none
        store = next((s for s in report.stores.values() if _stub_of(s, kept) is not None), None)
    if store is None:
        return {}
    if kept.role == "store":
        return {
            "size_tuples": (store.n_tuples, "tuples"),
            "state_bytes": (store.n_bytes, "bytes"),
            "saved_bytes": (store.n_bytes_saved, "bytes"),
        }
    stub = _stub_of(store, kept)
    if stub is None:
        return {}
    values: dict[str, tuple[float | None, str]] = {"size_tuples": (stub.n_tuples, "tuples")}
    if kept.role == "stub":
        values["view_offset_tuples"] = (stub.behind, "tuples")
    else:
        values["state_bytes"] = (store.n_bytes, "bytes")
    return values


def _queue(curve: QueueCurve, seconds: float | None) -> Values:
    held = curve.tuples
    queue: dict[str, tuple[float | None, str]] = {
        "flow_tuples": (curve.n_passed, "tuples"),
        "size_tuples": (int(held[-1]) if len(held) else 0, "tuples"),
        "queue_peak_tuples": (curve.high, "tuples"),
        "queue_mean_tuples": (float(held.mean()) if len(held) else 0.0, "tuples"),
        "queue_bytes": (curve.high * curve.n_bytes, "bytes"),
    }
    if seconds:
        queue["in_per_s"] = (curve.n_passed / seconds, "tuples/s")
    return queue


def _unit(layout: NetworkLayout, report: NetworkReport, n_shards: int, busy_ns: int) -> Values:
    lags = [_lag(clock) or 0 for clock in report.clocks.values()]
    n_in = sum(arrived(layout, report).values())
    visits = sum(counts.n_in for id, counts in report.operators.items() if id in layout.words)
    return {
        "heartbeat": (report.heartbeat, "ticks"),
        "heartbeat_lag": (max(lags, default=0), "ticks"),
        "pending_tuples": (sum(report.pending.values()), "tuples"),
        "state_bytes": (report.state_bytes, "bytes"),
        "saved_bytes": (sum(store.n_bytes_saved for store in report.stores.values()), "bytes"),
        "log_bytes": (report.log_bytes, "bytes"),
        "shards": (n_shards, "shards"),
        **_skew(report),
        "visits_per_tuple": (visits / n_in if n_in else None, "visits/tuple"),
        "network_us": (busy_ns / 1e3 / n_in if n_in else None, "us/tuple"),
    }


def _skew(report: NetworkReport) -> dict[str, tuple[float | None, str]]:
    if not report.shards:
        return {}
    return {"shard_skew": (skew([shard.busy_ns for shard in report.shards]), "")}


def shard_load(report: NetworkReport) -> tuple[Matrix, ...]:
    """How a batch was spread over the shards; nothing of one."""
    return load_matrix(
        [
            {"tuples": shard.n_in, "busy_us": shard.busy_ns / 1e3, "state_bytes": shard.state_bytes}
            for shard in report.shards
        ]
    )


def curve_matrix(layout: NetworkLayout, report: NetworkReport) -> Matrix:
    """How many elements each queue held at the instants of a batch; None where nobody looked."""
    ranked = set(sorted(report.queues, key=lambda id: -report.queues[id].high)[:MOST_CURVES])
    shown = [id for id in report.queues if id in ranked and report.queues[id].high]
    curves = [report.queues[id] for id in shown]
    times = sorted({int(time) for curve in curves for time in curve.times})
    values: list[list[Any]] = []
    for curve in curves:
        held = dict(zip(curve.times.tolist(), curve.tuples.tolist(), strict=True))
        values.append([held.get(time) for time in times])
    ids = [layout.queue(id) for id in shown]
    return Matrix(
        name="queue curve",
        kind="queue curve",
        rows=tuple(ids),
        columns=tuple(map(str, times)),
        values=values,
        unit="tuples",
        n=len(times),
        row_stats={"peak": [curve.high for curve in curves]},
    )


def arrived(layout: NetworkLayout, report: NetworkReport) -> dict[str, int]:
    """Stream -> its tuples that came into the network in a batch."""
    counts = report.operators
    return {
        stream: max((counts[id].n_in for id in ids if id in counts), default=0)
        for stream, ids in layout.streams.items()
    }


def decision_words(
    layout: NetworkLayout, operator: str, waiting: Mapping[str, int]
) -> tuple[str, str]:
    """A scheduling decision in words: what ran, and what waits in which queue then."""
    held = {layout.queue_name(id): n for id, n in waiting.items() if n}
    words = [f"{name}: {n}" for name, n in sorted(held.items(), key=lambda pair: -pair[1])]
    return f"{layout.names[operator]} ran", ", ".join(words) or "nothing waits"
