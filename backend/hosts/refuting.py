"""Whether tuples of an input need be read: only where nothing but selections looks at them."""

from __future__ import annotations

from typing import NamedTuple

from backend.hosts.networks import HostJob
from backend.operators.selection.operator import SelectionOperator
from backend.workloads.row_groups import BoundsOf, Refutes


class _ByAll(NamedTuple):
    """Refuted by each of several plans."""

    plans: tuple[Refutes, ...]

    def __call__(self, bounds: BoundsOf) -> bool:
        return all(refutes(bounds) for refutes in self.plans)


def refuting(job: HostJob, input: str) -> Refutes | None:
    """Refutes row groups of an input in a batch; None: all are read. Networks, filters and plans
    whose queries all rest want every tuple, or know nothing of bounds."""
    operators = job.tasks.inputs[input].operators.values()
    plans: tuple[Refutes, ...] = tuple(
        operator.plan.refuting
        for operator in operators
        if isinstance(operator, SelectionOperator) and operator.selects
    )
    if not plans or len(plans) < len(operators) or input in job.streams:
        return None
    return plans[0] if len(plans) == 1 else _ByAll(plans)
