"""When a join runs as another tree: what was measured of orders goes before what a model says."""

from __future__ import annotations

from typing import Final, NamedTuple

from backend.systems.joins.decide.costs import bare_costs
from backend.systems.joins.decide.join_model import JoinModel
from backend.systems.joins.decide.joint import Kept, best_tree
from backend.systems.joins.decide.shape import Orders
from storage.vocabulary.kinds import Verdict

#: Other orders have to be better by this share; by twice that after they were not, and so on.
LEAST_GAIN: Final = 0.05
_MOST_GAIN: Final = 0.8


class _Measured(NamedTuple):
    """What orders took for each element with their caches, and would have taken without, by the
    model."""

    cost: float
    plain: float


class TreeCheck(NamedTuple):
    """A look at the orders of all pipelines together. before, after: in force, and the best known.
    kept: joins that the best tree keeps; () where ``after`` was measured. Costs are for each
    element of the join. is_measured: ``new_cost`` was, and not predicted. gain: the share by which
    it has to be less than ``old_cost``."""

    verdict: Verdict
    before: Orders
    after: Orders
    kept: tuple[Kept, ...]
    old_cost: float
    new_cost: float
    is_measured: bool
    gain: float


class JointOrders:
    """Compares the orders in force with those that were in force before, and with the best tree.
    gain: the share by which a predicted cost has to be less."""

    def __init__(self) -> None:
        self._measured: dict[Orders, _Measured] = {}
        self.gain = LEAST_GAIN
        self._expected: float | None = None

    def look(
        self, orders: Orders, cost: float, plain: float, model: JoinModel, change_share: float
    ) -> TreeCheck:
        """cost, plain: what an element took under these orders, with caches, and would have taken
        without; predictions are scaled by how far the model is off that. change_share: what was
        measured of others is of no use once the model says that their cost changed by more."""
        self._forget_stale(model, change_share)
        if self._expected is not None and cost >= self._expected:
            self.gain = min(_MOST_GAIN, 2 * self.gain)
        self._expected = None
        self._measured[orders] = _Measured(cost, _plain(model, orders))
        after, new_cost = min(self._by_now(model).items(), key=lambda priced: priced[1])
        kept, is_measured = tuple[Kept, ...](), True
        tree = best_tree(model)
        if tree.orders not in self._measured:
            predicted = tree.cost * plain / _plain(model, orders)
            if predicted < new_cost:
                after, kept, new_cost, is_measured = tree.orders, tree.kept, predicted, False
        gain = LEAST_GAIN if is_measured else self.gain
        verdict: Verdict = "switched" if new_cost < (1 - gain) * cost else "below_threshold"
        if verdict == "switched" and not is_measured:
            self._expected = cost
        return TreeCheck(verdict, orders, after, kept, cost, new_cost, is_measured, gain)

    def _forget_stale(self, model: JoinModel, change_share: float) -> None:
        """What the model prices otherwise by now is another join."""
        kept = {
            orders: measured
            for orders, measured in self._measured.items()
            if abs(_plain(model, orders) - measured.plain) <= change_share * measured.plain
        }
        if len(kept) < len(self._measured):
            self.gain = LEAST_GAIN
        self._measured = kept

    def _by_now(self, model: JoinModel) -> dict[Orders, float]:
        """What was measured, as far as the model says that elements take more or less by now."""
        return {
            orders: measured.cost * _plain(model, orders) / measured.plain
            for orders, measured in self._measured.items()
        }


def _plain(model: JoinModel, orders: Orders) -> float:
    """What orders cost without caches, by the model."""
    return sum(map(sum, bare_costs([model.flow(i, order) for i, order in enumerate(orders)])))
