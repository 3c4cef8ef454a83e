"""From a join of a query to an eddy. [W13] §2, card A1, C1"""

from __future__ import annotations

from dataclasses import replace

from backend.operators.network.core.work import OperatorTree
from backend.operators.network.kinds.eddy import (
    MOST_ATTRIBUTES,
    EddyOp,
    SearchTerms,
    join_attributes,
    search_terms,
)
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.amri.routing import MOST_PRICED
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
    if len(tree.inputs) > MOST_PRICED + 1:
        return Refusal(
            f"its join has {len(tree.inputs)} inputs, too many to compare their routes; allowed "
            f"are {MOST_PRICED + 1} at most"
        )
    for port, input in enumerate(tree.inputs):
        n = len(join_attributes(work, port))
        if n > MOST_ATTRIBUTES:
            return Refusal(
                f"{_input(tree, port)} has {n} join attributes; {MOST_ATTRIBUTES} are the most"
            )
        if input.grows and any(isinstance(below.work, StreamInput) for below in input.walk()):
            return Refusal(
                f"{_input(tree, port)} has an unbounded window, so its state never ends; allowed "
                "are windows by Rows and by Range, and Now"
            )
    terms = search_terms(work, [input.fields for input in tree.inputs])
    apart = _apart(len(tree.inputs), terms)
    if apart is None:
        return None
    return Refusal(
        f"neither = nor < <= > >= joins {_input(tree, apart)} with input 1, directly or by way of "
        "others, so every route would pair all their tuples; allowed are joins whose inputs hang "
        "together by attributes that are equal or, but for strings, compared by order"
    )


def _input(tree: OperatorTree, port: int) -> str:
    names = ", ".join(field.name for field in tree.inputs[port].fields)
    return f"input {port + 1} of its join ({names})"


def _apart(n: int, terms: SearchTerms) -> int | None:
    """The first input that no equality and no order leads to from the first one."""
    ports = [{port for port, _ in members} for members in terms.equal]
    near = ports + [ports[low] | ports[high] for low, high, _ in terms.conditions]
    reached, grew = {0}, True
    while grew:
        more = reached.union(*(some for some in near if some & reached))
        grew, reached = more != reached, more
    return next((port for port in range(n) if port not in reached), None)
