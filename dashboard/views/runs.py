"""What the Runs page shows: every run with its numbers, and which of them need somebody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.base.face import WatchedNumber, watching
from dashboard.components.formats import show
from dashboard.views.standing import ALIVE, RunStanding, standing
from storage.exchange.liveness import LIVE_STATES
from storage.vocabulary.branches import BranchOf, branch_of
from storage.vocabulary.openings import about_of
from storage.vocabulary.records import Run

_ENDINGS: Final = {
    "interrupted": "The engine stopped without saying goodbye (killed, or the machine went down).",
    "failed": "The engine failed; it left no message.",
}

#: Severities that want somebody.
_NEEDING: Final = ("warning", "error")


class RunNumbers(NamedTuple):
    """Newest numbers of a run; None = not recorded. last_time: time of its newest record.
    backlog: tuples waiting then. period_s: between two batches lately. held: why none begins.
    is_over: no input gives tuples any more."""

    tuples_total: float | None = None
    matched_total: float | None = None
    misfits_total: float | None = None
    tuples_per_s: float | None = None
    visits_per_tuple: float | None = None
    plan_version: int | None = None
    n_switches: int | None = None
    last_batch: int | None = None
    last_time: float | None = None
    backlog: float | None = None
    period_s: float = 1.0
    held: str = ""
    is_over: bool = False


class RunLine(NamedTuple):
    """One line of the table. tuples_per_s: of the last batch while active, else the run's mean.

    state: how it stands. unmatched_prob: share of all tuples that satisfied no query. age_s: since
    the newest record, None when the run is over. need: what wants attention where the severity is
    warning or error, else a note; '' = nothing to say. branch: of what it is one,
    None for a run of its own. about: what its queries are about.
    """

    id: str
    workload: str
    stream: str
    state: RunStanding
    started_at: float
    duration_s: float | None
    tuples: float | None
    tuples_per_s: float | None
    mean_rate: bool
    unmatched_prob: float | None
    visits_per_tuple: float | None
    plan_version: int | None
    n_switches: int | None
    misfits: float | None
    age_s: float | None
    need: str
    severity: str
    branch: BranchOf | None = None
    about: str = ""


class RunsView(NamedTuple):
    """Rows newest first; the counts make the headline."""

    rows: list[RunLine]
    n_active: int
    n_needing: int


def numbers_of(
    latest: Mapping[str, float | None],
    plan_version: int | None,
    n_switches: int | None,
    last: tuple[int, float] | None,
    period_s: float = 1.0,
    held: str = "",
    is_over: bool = False,
) -> RunNumbers:
    """The numbers from the newest values of `system`; last: (batch, time) of the newest record."""
    watch = watching().watches.get("visits_per_tuple", WatchedNumber())
    visits = latest.get(watch.window)
    return RunNumbers(
        tuples_total=latest.get("tuples_total"),
        matched_total=latest.get("matched_total"),
        misfits_total=latest.get("misfits_total"),
        tuples_per_s=latest.get("tuples_per_s"),
        visits_per_tuple=visits if visits is not None else latest.get("visits_per_tuple"),
        plan_version=plan_version,
        n_switches=n_switches,
        last_batch=last[0] if last else None,
        last_time=last[1] if last else None,
        backlog=latest.get("backlog_tuples"),
        period_s=period_s,
        held=held,
        is_over=is_over,
    )


def build_runs(
    runs: Sequence[Run], numbers: Mapping[str, RunNumbers], now_of: Callable[[Run], float]
) -> RunsView:
    """All runs, newest first. now_of: Unix seconds by the clock of a run's engine, for ages."""
    ordered = sorted(runs, key=lambda run: run.started_at, reverse=True)
    rows = [_row(run, numbers.get(run.id, RunNumbers()), now_of(run)) for run in ordered]
    return RunsView(
        rows=rows,
        n_active=sum(row.state.word in ALIVE for row in rows),
        n_needing=sum(row.severity in _NEEDING for row in rows),
    )


def headline(view: RunsView) -> str:
    """One sentence over the table."""
    if not view.rows:
        return "No run yet"
    running = {0: "Nothing is running", 1: "1 run is running"}.get(
        view.n_active, f"{view.n_active} runs are running"
    )
    return f"{running}; {_needs(view)}"


def _needs(view: RunsView) -> str:
    """Of runs that are over only their misfits need somebody."""
    with_misfits = sum(bool(row.misfits) and row.severity == "info" for row in view.rows)
    misfits = f"misfits in {with_misfits} run{'' if with_misfits == 1 else 's'}"
    if not view.n_needing:
        return misfits if with_misfits else "nothing needs you"
    needs = f"{view.n_needing} need{'s' if view.n_needing == 1 else ''} attention"
    return f"{needs}, {misfits}" if with_misfits else needs


def _row(run: Run, numbers: RunNumbers, now: float) -> RunLine:
    active = run.state in LIVE_STATES
    newest = numbers.last_time or run.heartbeat_at
    end = now if active else (run.ended_at or newest)
    age_s = max(0.0, now - newest) if active and newest is not None else None
    stands = _standing(run, numbers, now)
    need, severity = _need(run, stands, numbers)
    is_timed = end is not None and (active or end >= run.started_at)  # else the clock was set back
    duration = max(0.0, end - run.started_at) if end is not None and is_timed else None
    return RunLine(
        id=run.id,
        workload=run.workload,
        stream=run.streams,
        state=stands,
        started_at=run.started_at,
        duration_s=duration,
        tuples=numbers.tuples_total,
        tuples_per_s=numbers.tuples_per_s if active else _mean(numbers.tuples_total, duration),
        mean_rate=not active,
        unmatched_prob=_unmatched(numbers),
        visits_per_tuple=numbers.visits_per_tuple,
        plan_version=numbers.plan_version,
        n_switches=numbers.n_switches,
        misfits=numbers.misfits_total,
        age_s=age_s,
        need=need,
        severity=severity,
        branch=branch_of(run),
        about=about_of(run),
    )


def _standing(run: Run, numbers: RunNumbers, now: float) -> RunStanding:
    beat = run.heartbeat_at or run.started_at
    silent = now - (run.ended_at or beat)
    recorded = None if numbers.last_time is None else now - numbers.last_time
    return standing(
        run.state,
        numbers.last_batch,
        recorded,
        silent,
        numbers.backlog,
        numbers.period_s,
        numbers.held,
        run.note,
        numbers.is_over,
    )


def _need(run: Run, stands: RunStanding, numbers: RunNumbers) -> tuple[str, str]:
    if run.state in _ENDINGS:
        severity = "error" if run.state == "failed" else "warning"
        return (run.note or _ENDINGS[run.state], severity)
    if stands.word == "stopped":
        return ("The engine was killed, or hangs: it gives no sign of life.", "error")
    if run.state == "starting":
        return (run.note or "Starting: no batch yet.", "info")
    if numbers.misfits_total:
        many = f"{show(numbers.misfits_total, 'int')} tuples kept aside as misfits."
        words = "1 tuple kept aside as a misfit." if numbers.misfits_total == 1 else many
        return (words, "info" if run.state == "ended" else "warning")
    return ("", "")


def _mean(tuples: float | None, duration: float | None) -> float | None:
    return tuples / duration if tuples is not None and duration else None


def _unmatched(numbers: RunNumbers) -> float | None:
    if not numbers.tuples_total or numbers.matched_total is None:
        return None
    return 1 - numbers.matched_total / numbers.tuples_total
