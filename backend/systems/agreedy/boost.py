"""Adaptive p: profile more right after a detected change, little in steady state. Card §15.4"""

from __future__ import annotations

from typing import Final

from backend.systems.agreedy.knobs import Settings

#: With a window bounded by age, the boost lasts for so many times the least sample.
_ROUNDS: Final = 5


class Boost:
    """Counts down the profile tuples that make the window new."""

    def __init__(self) -> None:
        self._left = 0

    @property
    def is_on(self) -> bool:
        return self._left > 0

    def begin(self, settings: Settings) -> None:
        """A change was detected."""
        self._left = settings.window_tuples or _ROUNDS * settings.min_samples

    def profiled(self, n: int) -> None:
        """n more profile tuples are in."""
        self._left = max(0, self._left - n)

    def prob(self, settings: Settings) -> float:
        """p in force."""
        base = settings.profile_prob
        if not self.is_on or settings.profile_policy == "fixed":
            return base
        return max(base, settings.boost_prob)
