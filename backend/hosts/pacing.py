"""How many tuples replayed inputs may give by now, where they keep their rates."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

#: From the begin of a batch to the next, where all inputs that are read keep a rate.
BATCH_S: Final = 1.0
#: An input that is further behind its rate is slower for good.
_MOST_S: Final = 10.0


class Pacing:
    """Rates of inputs in tuples per second, asked again at each batch; 0: as fast as possible.

    clock: seconds; it never goes back.
    """

    def __init__(
        self, rates: Mapping[str, Callable[[], float]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rates, self._clock = rates, clock
        self._owed = dict.fromkeys(rates, 0.0)
        self._begun = clock() - BATCH_S

    def is_early(self, read: Iterable[str]) -> bool:
        """Whether the next batch would be too small: all inputs that are read keep a rate, and the
        last one began a moment ago."""
        paced = [name in self._rates and self._rates[name]() > 0 for name in read]
        return bool(paced) and all(paced) and self._clock() - self._begun < BATCH_S

    def hold(self) -> None:
        """The run is held: the time that passes brings no tuples."""
        self._begun = max(self._begun, self._clock() - BATCH_S)

    def begin(self, read: Iterable[str]) -> None:
        """A batch begins; tuples of the inputs that are read are due for the time since the one
        before, those of others stand still."""
        now = self._clock()
        seconds, self._begun = now - self._begun, now
        for name in self._rates.keys() & set(read):
            rate = self._rates[name]()
            self._owed[name] = min(self._owed[name] + rate * seconds, rate * _MOST_S)

    def due(self, name: str) -> int | None:
        """The most tuples that the batch may take of an input; None: as many as there are."""
        rate_of = self._rates.get(name)
        return None if rate_of is None or rate_of() <= 0 else int(self._owed[name])

    def backlog(self, name: str) -> int:
        """Tuples of an input that were due and not taken."""
        return int(self._owed.get(name, 0.0))

    def took(self, name: str, n_tuples: int) -> None:
        """An input gave so many."""
        if name in self._owed:
            self._owed[name] = max(0.0, self._owed[name] - n_tuples)
