"""select and project: without state, element by element (thesis, table 2.1)."""

from __future__ import annotations

from collections.abc import Sequence

from backend.cql.nodes import Node
from backend.operators.network.core.blocks import Block
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import OperatorFrame, typed
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.expressions.evaluation import Evaluate
from backend.operators.network.expressions.expressions import compile_expression
from backend.operators.network.kinds.select_project import ProjectOp, SelectOp


class _Expressing(OperatorFrame):
    """An operator with expressions over its input's columns."""

    def _compiled(self, node: Node) -> Evaluate:
        around = self._surroundings
        return compile_expression(node, self.input_fields(0), around.strings, around.functions)


class SelectOperator(_Expressing):
    """select: the elements for which the condition is true, with their signs."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        self._condition = self._compiled(planned.doing(SelectOp).condition)

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        block = inputs[0]
        if not len(block):
            return block
        truth = self._condition(block)
        passed = truth.values != 0
        return block.take(passed if truth.valid is None else passed & truth.valid)


class ProjectOperator(_Expressing):
    """project: a column for each expression; equal tuples stay."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        self._expressions = [self._compiled(node) for node in planned.doing(ProjectOp).expressions]

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        block = inputs[0]
        columns = [evaluate(block) for evaluate in self._expressions]
        return typed(block.having(columns), self.fields)
