"""An eddy as decisions see it: its states, their join attributes, the orders of its routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.kinds.eddy import EddyOp, SearchTerms, search_terms
from backend.systems.amri.routing import Order, RouteGraph
from backend.systems.joined import numbered
from storage.vocabulary.amri_patterns import JoinPredicate, join_attribute_sets, pattern_text


def predicates(terms: SearchTerms) -> list[JoinPredicate]:
    """Of an eddy, as its elements search by them."""
    equal = [JoinPredicate(a, "=", b) for same in terms.equal for a, b in pairwise(same)]
    firsts = [members[0] for members in terms.equal]
    return equal + [
        JoinPredicate(firsts[low], "<" if is_strict else "<=", firsts[high])
        for low, high, is_strict in terms.conditions
    ]


@dataclass(frozen=True)
class EddyView:
    """names: of the states; attributes: of each its join attributes by name."""

    work: EddyOp
    names: tuple[str, ...]
    attributes: tuple[tuple[str, ...], ...]
    graph: RouteGraph

    @classmethod
    def of(cls, plan: NetworkPlan, id: str, names: Mapping[str, str]) -> Self:
        """Of an operator. names: of operators, by id."""
        planned = plan.operator(id)
        work = EddyOp(planned.doing(EddyOp).equal, planned.doing(EddyOp).residual)
        fields = [plan.operator(input).fields for input in planned.inputs]
        states = join_attribute_sets(predicates(search_terms(work, fields)), len(fields))
        columns = tuple(
            tuple(own[attribute.column].name for attribute in attributes)
            for own, attributes in zip(fields, states, strict=True)
        )
        graph = RouteGraph(states, values_first=True)
        return cls(work, _source_names(plan, planned.inputs, names), columns, graph)

    @property
    def n(self) -> int:
        """States."""
        return len(self.names)

    def pattern(self, state: int, pattern: int) -> str:
        """``<a,*,c>``."""
        return pattern_text(pattern, self.attributes[state])

    def route(self, order: Order) -> str:
        """``S → T → U``."""
        return " → ".join(self.names[state] for state in order)


def _source_names(
    plan: NetworkPlan, inputs: Sequence[str], names: Mapping[str, str]
) -> tuple[str, ...]:
    """What each input reads."""
    sources = []
    for input in inputs:
        planned = plan.operator(input)
        while planned.inputs:
            planned = plan.operator(planned.inputs[0])
        sources.append(names.get(planned.id, planned.id))
    return numbered(sources)
