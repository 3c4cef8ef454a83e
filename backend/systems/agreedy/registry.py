"""The algorithms by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from backend.systems.agreedy.agreedy import AGreedy
from backend.systems.agreedy.independent import Independent
from backend.systems.agreedy.knobs import ALGORITHMS, Settings
from backend.systems.agreedy.local_swaps import LocalSwaps
from backend.systems.agreedy.peers import Optimal, Static
from backend.systems.agreedy.policy import Policy
from backend.systems.agreedy.sweep import Sweep

_MAKERS: Final[Mapping[str, Callable[[Settings], Policy]]] = {
    "a-greedy": lambda settings: AGreedy(),
    "sweep": lambda settings: Sweep(settings.stage_tuples),
    "independent": lambda settings: Independent(),
    "local swaps": lambda settings: LocalSwaps(),
    "optimal": lambda settings: Optimal(),
    "static": lambda settings: Static(),
}
assert set(_MAKERS) == set(ALGORITHMS)
#: Algorithms that read tuples only part of the filters were asked about.
PARTIAL: Final = frozenset({"sweep", "local swaps"})


def make_policy(settings: Settings) -> Policy:
    """The algorithm the settings name, at its start."""
    return _MAKERS[settings.algorithm](settings)
