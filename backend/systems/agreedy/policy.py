"""What an algorithm is: which entries of V it keeps, when it reorders, and how. [B05] §4.3-4.6"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from backend.model.filters import ProbeRule
from backend.systems.agreedy.exact import Picoseconds
from backend.systems.agreedy.findings import Finding, Situation
from backend.systems.agreedy.view import MatrixView


class Probe(NamedTuple):
    """Which filters a profile tuple is shown to; filter: an index, for the rule 'one'."""

    rule: ProbeRule
    filter: int | None = None


class Proposal(NamedTuple):
    """An order, and the cost of the old and the new one on the window; None where the window's
    partial bits do not determine it."""

    order: list[int]
    old_ps: Picoseconds | None
    new_ps: Picoseconds | None


class Policy(Protocol):
    """One algorithm. It is made anew when it is switched to; its state is its own."""

    name: str
    invariant: str

    def probe(self, view: MatrixView) -> Probe:
        """What is to be asked about the next profile tuples."""

    def kept(self, view: MatrixView) -> NDArray[np.bool_]:
        """bool[n, n]: the entries of V it maintains under the present order."""

    def find(self, s: Situation) -> Finding | None:
        """The decisive pair, or None when there is nothing to compare."""

    def propose(self, s: Situation, finding: Finding) -> Proposal:
        """The order that answers a violation; ``s`` is left alone."""

    def settle(self, view: MatrixView, n_profiled: int, switched: bool) -> str | None:
        """After a check over n_profiled new profile tuples; why the window is to be emptied."""


def triangle(n: int) -> NDArray[np.bool_]:
    """bool[n, n]: on and above the diagonal."""
    return np.triu(np.ones((n, n), dtype=np.bool_))
