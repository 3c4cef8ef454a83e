"""From the plan of an operator to the operator at work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from backend.operators.network.core import plan
from backend.operators.network.core.contract import NetworkOperator, Surroundings
from backend.operators.network.joins.joins import WindowJoin
from backend.operators.network.relational.aggregate import AggregateOperator
from backend.operators.network.relational.antijoin import AntiJoinOperator
from backend.operators.network.relational.distinct import DuplicateEliminate
from backend.operators.network.relational.select_project import ProjectOperator, SelectOperator
from backend.operators.network.relational.set_operations import set_operator
from backend.operators.network.relational.to_stream import stream_operator
from backend.operators.network.stores.windows import SeqWindow

_MAKERS: Final[dict[type, Callable[[plan.PlannedOperator, Surroundings], NetworkOperator]]] = {
    plan.SelectOp: SelectOperator,
    plan.ProjectOp: ProjectOperator,
    plan.WindowOp: SeqWindow,
    plan.JoinOp: WindowJoin,
    plan.SetOp: set_operator,
    plan.AntiJoinOp: AntiJoinOperator,
    plan.AggregateOp: AggregateOperator,
    plan.DistinctOp: DuplicateEliminate,
    plan.ToStreamOp: stream_operator,
}


def make(planned: plan.PlannedOperator, surroundings: Surroundings) -> NetworkOperator:
    """The operator, with what its regions hold. Raises ValueError for an input of the network,
    which needs none: its elements come from outside."""
    maker = _MAKERS.get(type(planned.work))
    if maker is None:
        raise ValueError(f"{planned.id!r} is an input ({type(planned.work).__name__}), no operator")
    return maker(planned, surroundings)
