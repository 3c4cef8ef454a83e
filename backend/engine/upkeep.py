"""What is done now and then while a run lasts: signs of life, what is old rolled up."""

from __future__ import annotations

import math
import threading
import time
from typing import Final

from backend.engine.run_log import RunLog
from storage.vocabulary.kinds import Phase
from storage.writer import EngineWriter

HEARTBEAT_S: Final = 2.0
#: A phase that has lasted so long is told with the signs of life.
TOLD_AFTER_S: Final = 1.0
#: What is old is rolled up this often; the space it took is given back in steps, one at a time.
TIDY_S: Final = 60.0


class Upkeep:
    """Of one run. What is due goes by a clock that nobody sets."""

    def __init__(self, writer: EngineWriter, run_id: str, log: RunLog | None = None) -> None:
        self._writer, self._run_id, self._log = writer, run_id, log
        self._beat_at, self._tidied_at = -math.inf, time.monotonic()
        self._phase: tuple[Phase, float] = ("", time.monotonic())
        self._told: Phase = ""
        self._looking = threading.Lock()
        self._gives_back = True

    def begins(self, phase: Phase) -> None:
        """The engine does this from now on; called by whichever thread does it. Raises RunLost
        instead of letting a run that another process has taken over write results."""
        if phase == "results are written":
            self._writer.check_owner(self._run_id)
        if phase != self._phase[0]:
            self._phase = (phase, time.monotonic())

    def look(self) -> None:
        """Called several times a second, by any thread: does what is due."""
        if self._looking.acquire(blocking=False):
            try:
                self._do_due()
            finally:
                self._looking.release()

    def _do_due(self) -> None:
        at, now = time.monotonic(), time.time()
        if at - self._beat_at >= HEARTBEAT_S:
            self._beat_at = at
            self._writer.heartbeat(self._run_id, now, self._tell(at))
        if self._log is not None:
            self._log.write(self._writer, self._run_id)
        if at - self._tidied_at >= TIDY_S:
            self._tidied_at = at
            self._writer.retention(self._run_id, now)
            self._gives_back = True
        elif self._gives_back:
            self._gives_back = self._writer.give_back()

    def _tell(self, at: float) -> Phase | None:
        """What is new of what the engine does; None: nothing."""
        phase, since = self._phase
        before, self._told = self._told, phase if at - since >= TOLD_AFTER_S else ""
        return None if self._told == before else self._told
