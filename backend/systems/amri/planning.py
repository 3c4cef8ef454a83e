"""From a join of a query to an eddy. [W13] §2, card A1, C1"""

from __future__ import annotations

from dataclasses import replace

from backend.operators.network.core.work import OperatorTree
from backend.operators.network.kinds.eddy import MOST_ATTRIBUTES, EddyOp, join_attributes
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.contract import Refusal


def planned(tree: OperatorTree) -> OperatorTree | Refusal:
    """A query's tree with its joins as eddies; or why it has none."""
    refusals: list[Refusal] = []
    with_eddies = _planned(tree, refusals)
    if any(isinstance(node.work, EddyOp) for node in with_eddies.walk()):
        return with_eddies
    return refusals[0] if refusals else Refusal("it joins nothing, so no route and no index")


def _planned(tree: OperatorTree, refusals: list[Refusal]) -> OperatorTree:
    tree = replace(tree, inputs=tuple(_planned(input, refusals) for input in tree.inputs))
    if not isinstance(tree.work, JoinOp):
        return tree
    refusal = _refusal(tree, tree.work)
    if refusal is None:
        return replace(tree, work=EddyOp(tree.work.equal, tree.work.residual))
    refusals.append(refusal)
    return tree


def _refusal(tree: OperatorTree, work: JoinOp) -> Refusal | None:
    """What of a join is the reason that it is no eddy."""
    for port, input in enumerate(tree.inputs):
        n = len(join_attributes(work, port))
        names = ", ".join(field.name for field in input.fields)
        if n == 0:
            return Refusal(
                f"input {port + 1} of its join ({names}) has no attribute equal to another "
                "input's, so no state of it can be searched but by a scan"
            )
        if n > MOST_ATTRIBUTES:
            return Refusal(
                f"input {port + 1} of its join ({names}) has {n} join attributes; "
                f"{MOST_ATTRIBUTES} are the most"
            )
    return None
