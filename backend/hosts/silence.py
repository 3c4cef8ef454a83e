"""Streams that are silent for longer than anybody waits for them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable

from backend.hosts.contract import InputSource

log = logging.getLogger(__name__)


class Silences:
    """For how long streams have been silent, of those with ``idle_after``.

    clock: seconds; it never goes back.
    """

    def __init__(
        self, inputs: Iterable[InputSource], clock: Callable[[], float] = time.monotonic
    ) -> None:
        limits = {input.name: input.stream.idle_after for input in inputs}
        self._limits = {name: limit for name, limit in limits.items() if limit is not None}
        self._clock = clock
        self._since = dict.fromkeys(self._limits, clock())
        self._over: frozenset[str] = frozenset()

    def heard(self, names: Iterable[str]) -> None:
        """These spoke, or nobody listens to them now."""
        self._since.update(dict.fromkeys(self._limits.keys() & set(names), self._clock()))

    def hold(self) -> None:
        """The run is held: nobody listens."""
        self.heard(self._limits)

    def over(self) -> frozenset[str]:
        """Those that are no longer waited for."""
        now, before = self._clock(), self._over
        self._over = frozenset(
            name for name, limit in self._limits.items() if now - self._since[name] >= limit
        )
        for name in sorted(self._over - before):
            log.warning(
                "stream %s has been silent for %g s, its idle_after: queries go on without it, and "
                "what it gives of the time until then will be late",
                name,
                self._limits[name],
            )
        return self._over
