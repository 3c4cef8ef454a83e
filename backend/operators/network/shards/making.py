"""From the plan of an operator to the operator at work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from backend.operators.network.core.contract import NetworkOperator, Surroundings
from backend.operators.network.core.work import OperatorWork, PlannedOperator
from backend.operators.network.eddy.operator import EddyJoin
from backend.operators.network.joins.joins import WindowJoin
from backend.operators.network.kinds.aggregate import AggregateOp
from backend.operators.network.kinds.antijoin import AntiJoinOp
from backend.operators.network.kinds.coalesce import CoalesceOp, ReadingsOp
from backend.operators.network.kinds.distinct import DistinctOp
from backend.operators.network.kinds.eddy import EddyOp
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.kmon import KMonOp
from backend.operators.network.kinds.retention import RetainedOp
from backend.operators.network.kinds.sampling import EstimateOp, SampleOp
from backend.operators.network.kinds.select_project import ProjectOp, SelectOp
from backend.operators.network.kinds.set_operations import SetOp
from backend.operators.network.kinds.shedding import ShedOp
from backend.operators.network.kinds.to_stream import ToStreamOp
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.kmon.operator import KMonJoin
from backend.operators.network.relational.aggregate import AggregateOperator
from backend.operators.network.relational.antijoin import AntiJoinOperator
from backend.operators.network.relational.distinct import DuplicateEliminate
from backend.operators.network.relational.select_project import ProjectOperator, SelectOperator
from backend.operators.network.relational.set_operations import set_operator
from backend.operators.network.relational.to_stream import stream_operator
from backend.operators.network.sampling.estimate import EstimateOperator
from backend.operators.network.sampling.sample import SampleOperator
from backend.operators.network.stores.retaining_window import RetainingWindow
from backend.operators.network.stores.windows import SeqWindow
from backend.operators.network.temporal.coalesce import CoalesceOperator
from backend.operators.network.temporal.readings import ReadingsOperator
from backend.operators.network.temporal.shed import ShedOperator

_MAKERS: Final[
    dict[type[OperatorWork], Callable[[PlannedOperator, Surroundings], NetworkOperator]]
] = {
    SelectOp: SelectOperator,
    ProjectOp: ProjectOperator,
    WindowOp: SeqWindow,
    RetainedOp: RetainingWindow,
    JoinOp: WindowJoin,
    EddyOp: EddyJoin,
    KMonOp: KMonJoin,
    SetOp: set_operator,
    AntiJoinOp: AntiJoinOperator,
    AggregateOp: AggregateOperator,
    DistinctOp: DuplicateEliminate,
    CoalesceOp: CoalesceOperator,
    ShedOp: ShedOperator,
    ReadingsOp: ReadingsOperator,
    SampleOp: SampleOperator,
    EstimateOp: EstimateOperator,
    ToStreamOp: stream_operator,
}


def make(planned: PlannedOperator, surroundings: Surroundings) -> NetworkOperator:
    """The operator, with what its regions hold. Raises ValueError for an input of the network,
    which needs none: its elements come from outside."""
    maker = _MAKERS.get(type(planned.work))
    if maker is None:
        raise ValueError(f"{planned.id!r} is an input ({type(planned.work).__name__}), no operator")
    return maker(planned, surroundings)
