"""How each constraint of a join stands: used or not, its k, and how long it waits once it was given
up.

The text takes k as none at once when it is exceeded and takes it up W arrivals later (card B6.6: a
cyclic load toggles). Here a constraint that keeps being given up, because its k is lost, because it
saved less than it cost, or because results beyond the budget were lost, waits twice as long each
time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from backend.operators.network.kmon.tuning import UNKNOWN_K

#: Times that k has to be lost within ``SPAN`` before a constraint waits.
LOST_TIMES: Final = 3
#: In windows of W arrivals: how long a lost k, or the last wait, is remembered; the first wait; and
#: how long a constraint is used before what it saves is measured.
SPAN, WAIT, SETTLE = 100, 10, 10
#: A wait doubles so often at most.
MOST_DOUBLED: Final = 5


@dataclass(slots=True)
class ConstraintStanding:
    """Of one constraint; arrivals are of the join, over all inputs. is_used: decided so. k, kept:
    as they were last told, -1: none. k_since: arrival that k came with; used_since: it is used
    from; lost_at: when k was lost; n_given_up: times that it was given up, lately; until: it waits;
    is_told: that it would be used meanwhile; refuted: largest distance above a declared k, -1:
    none. idle_since: arrival since which it could be used and is not, -1: it is used, or unknown;
    n_rests, rests_until: it is not watched meanwhile."""

    is_used: bool = False
    k: int = UNKNOWN_K
    kept: int = UNKNOWN_K
    k_since: int = 0
    used_since: int = 0
    lost_at: list[int] = field(default_factory=list)
    n_given_up: int = 0
    until: int = 0
    is_told: bool = False
    refuted: int = UNKNOWN_K
    idle_since: int = -1
    n_rests: int = 0
    rests_until: int = 0

    def use(self, arrival: int) -> None:
        """It is used from now on."""
        self.is_used, self.used_since = True, arrival
        self.idle_since, self.n_rests, self.rests_until = -1, 0, 0

    def lose(self, arrival: int, window: int) -> int:
        """Its k is none; how often that was lately."""
        self.lost_at = [at for at in self.lost_at if at > arrival - SPAN * window] + [arrival]
        return len(self.lost_at)

    def give_up(self, arrival: int, window: int) -> int:
        """It is not used, and waits; for how many arrivals."""
        if arrival > self.until + SPAN * window:
            self.n_given_up = 0
        wait = WAIT * window << min(self.n_given_up, MOST_DOUBLED)
        self.n_given_up += 1
        self.is_used, self.until, self.is_told = False, arrival + wait, False
        self.lost_at = []
        return wait

    def idle(self, arrival: int, window: int) -> int:
        """It could be used and is not worth it; once that lasted it rests, twice as long each time:
        for how many arrivals, 0: it does not begin to rest."""
        if arrival < self.rests_until:
            return 0
        if self.idle_since < 0 or self.idle_since < self.rests_until:
            self.idle_since = arrival
        if arrival - self.idle_since < SETTLE * window:
            return 0
        rest = WAIT * window << min(self.n_rests, MOST_DOUBLED)
        self.n_rests, self.rests_until = self.n_rests + 1, arrival + rest
        return rest

    def is_away(self, arrival: int) -> bool:
        """Whether it is not watched, as it waits or rests."""
        return self.waits(arrival) or arrival < self.rests_until

    def waits(self, arrival: int) -> bool:
        """Whether it was given up not long ago."""
        return arrival < self.until

    def has_settled(self, arrival: int, window: int) -> bool:
        """Whether it has been used for so long that what it saves is measured."""
        return self.is_used and arrival - self.used_since >= SETTLE * window

    def to_json(self) -> dict[str, Any]:
        """As JSON-typed data."""
        return {name: getattr(self, name) for name in self.__slots__}
