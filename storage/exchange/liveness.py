"""Whether the process of a run is gone, and what is then shown of it."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from typing import Final

from storage.vocabulary.records import Run

#: A running engine beats at least this often; older than this, its process id proves nothing (s).
STALE_AFTER_S: Final = 60.0
LIVE_STATES: Final = ("starting", "running")


def is_gone(run: Run, now: float, is_held: bool | None = None) -> bool:
    """Whether no process of this host can still be working on ``run``, begun by another one.

    is_held: whether some process holds its lock; None: not known. Then it is judged by now, in Unix
    seconds: a live process id is believed only while the heartbeat is fresh, since ids are reused;
    a run that carries this very process's id is gone, as this process did not begin it.
    """
    if is_held is not None:
        return not is_held
    if run.host != socket.gethostname():
        return False
    if run.pid == os.getpid():
        return True
    return now - last_sign(run) > STALE_AFTER_S or not process_exists(run.pid)


def may_live(run: Run, now: float, is_held: bool | None = None) -> bool:
    """Whether another process may still be executing ``run``. is_held: as of is_gone; without it
    of other hosts only the heartbeat is known, and believed while it is fresh."""
    if run.state not in LIVE_STATES:
        return bool(is_held)
    if is_held is not None:
        return is_held
    if run.host == socket.gethostname():
        return not is_gone(run, now)
    return now - last_sign(run) <= STALE_AFTER_S


class Signs:
    """How long runs have been silent for who looks at them again and again: the first look goes by
    the time of day, later ones by a clock that nobody sets; a new sign is no older than the last
    look, however the time of day was set."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float, float, float]] = {}  # sign, since when, last look

    def silent_s(self, run: Run, now: float, at: float) -> float:
        """now: Unix seconds; at: monotonic seconds."""
        sign = last_sign(run)
        before = self._seen.get(run.id)
        if before is not None and before[0] == sign:
            since = before[1]
        else:  # a sign that came since the last look may have come at any time since then
            by_day = max(0.0, now - sign)
            since = at - (by_day if before is None else min(by_day, at - before[2]))
        self._seen[run.id] = (sign, since, at)
        return at - since

    def now_of(self, run: Run, now: float, at: float) -> float:
        """The time by the clock of the run's engine, which may be on another machine; until its
        second sign of life by the clock here. now: Unix seconds; at: monotonic seconds."""
        return last_sign(run) + self.silent_s(run, now, at)


def as_seen(run: Run, now: float) -> Run:
    """The run as others are to see it: one that is recorded as at work, and whose process is gone
    or silent for long, is interrupted, whether or not it was marked so. Of a run that names no host
    nothing is known.

    now: by the clock of its engine, as Signs has it. Unlike for those who mark runs, this process
    may be the run's own.
    """
    is_here = run.host == socket.gethostname()
    is_own = is_here and run.pid == os.getpid()
    if run.state not in LIVE_STATES or is_own or not run.host:
        return run
    if is_here and not process_exists(run.pid):
        note = gone_note(run)
    elif now - last_sign(run) > STALE_AFTER_S:
        note = f"no sign of life from process {run.pid} on {run.host} for more than a minute"
    else:
        return run
    return replace(run, state="interrupted", note=note, ended_at=last_sign(run))


def gone_note(run: Run) -> str:
    """What is noted of a run whose process is gone, with what its engine did last."""
    last = f"; the last was: {run.note}" if run.note else ""
    return f"the process {run.pid} on {run.host} is gone{last}"


def last_sign(run: Run) -> float:
    """When the run's engine last gave a sign of life, by its own clock (Unix s)."""
    return run.started_at if run.heartbeat_at is None else run.heartbeat_at


def process_exists(pid: int) -> bool:
    """Whether a process of this id runs here."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
