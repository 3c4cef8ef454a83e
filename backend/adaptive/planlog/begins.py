"""When the plan logs of a unit began, which tells them apart. [B05] §7"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from backend.adaptive.planlog.records import LogJson


class LogBegins:
    """The begins of a unit's logs, shared by all that keep some."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def note(self, records: Iterable[Mapping[str, LogJson]]) -> None:
        """Those of looks on record are taken."""
        begun = (record.get("began") for record in records if isinstance(record, Mapping))
        self._known.update(began for began in begun if isinstance(began, int))

    def new(self, t: int) -> int:
        """Of a new log at t, or as soon after it as none has begun then, so that none is taken for
        it."""
        while t in self._known:
            t += 1
        self._known.add(t)
        return t
