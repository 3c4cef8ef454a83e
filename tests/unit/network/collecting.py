"""A network whose answers are kept, and are as they are said to be."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from backend.operators.network.core.blocks import NEVER, Block, concat, empty
from backend.operators.network.core.contract import NetworkOperator, Surroundings
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.network import Network, Ticks
from backend.operators.network.core.reports import NetworkReport


class Collected:
    """Keeps the elements of an answer. none: a block without elements."""

    def __init__(self, none: Block) -> None:
        self._blocks, self._over = [none], NEVER

    def take(self, block: Block, heartbeat: int) -> None:
        assert block.tau[0] >= self._over, "a tick that was over is told of"
        self._blocks.append(block)
        self._over = heartbeat

    @property
    def block(self) -> Block:
        """All of it; numbered where it is a stream that is read directly."""
        return concat(self._blocks[1:] or self._blocks)


class CollectingNetwork(Network):
    """Keeps all answers that are made by its members."""

    def __init__(
        self,
        job: NetworkJob,
        members: Collection[str],
        operators: Mapping[str, NetworkOperator],
        surroundings: Surroundings,
    ) -> None:
        self._collected = {
            query: Collected(empty(job.plan.operator(answer.operator).fields))
            for query, answer in job.plan.answers.items()
            if answer.operator in members
        }
        super().__init__(job, members, operators, surroundings, self._collected)
        self._begin = surroundings.clock.begin
        self._read = [one.id for one in job.plan.operators if not one.inputs and one.id in members]

    def ticks(self, heartbeat: int) -> dict[str, Ticks]:
        """Of all inputs alike."""
        return dict.fromkeys(self._read, Ticks(self._begin, heartbeat))

    def answers(self) -> dict[str, Block]:
        """Query -> the elements of its answer so far."""
        return {query: one.block for query, one in self._collected.items()}

    def played(
        self, arrivals: Mapping[str, Block], heartbeat: int
    ) -> tuple[dict[str, Block], NetworkReport]:
        """A step in which all inputs have one time: the elements of each answer, and the report."""
        report = self.step(arrivals, self.ticks(heartbeat))
        return self.answers(), report
