"""What a join would cost under orders it never had: a model fitted to the pipelines it has.

Values of attributes are taken to be independent, as in the estimation of [B05] §2: joining a tuple
with input j over classes C multiplies by N_j · Π_C s_c, a size and selectivities that fit what came
out of the steps of all pipelines best, in logarithms. So what an element of an input has for
partners in a set of inputs does not depend on their order, and orders can be searched.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from backend.systems.joins.decide.costs import PipelineFlow, UnitCosts
from backend.systems.joins.decide.shape import JoinShape, Orders

#: A place of a look-up: pipeline, inputs joined so far, key.
LookupPlace: TypeAlias = tuple[int, frozenset[int], tuple[int, ...]]

#: Tuples out for each tuple in that a step is taken to have at least.
LEAST_FANOUT: Final = 1e-3
#: Share of look-ups that miss where nothing is known of any.
ASSUMED_MISS: Final = 0.5


class JoinModel(NamedTuple):
    """log_sizes: by input; log_selectivities: by class. shares: elements of each input per element
    of the join. probe_cost: of a probe of an index, or of building a tuple. misses: of look-ups."""

    shape: JoinShape
    log_sizes: tuple[float, ...]
    log_selectivities: tuple[float, ...]
    shares: tuple[float, ...]
    probe_cost: float
    units: UnitCosts
    misses: Mapping[LookupPlace, float]

    @classmethod
    def fitted(
        cls,
        shape: JoinShape,
        orders: Orders,
        flows: Sequence[PipelineFlow],
        probe_cost: float,
        units: UnitCosts,
        misses: Mapping[LookupPlace, float],
    ) -> JoinModel:
        """To what the pipelines do under the present orders."""
        rows, logs_out = [], []
        for i, (order, flow) in enumerate(zip(orders, flows, strict=True)):
            for step, j in enumerate(order):
                if flow.entering[step]:
                    row = [0.0] * (shape.n + len(shape.classes))
                    row[j] = 1.0
                    for class_number in shape.key((i, *order[:step]), (j,)):
                        row[shape.n + class_number] = 1.0
                    rows.append(row)
                    out = flow.entering[step + 1] / flow.entering[step]
                    logs_out.append(math.log(max(LEAST_FANOUT, out)))
        fit = np.zeros(shape.n + len(shape.classes))
        if rows:
            fit = np.linalg.lstsq(np.array(rows), np.array(logs_out), rcond=None)[0]
        logs, shares = fit.tolist(), tuple(flow.share for flow in flows)
        sizes, selectivities = tuple(logs[: shape.n]), tuple(logs[shape.n :])
        return cls(shape, sizes, selectivities, shares, probe_cost, units, misses)

    def tuples(self, input: int, joined: Collection[int]) -> float:
        """Joined with these inputs, itself among them, what an element of the input makes."""
        inside = set(joined)
        log_tuples = sum(self.log_sizes[j] for j in inside if j != input)
        for members, log_selectivity in zip(
            self.shape.classes, self.log_selectivities, strict=True
        ):
            log_tuples += log_selectivity * max(0, len(members & inside) - 1)
        return math.exp(log_tuples)

    def flow(self, input: int, order: Sequence[int]) -> PipelineFlow:
        """The pipeline of an input under an order."""
        share = self.shares[input]
        made = [self.tuples(input, (input, *order[:step])) for step in range(len(order) + 1)]
        costs = tuple(self.probe_cost * (1 + after / before) for before, after in pairwise(made))
        return PipelineFlow(share, 0.0, tuple(share * n_made for n_made in made), costs, 0)

    def miss_prob(self, place: LookupPlace) -> float:
        """As known there; else the mean of what is known of the key, else of all look-ups."""
        if place in self.misses:
            return self.misses[place]
        same = [prob for (_, _, key), prob in self.misses.items() if key == place[2]]
        known = same or list(self.misses.values())
        return sum(known) / len(known) if known else ASSUMED_MISS

    def may_follow(self, joined: Collection[int], input: int) -> bool:
        """Whether an input may be joined next: one without a common class only where no other has
        one."""
        rest = set(range(self.shape.n)) - set(joined)
        return bool(self.shape.key(joined, (input,))) or not any(
            self.shape.key(joined, (other,)) for other in rest
        )
