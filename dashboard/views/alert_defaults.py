"""Alerts that every run has, before anybody writes a rule: a dead engine, a backlog, misfits, and
state that will reach its limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from dashboard.components.formats import duration
from dashboard.views.alert_spells import Spell, forecast_s
from dashboard.views.alerts import AlertRule, AlertState
from dashboard.views.book import SYSTEM
from dashboard.views.gaps import Gap
from storage.tables.rows import SeriesData, StoredEvent
from storage.vocabulary.records import Batch, Run

#: A backlog of so many seconds of work, for so long; misfits of the last so many seconds.
BACKLOG_S: Final = 30.0
MISFITS_S: Final = 60.0
#: State that comes to its limit within so long, by what it grew over so long.
FULL_WITHIN_S: Final = 600.0
GROWN_OVER_S: Final = 60.0
BACKLOG: Final = "backlog_tuples"
_DEAD: Final = ("interrupted", "failed")
DEAD: Final = AlertRule(-1, "Dead engine", SYSTEM, "state", ">=", 1, False)
MISFITS: Final = AlertRule(-3, "Misfits", SYSTEM, "misfits", ">", 0, False)


def dead_engine(run: Run) -> AlertState:
    """The engine was killed, or failed."""
    is_dead = run.state in _DEAD
    since = run.ended_at or run.heartbeat_at if is_dead else None
    return AlertState(
        rule=DEAD, whose="Engine", value=float(is_dead), fires=is_dead, since=since, what="process"
    )


def dead_spells(gaps: Sequence[Gap], events: Sequence[StoredEvent]) -> list[Spell]:
    """When it was, before the run went on. events: those of the gaps among them."""
    states = {(e.event.ref or {}).get("since"): (e.event.ref or {}).get("state") for e in events}
    return [
        Spell(gap.since, gap.until, max(0, gap.batch - 1), 1.0, False)
        for gap in gaps
        if states.get(gap.since) in _DEAD
    ]


def backlog_rule(tuples_per_s: float | None) -> AlertRule:
    """More waits than is worked off in a while, at the rate of the batch."""
    most = round(BACKLOG_S * max(tuples_per_s or 0.0, 1.0))
    return AlertRule(-2, "Backlog", SYSTEM, BACKLOG, ">", most, False, BACKLOG_S)


def misfits(batches: Sequence[Batch]) -> AlertState:
    """Tuples were kept aside lately. batches: up to the moment, in any order."""
    now = max((batch.time for batch in batches), default=0.0)
    recent = [batch for batch in batches if batch.time >= now - MISFITS_S]
    total = sum(batch.n_misfits for batch in recent)
    since = min((batch.time for batch in recent if batch.n_misfits), default=None)
    what = f"misfits in {duration(MISFITS_S)}"
    return AlertState(
        MISFITS, "Engine", float(total), total > 0, since, None, what, "int", "tuples"
    )


def misfit_spells(batches: Sequence[Batch]) -> list[Spell]:
    """When misfits came. batches: oldest first; what is apart by less than the window is one."""
    when: list[Spell] = []
    newest = batches[-1].time if batches else 0.0
    for batch in batches:
        if not batch.n_misfits:
            continue
        n, lasts = float(batch.n_misfits), batch.time >= newest - MISFITS_S
        if when and batch.time - when[-1].until <= MISFITS_S:
            total = when[-1].worst + n
            when[-1] = when[-1]._replace(until=batch.time, worst=total, lasts=lasts)
        else:
            when.append(Spell(batch.time, batch.time, batch.id or 0, n, lasts))
    return when


def state_forecast(
    known: Mapping[str, tuple[str, SeriesData, float]],
) -> AlertState | None:
    """State of a unit will come to its limit; of several the first to. known: entity -> (name,
    how its state was, limit). None where no state has a limit."""
    if not known:
        return None
    left = {
        entity: seconds
        for entity, (_, series, limit) in known.items()
        if (seconds := forecast_s(series, limit, GROWN_OVER_S)) is not None
    }
    first = min(left, key=lambda entity: left[entity], default=next(iter(known)))
    rule = AlertRule(-4, "State", first, "full_in_s", "<", FULL_WITHIN_S, False)
    value = left.get(first)
    fires = value is not None and value < FULL_WITHIN_S
    what = "state at its limit in"
    whose = known[first][0]
    return AlertState(
        rule=rule, whose=whose, value=value, fires=fires, what=what, form="int", unit="s"
    )
