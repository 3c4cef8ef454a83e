"""The moves that are usual for each statistic, learnt evaluation by evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.planlog.records import (
    LogJson,
    PlanLogRefused,
    cost_number,
    real_number,
    whole_number,
)
from storage.vocabulary.moves import scale_of

#: A move counts as so many usual ones at most, so that a change of regime is not taken for noise.
CLIPPED_AT: Final = 3.0
#: Moves that are remembered: later ones weigh 1/200 each.
MEMORY: Final = 200


class UsualMoves:
    """The scale of each statistic: its mean absolute move from one evaluation to the next.

    A clipped running mean. Of noise with standard deviation σ about a constant it is 2σ/√π; a
    drift moves it little, a jump by 2/n of itself at most. units: of the statistics.
    """

    def __init__(self, units: Sequence[str]) -> None:
        self._units = tuple(units)
        self._n_moves = 0
        self._moves = np.zeros(len(self._units))
        self._largest = np.zeros(len(self._units))
        self._last: NDArray[np.float64] | None = None

    @property
    def scale(self) -> NDArray[np.float64]:
        """float64[n], above 0, in the units of the statistics."""
        return scale_of(self._moves, self._largest, self._units)

    def learn(self, statistics: Sequence[float]) -> None:
        """One more evaluation, S float[n]."""
        new = np.asarray(statistics, dtype=np.float64)
        self._largest = np.maximum(self._largest, np.abs(new))
        if self._last is not None:
            move = np.abs(new - self._last)
            if self._n_moves:
                move = np.minimum(move, CLIPPED_AT * self.scale)
            self._n_moves = min(self._n_moves + 1, MEMORY)
            self._moves = self._moves + (move - self._moves) / self._n_moves
        self._last = new

    def state(self) -> dict[str, LogJson]:
        """As JSON."""
        return {
            "n_moves": self._n_moves,
            "moves": self._moves.tolist(),
            "largest": self._largest.tolist(),
            "last": None if self._last is None else self._last.tolist(),
        }

    def restore(self, state: LogJson) -> None:
        """Take up ``state()``. Raises PlanLogRefused."""
        n = len(self._moves)
        try:
            vectors = [state["moves"], state["largest"], state["last"] or [0.0] * n]
            if any(len(vector) != n for vector in vectors):
                raise PlanLogRefused("the log's scales are of another number of statistics")
            for number in (*vectors[0], *vectors[1]):
                cost_number(number, "a scale of the log")
            for number in vectors[2]:
                real_number(number, "a statistic of the log")
            self._n_moves = whole_number(state["n_moves"], "the moves of the log")
            self._moves, self._largest = np.array(vectors[0]), np.array(vectors[1])
            self._last = None if state["last"] is None else np.array(vectors[2], dtype=np.float64)
        except (KeyError, TypeError) as exc:
            raise PlanLogRefused("the log's scales have another form") from exc
