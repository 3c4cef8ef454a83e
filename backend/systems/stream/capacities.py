"""What queues of a network may hold: all alike, but for those people gave a limit of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from backend.model.knobs import KnobSpec
from backend.operators.network.core.job import queue_id
from backend.operators.network.core.plan import NetworkPlan

#: The knob of a queue.
CAPACITY: Final = KnobSpec(
    name="capacity",
    kind="int",
    default=0,
    unit="tuples",
    low=0,
    high=100_000_000,
    scale="log",
    help="Elements this queue may hold before the operator that fills it waits. 0: as "
    "queue_capacity says for all queues.",
    entity="queue",
)


@dataclass(frozen=True, slots=True)
class Capacities:
    """The limits in force. common: of queues without their own, 0: without limit; own: of others,
    by ``queue_id``."""

    common: int = 0
    own: Mapping[str, int] = field(default_factory=dict)

    def of(self, queue: str) -> int:
        """Of a queue; 0: without limit."""
        return self.own.get(queue) or self.common

    def having(self, queue: str, capacity: int) -> Capacities:
        """With another limit of a queue; 0: the common one."""
        others = {id: n for id, n in self.own.items() if id != queue}
        return replace(self, own={**others, queue: capacity} if capacity else others)

    def limits(self, plan: NetworkPlan) -> dict[str, int]:
        """Queue -> its limit, where it has one."""
        return {id: self.of(id) for id in queues_of(plan) if self.of(id)}


def queues_of(plan: NetworkPlan) -> list[str]:
    """All queues between operators of a plan, by ``queue_id``."""
    return [
        queue_id(input, operator.id, port)
        for operator in plan.operators
        for port, input in enumerate(operator.inputs)
    ]
