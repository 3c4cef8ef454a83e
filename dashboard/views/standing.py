"""How a run stands, in the one word that header, list of runs and notices use. Pure.

The store has a run's last written state; whether its engine still works follows from its signs of
life. modules/standing.js tells the same, second by second.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from dashboard.components.formats import age, show
from storage.exchange.liveness import LIVE_STATES
from storage.vocabulary.kinds import Phase

Word: TypeAlias = Literal[
    "starting", "running", "working", "idle", "paused", "stopped", "ended", "interrupted", "failed"
]
Level: TypeAlias = Literal["quiet", "ok", "amber", "red"]

#: Words of runs whose engine lives.
ALIVE: Final = ("starting", "running", "working", "idle", "paused")
#: An engine that runs gives a sign of life every two seconds, one that starts need not.
_SILENT_S: Final = 10.0
_SLOW_START_S: Final = 60.0
_LATE_PERIODS: Final = 3
_OVERDUE_PERIODS: Final = 10
_LATE_S: Final = 3.0
_WAITS: Final[Phase] = "waits for input"
_NO_MORE: Final = "no more input"


class RunStanding(NamedTuple):
    """word: of the run's state. words: what it does or since when. level: how much it matters."""

    word: str
    words: str
    level: Level


def standing(
    state: str,
    batch: int | None,
    age_s: float | None,
    beat_age_s: float | None,
    backlog: float | None,
    period_s: float,
    held: str = "",
    note: str = "",
    is_over: bool = False,
) -> RunStanding:
    """How the run stands now.

    state: as stored. batch: newest, None before the first. age_s: since it was recorded.
    beat_age_s: since the engine's last other sign of life. backlog: tuples that waited at the
    newest batch; None = unknown. period_s: between two batches lately. held: why no batch begins.
    note: of the run, what its engine said last that it does. is_over: no input gives more tuples.
    """
    doing = "" if note == _WAITS else note
    signs = [seconds for seconds in (age_s, beat_age_s) if seconds is not None]
    silence = min(signs, default=0.0)
    if state not in LIVE_STATES:
        return RunStanding(state, f"{state} {age(min(signs))} ago" if signs else state, "quiet")
    period = max(0.2, period_s)
    patience = _SLOW_START_S if state == "starting" else _SILENT_S
    if silence > max(patience, _OVERDUE_PERIODS * period):
        last = f", the last was: {doing}" if doing else ""
        words = f"ENGINE STOPPED · no sign of life for {age(silence)}{last}"
        return RunStanding("stopped", words, "red")
    if held:
        return RunStanding("paused", f"paused {held}", "amber")
    if state == "starting" or batch is None or age_s is None:
        words = f"{doing}, waits for the first batch" if doing else "waits for the first batch"
        return RunStanding(state, words, "quiet")
    if age_s <= max(_LATE_S, _LATE_PERIODS * period):
        return RunStanding("running", f"data {age(age_s)} old", "ok")
    if backlog == 0:
        doing = _NO_MORE if is_over else doing or _WAITS
        return RunStanding("idle", f"{doing}, data {age(age_s)} old", "ok")
    level: Level = "amber" if age_s > _OVERDUE_PERIODS * period else "ok"
    words = f"batch {show(batch + 1, 'int')} running {age(age_s)}"
    if backlog is None:
        words = f"no batch for {age(age_s)}"
    if doing:
        words += f" · {doing}"
    return RunStanding("working", words, level)
