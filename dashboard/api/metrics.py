"""Prometheus text format (0.0.4) of the runs that are going on and of the dashboard itself."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dashboard.serving.services import Services
from storage.exchange.liveness import LIVE_STATES
from storage.vocabulary.records import Run

MEDIA: Final = "text/plain"
_MOST_RUNS: Final = 8


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its name after ``planwatch_``, type and meaning with the unit."""

    name: str
    kind: str
    help: str


_SYSTEM: Final = (
    Family("tuples_total", "counter", "Tuples filtered since the run began."),
    Family("matched_total", "counter", "Tuples satisfying at least one query."),
    Family("misfits_total", "counter", "Tuples kept aside: no query could take them."),
    Family("tuples_per_s", "gauge", "Tuples filtered per second since the batch before ended."),
    Family("visits_per_tuple", "gauge", "Constructs visited per tuple in the last batch."),
    Family("dropping_ratio", "gauge", "Share of the last batch's tuples dropped early, 0..1."),
    Family("batch_ms", "gauge", "Duration of the last batch (ms)."),
    Family("backlog_tuples", "gauge", "Tuples that arrived and wait for a batch."),
    Family("decisions_total", "counter", "Trigger evaluations, stored or not."),
)
_LAST_BATCH: Final = Family("last_batch", "gauge", "Number of the newest batch.")
_PLAN: Final = Family("plan_version", "gauge", "Version of the plan in force.")
_INFO: Final = Family("run_info", "gauge", "1 for each run shown; its state in a label.")
_HEARTBEAT: Final = Family(
    "heartbeat_seconds", "gauge", "Last sign of life of the engine (Unix s)."
)
_VERDICTS: Final = Family(
    "decisions_stored_total", "counter", "Stored decisions by verdict; rejected ones are sampled."
)
_STREAMS: Final = Family("sse_clients", "gauge", "Open live streams of this dashboard.")
_POLL: Final = Family("poll_ms", "gauge", "Duration of the last look at the store (ms).")
_POLLS: Final = Family("polls_total", "counter", "Looks at the store since the start.")


def render(services: Services) -> str:
    """The page: runs going on (else the newest one), then the dashboard. Raises StoreError."""
    runs = services.reader.runs()
    shown = [run for run in runs if run.state in LIVE_STATES][:_MOST_RUNS] or list(runs[:1])
    lines = [line for family in _by_family(services, shown) for line in family]
    live = services.live
    lines += _single(_STREAMS, live.n_clients)
    lines += _single(_POLL, round(live.poll_ms, 3))
    lines += _single(_POLLS, live.polls_total)
    return "\n".join(lines) + "\n"


def _by_family(services: Services, runs: list[Run]) -> Iterator[list[str]]:
    """The lines of one metric after another; the format wants all runs of a metric together."""
    reader = services.reader
    system = {run.id: reader.values(run.id).get("system", {}) for run in runs}
    plans = {run.id: reader.plan_at(run.id) for run in runs}
    yield _family(_INFO, [(_labels(run, state=run.state), 1) for run in runs])
    for family in _SYSTEM:
        yield _family(family, [(_labels(run), system[run.id].get(family.name)) for run in runs])
    yield _family(_LAST_BATCH, [(_labels(run), reader.last_batch(run.id)) for run in runs])
    versions = [
        (_labels(run), plan.version if plan else None) for run in runs for plan in (plans[run.id],)
    ]
    yield _family(_PLAN, versions)
    yield _family(_HEARTBEAT, [(_labels(run), run.heartbeat_at) for run in runs])
    verdicts: list[tuple[str, float | None]] = []
    for run in runs:
        counts = reader.decision_counts(run.id).by_verdict
        verdicts += [(_labels(run, verdict=name), n) for name, n in sorted(counts.items())]
    yield _family(_VERDICTS, verdicts)


def _family(family: Family, values: Sequence[tuple[str, float | None]]) -> list[str]:
    """Header and samples; unknown values are left out, and a metric without any altogether."""
    known = [(labels, value) for labels, value in values if _is_known(value)]
    if not known:
        return []
    name = f"planwatch_{family.name}"
    head = [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}"]
    return head + [f"{name}{labels} {value!r}" for labels, value in known]


def _single(family: Family, value: float) -> list[str]:
    return _family(family, [("", value)])


def _is_known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _labels(run: Run, **more: str) -> str:
    names = {"run": run.id, "workload": run.workload, "stream": run.streams, **more}
    return "{" + ",".join(f'{key}="{_escaped(text)}"' for key, text in names.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
