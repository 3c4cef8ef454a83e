"""Whether the process of a run is gone."""

from __future__ import annotations

import os
import socket
from typing import Final

from storage.vocabulary.records import Run

#: A running engine beats at least this often; older than this, its process id proves nothing (s).
STALE_AFTER_S: Final = 60.0
LIVE_STATES: Final = ("starting", "running")


def is_gone(run: Run, now: float) -> bool:
    """Whether no process of this host can still be working on ``run``, begun by another one.

    now: Unix seconds. A live process id is believed only while the heartbeat is fresh, since ids
    are reused; a run that carries this very process's id is gone, as this process did not begin it.
    """
    if run.host != socket.gethostname():
        return False
    if run.pid == os.getpid():
        return True
    return now - _last_sign(run) > STALE_AFTER_S or not process_exists(run.pid)


def may_live(run: Run, now: float) -> bool:
    """Whether another process may still be executing ``run``; of other hosts only the heartbeat
    is known, and believed while it is fresh."""
    if run.state not in LIVE_STATES:
        return False
    if run.host == socket.gethostname():
        return not is_gone(run, now)
    return now - _last_sign(run) <= STALE_AFTER_S


def _last_sign(run: Run) -> float:
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
