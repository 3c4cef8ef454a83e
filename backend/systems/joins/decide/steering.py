"""The autopilot of the order of one pipeline. [B05] §5.3, §7"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from backend.adaptive.ordering.changes import ChangeDetector
from backend.adaptive.ordering.ranks import PS_PER_US, Picoseconds
from backend.adaptive.ordering.steered import DropOrders, log_schema
from backend.adaptive.planlog.begins import LogBegins
from backend.adaptive.planlog.records import LogJson
from backend.adaptive.planlog.steered import SteeredLook
from backend.adaptive.planlog.steering import Steering
from backend.operators.network.joins.join_tuning import PipelineProfile
from backend.systems.joins.decide.ordering import PipelineOrder, drops_of, price_of_join
from backend.systems.joins.decide.settings import JoinSettings
from storage.vocabulary.planlog import BY_AUTOPILOT

#: Profiled elements that say whether conditions are others, and that a look takes while these
#: settle: there are few.
_RECENT: Final = 50


@dataclass(frozen=True, slots=True)
class PipelineOrders(DropOrders):
    """Orders in which a pipeline joins: orders of filters that join in the same order are one plan.
    inputs: of the filters; joining: costs by input; adopting: what putting another in force costs;
    lost: what caches save that it ends, until they are there anew."""

    pipeline: PipelineOrder
    inputs: tuple[int, ...]
    joining: Sequence[float]
    adopting: float = 0.0
    lost: Callable[[LogJson], float] = lambda _: 0.0

    @property
    def ps(self) -> float:
        """A unit of cost counts as a nanosecond."""
        return PS_PER_US / 1000

    @property
    def searched_costs(self) -> tuple[Picoseconds, ...]:
        return tuple(self.pipeline.price_of(j, self.joining) for j in self.inputs)

    def form(self, order: Sequence[int]) -> LogJson:
        far = [j for j in self.pipeline.filters if j not in self.inputs]
        joins = self._joins([*(self.inputs[place] for place in order), *far])
        return ["filters", [self.pipeline.shape.names[j] for j in joins], []]

    def places(self, plan: LogJson) -> list[int]:
        joins = self._joins([self.pipeline.shape.names.index(name) for name in plan[1]])
        return [self.inputs.index(j) for j in joins if j in self.inputs]

    def _joins(self, filters: Sequence[int]) -> tuple[int, ...]:
        return self.pipeline.shape.operators(self.pipeline.input, filters)

    def switching(self, old: LogJson, new: LogJson) -> float:
        """In the unit of costs."""
        return self.adopting + self.lost(new)


class JoinPilot(Steering):
    """The autopilot of the pipeline of an input. called: in front of its subject."""

    #: Another order is a list of inputs: nothing is built for it.
    switch_tuples = 250

    def __init__(
        self, pipeline: PipelineOrder, settings: JoinSettings, begins: LogBegins, called: str
    ) -> None:
        names = pipeline.shape.names
        self._inputs = tuple(sorted(pipeline.targets))
        self._names = tuple(names[j] for j in self._inputs)
        subject = f"{called}order of {names[pipeline.input]}{BY_AUTOPILOT}"
        unit = settings.cost_unit.replace(" per ", "/")
        super().__init__(log_schema(self._names, unit, subject), 0, begins)
        self._changes = ChangeDetector(_RECENT)
        self._n_waiting, self._has_moved = 0, False
        self.settle(settings.settling_samples)

    def least(self, settings: JoinSettings) -> int:
        """Profiled elements that a look takes."""
        least = settings.least_samples
        return min(_RECENT, least) if self._settling else least

    def taken(
        self,
        counts: PipelineProfile,
        spent: float,
        settings: JoinSettings,
        has_moved: bool = False,
    ) -> None:
        """A batch ran under the order in force. spent: by the profiled elements, from which the
        others do not differ; has_moved: counts of all elements, of late, are others."""
        if has_moved and not self._has_moved:
            self.settle(settings.settling_samples)
            self._changes.reset()
        self._has_moved = has_moved
        drops = drops_of(counts.dropped_by, self._inputs)
        self.sampled(counts.n_plus + counts.n_minus, drops)
        self._n_waiting += counts.n_plus + counts.n_minus
        k = len(drops)
        if not k:
            return
        self.ran(self._n_waiting, spent / k * self._n_waiting)
        self._n_waiting = 0
        dropped = drops.sum(axis=0).tolist()
        by_name = dict(zip(self._names, dropped, strict=True))
        if self._changes.add(dict.fromkeys(self._names, k), by_name) is not None:
            newest = np.concatenate(self._chunks)[-max(k, _RECENT) :]
            self.settle(settings.settling_samples)
            self._chunks.append(newest)

    def look_at(
        self,
        pipeline: PipelineOrder,
        costs: Sequence[float],
        settings: JoinSettings,
        lost: Callable[[Sequence[int]], float],
    ) -> SteeredLook | None:
        """A look, when one is due. lost: by the inputs of another order."""
        orders = self.orders(pipeline, costs, settings)
        form = orders.form(orders.incumbent)
        if self._chunks:
            adopting = self.switch_tuples * orders.prices(form, np.concatenate(self._chunks)).mean()
            orders = replace(
                orders,
                adopting=float(adopting),
                lost=lambda plan: lost(self.filters(plan, pipeline)),
            )
        return self.look(orders, form, self.least(settings), settings.caution)

    def filters(self, plan: LogJson, pipeline: PipelineOrder) -> tuple[int, ...]:
        """The inputs of a plan, in its order."""
        return tuple(pipeline.shape.names.index(name) for name in plan[1])

    def orders(
        self, pipeline: PipelineOrder, costs: Sequence[float], settings: JoinSettings
    ) -> PipelineOrders:
        """What is known of the plans. costs: by input, of joining with it."""
        inputs = self._inputs
        return PipelineOrders(
            schema=self.schema,
            names=self._names,
            costs=tuple(price_of_join(costs[j]) for j in inputs),
            incumbent=tuple(inputs.index(j) for j in pipeline.operators if j in inputs),
            is_optimal=settings.order_algorithm == "optimal",
            pipeline=pipeline,
            inputs=inputs,
            joining=costs,
        )
