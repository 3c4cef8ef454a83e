"""Every way to a plan under one roof: what the ``ordering`` knob names. [L12] §4, [L07] §4"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.cost import CostModel, PlanShape
from backend.systems.asc.cover import cover_prefix
from backend.systems.asc.hybrid import (
    HybridSequence,
    Rules,
    hybrid_sequence_by_period,
)
from backend.systems.asc.joint import macs, macssas_by_period, sas_by_period
from backend.systems.asc.lattice import OrderFound, extreme_order
from backend.systems.asc.macro import MacroSequence, MacroStep, macro_sequence_by_period
from backend.systems.asc.matching import Regions

#: macro: macro-sequence. hybrid: hybrid-sequence. macs, sas, macssas: the orders of 2007. best,
#: worst: extreme fixed orders of the sample. ticket: lottery, no order.
Ordering: TypeAlias = Literal[
    "macro", "hybrid", "macs", "sas", "macssas", "best", "worst", "ticket"
]
ORDERINGS: Final = get_args(Ordering)
#: Run as asked, never left for a cheaper plan: what the others are compared with.
BASELINES: Final = frozenset({"worst", "ticket"})
NAMES: Final[Mapping[str, str]] = {
    "macro": "macro-sequence",
    "hybrid": "hybrid-sequence",
    "macs": "MACS",
    "sas": "SAS",
    "macssas": "MACSSAS",
    "best": "best order on the sample",
    "worst": "worst order on the sample",
    "ticket": "ticket routing",
}


@dataclass(frozen=True, slots=True)
class ProposedPlan:
    """A plan an ordering proposes, and how it came about.

    built: the fixed order with its steps (none for MACS, best and worst). hybrid: decisions on
    micro-arrows. search: that behind best and worst.
    """

    ordering: Ordering
    shape: PlanShape
    built: MacroSequence
    cover_prefix: tuple[str, ...]
    hybrid: HybridSequence | None = None
    search: OrderFound | None = None

    @property
    def steps(self) -> tuple[MacroStep, ...]:
        """How the order was built."""
        return self.built.steps


def propose(
    ordering: Ordering,
    constructs: ConstructSet,
    periods: Sequence[Regions],
    model: CostModel,
    rules: Rules,
) -> ProposedPlan:
    """The plan of an ordering.

    periods: regions intp[T_i, n], one a step; a single one serves all steps. MACS looks at the
    first, best and worst at all of them together. Raises ValueError when there are several but
    fewer than the n-1 the steps take.
    """
    n_steps = max(1, len(constructs.attributes) - 1)
    each = list(periods) * n_steps if len(periods) == 1 else list(periods)
    if ordering in ("best", "worst"):
        return _extreme(ordering, constructs, np.concatenate(periods), model)
    built = _BUILD[ordering](constructs, each)
    shape = PlanShape("ticket" if ordering == "ticket" else "early drop", built.order)
    prefix = cover_prefix(constructs, built.order)
    if ordering != "hybrid":
        return ProposedPlan(ordering, shape, built, prefix)
    hybrid = hybrid_sequence_by_period(constructs, each, built.order, rules)
    shape = PlanShape("hybrid", built.order, hybrid.arrows)
    return ProposedPlan(ordering, shape, built, prefix, hybrid)


def _extreme(
    ordering: Ordering, constructs: ConstructSet, regions: Regions, model: CostModel
) -> ProposedPlan:
    starts = [macro_sequence_by_period(constructs, [regions] * len(constructs.attributes)).order]
    extreme = extreme_order(
        constructs,
        regions,
        model.stop_rule,
        model.weights,
        worst=ordering == "worst",
        starts=starts,
    )
    return ProposedPlan(
        ordering,
        PlanShape("early drop", extreme.order),
        MacroSequence(extreme.order, ()),
        cover_prefix(constructs, extreme.order),
        search=extreme,
    )


_BUILD: Final[Mapping[str, Callable[[ConstructSet, Sequence[Regions]], MacroSequence]]] = {
    "macro": macro_sequence_by_period,
    "hybrid": macro_sequence_by_period,
    "ticket": macro_sequence_by_period,
    "macs": lambda constructs, periods: macs(constructs, periods[0]),
    "sas": sas_by_period,
    "macssas": macssas_by_period,
}
