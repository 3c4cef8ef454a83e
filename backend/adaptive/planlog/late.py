"""Which plans a log has seen of late: what they never ask need not be watched as closely."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from backend.adaptive.planlog.records import LogJson, PlanLogRefused, whole_number

#: Looks of a generation; two of them are remembered.
GENERATION: Final = 24


class PlansOfLate:
    """Plans in force, and those that were near them, at the newest looks, one to two generations
    of these."""

    def __init__(self) -> None:
        self._older: dict[str, None] | None = None
        self._newer: dict[str, None] = {}
        self._n_looks = 0

    @property
    def plans(self) -> frozenset[str] | None:
        """Digests; None before a generation is full, when nothing can be said to be idle."""
        return None if self._older is None else frozenset(self._older | self._newer)

    def saw(self, plans: Iterable[str]) -> None:
        """A look at these."""
        self._newer |= dict.fromkeys(plans)
        self._n_looks += 1
        if self._n_looks == GENERATION:
            self._older, self._newer, self._n_looks = self._newer, {}, 0

    def state(self) -> LogJson:
        """As JSON."""
        older = None if self._older is None else list(self._older)
        return [older, list(self._newer), self._n_looks]

    def restore(self, state: LogJson) -> None:
        """Take up ``state()``. Raises PlanLogRefused for what is none."""
        older, newer, n_looks = state
        named = [*(older or ()), *newer]
        self._n_looks = whole_number(n_looks, "the looks of a generation")
        if self._n_looks >= GENERATION or not all(isinstance(each, str) for each in named):
            raise PlanLogRefused("the plans of late of the log are no digests")
        self._older = None if older is None else dict.fromkeys(older)
        self._newer = dict.fromkeys(newer)
