"""A controller and the join it tunes, batch by batch."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from backend.operators.network.kinds.joins import JoinOp
from backend.systems.joins.decide.controller import JoinController
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape, Orders
from backend.systems.joins.decide.telling import Told
from tests.oracles.join_executor import CountingJoin, Row

#: R(A) ⋈ S(A,B) ⋈ T(B), the first query of the experiments.
R, S, T = range(3)
THREE_WAY = JoinOp((((R, 0), (S, 0)), ((S, 1), (T, 0))))


def three_way() -> JoinShape:
    return JoinShape.of(THREE_WAY, 3, ("R", "S", "T"))


class TunedJoin:
    """Row windows of ``sizes`` tuples over the inputs of a join, tuned after each batch."""

    def __init__(
        self,
        settings: JoinSettings,
        sizes: Sequence[int],
        work: JoinOp = THREE_WAY,
        planned: Orders = (),
    ) -> None:
        names = ("R", "S", "T", "U")[: len(sizes)]
        shape = JoinShape.of(work, len(sizes), names)
        self.controller = JoinController(shape, settings, planned)
        self.join = CountingJoin(shape, work.equal)
        self.join.tune(self.controller.tuning)
        self.windows = [deque[Row]() for _ in sizes]
        self.sizes = sizes
        self.told: list[Told] = []

    def arrive(self, input: int, row: Row) -> None:
        """A tuple comes, and the oldest goes where the window is full."""
        self.join.element(input, row, +1)
        self.windows[input].append(row)
        if len(self.windows[input]) > self.sizes[input]:
            self.join.element(input, self.windows[input].popleft(), -1)

    def batch(self, rows: Sequence[tuple[int, Row]]) -> Told:
        """Run a batch of (input, tuple) and hear what follows."""
        for input, row in rows:
            self.arrive(input, row)
        told = self.controller.observe(len(self.told), len(rows), self.join.profile())
        self.told.append(told)
        if told.tuning is not None:
            self.join.tune(told.tuning)
        return told

    def turn(self, settings: JoinSettings) -> None:
        """Other settings."""
        self.controller.turn(settings)
        self.join.tune(self.controller.tuning)

    @property
    def used(self) -> list[str]:
        """Caches in force, as people call them."""
        caches = self.controller.caches
        return [caches.candidates[id].said(self.controller.shape) for id in caches.choice]
