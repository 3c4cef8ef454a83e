"""Whether tuples of an input need be read: only where nothing but selections looks at them."""

from __future__ import annotations

from backend.hosts.networks import HostJob
from backend.operators.selection.operator import SelectionOperator
from backend.workloads.row_groups import Refutes


def refuting(job: HostJob, input: str) -> Refutes | None:
    """Refutes row groups of an input in a batch; None: all are read. Networks, filters, several
    units and a plan whose queries all rest want every tuple, or know nothing of bounds."""
    operators = [*job.tasks.inputs[input].operators.values()]
    if len(operators) != 1 or input in job.streams:
        return None
    (operator,) = operators
    if isinstance(operator, SelectionOperator) and operator.selects:
        return operator.plan.refuting
    return None
