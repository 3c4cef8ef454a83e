"""After a change more tuples are profiled for a while. Card §15.3-4"""

from __future__ import annotations

from backend.systems.agreedy.knobs import AgreedyKnobs


class Boost:
    """p is raised after a change; counts down the profile tuples that make the window new."""

    def __init__(self) -> None:
        self._left = 0

    def begin(self, knobs: AgreedyKnobs) -> None:
        """A change was detected."""
        self._left = knobs.renewal_tuples

    def profiled(self, n: int) -> None:
        """n more profile tuples are in."""
        self._left = max(0, self._left - n)

    def prob(self, knobs: AgreedyKnobs) -> float:
        """p in force."""
        if not self._left or knobs.profile_policy == "fixed":
            return knobs.profile_prob
        return max(knobs.profile_prob, knobs.boost_prob)
