"""The plan log: bounded, the same for all systems, and carried from run to run. [B05] §7"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from backend.adaptive.planlog.records import (
    LogJson,
    LogSchema,
    PlanEvaluation,
    PlanLogRefused,
    cost_number,
    evaluation_of,
    whole_number,
)
from backend.adaptive.planlog.regions import KnownPlan, PlanRegion, nearest_plans
from backend.adaptive.planlog.scales import UsualMoves
from storage.vocabulary.moves import Floats, distances
from storage.vocabulary.planlog import form_digest


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How much a log keeps, and how far it sees.

    per_region: evaluations kept of a region; n_regions: the one not visited longest goes. limit: in
    usual moves; beyond it nothing is known. neighbours: nearest evaluations that are asked.
    n_plans: known by digest; unused ones go, the oldest first. seed: of the samples.
    """

    per_region: int = 32
    n_regions: int = 64
    limit: float = 4.0
    neighbours: int = 16
    n_plans: int = 256
    seed: int = 0


class PlanLog:
    """What was decided so far on which statistics. Evaluations, then what ran under each."""

    def __init__(self, schema: LogSchema, options: LogOptions | None = None) -> None:
        self.schema = schema
        self.options = options or LogOptions()
        self.plans: dict[str, LogJson] = {}
        self.n_evaluations = 0
        self._moves = UsualMoves([statistic.unit for statistic in schema.statistics])
        self._regions: dict[int, PlanRegion] = {}
        self._n_regions = 0
        self._open: PlanEvaluation | None = None
        self._open_region = 0
        self._spent = 0.0

    def learn(self, plan: LogJson) -> str:
        """The digest of a plan, which the log can give back from now on."""
        digest = form_digest(plan)
        if digest not in self.plans:
            self._forget_plans()
            self.plans[digest] = plan
        return digest

    def evaluated(
        self, t: int, statistics: Sequence[float], plan: str, predicted: float, deciding: float
    ) -> PlanEvaluation:
        """An evaluation at t that chose a plan by its digest, at a predicted cost a tuple; deciding
        it cost ``deciding``. Raises PlanLogRefused for what is no number, KeyError for a plan that
        was not learnt."""
        if plan not in self.plans:
            raise KeyError(plan)
        evaluation = PlanEvaluation(
            self.n_evaluations + 1,
            whole_number(t, "the time of an evaluation"),
            self.schema.checked(statistics),
            plan,
            cost_number(predicted, "a predicted cost"),
            cost_number(deciding, "a cost of deciding"),
        )
        self.close()
        self.n_evaluations += 1
        self._moves.learn(evaluation.statistics)
        region = self._region(evaluation.statistics, plan) or self._new_region(evaluation)
        region.add(evaluation, self.options.per_region, self.options.seed)
        self._open, self._open_region = evaluation, region.id
        return evaluation

    @property
    def region(self) -> int:
        """The id of the region that the last evaluation is in."""
        return self._open_region

    def ran(self, n_tuples: int, cost: float) -> None:
        """So many tuples ran under the plan of the last evaluation, and cost so much together."""
        if self._open is None:
            return
        n = self._open.n_tuples + whole_number(n_tuples, "the tuples of a batch")
        self._spent += cost_number(cost, "the cost of a batch")
        measured = cost_number(self._spent / n, "a measured cost") if n else None
        self._open = replace(self._open, measured=measured, n_tuples=n)

    def close(self) -> None:
        """What runs from now on is none of the last evaluation's."""
        if self._open is not None:
            region = self._regions.get(self._open_region)
            if region is not None:
                region.complete(self._open)
        self._open, self._spent = None, 0.0

    def reuse(self, statistics: Sequence[float]) -> list[KnownPlan]:
        """Plans chosen near S, best known first, to be priced on S by the caller; none where
        nothing is known. Raises PlanLogRefused."""
        s = self.schema.checked(statistics)
        regions = list(self._regions.values())
        if not regions:
            return []
        rows = np.concatenate([region.rows for region in regions])
        digests = [region.plan for region in regions for _ in range(len(region.rows))]
        apart = self._distances(rows, s)
        nearest = nearest_plans(apart, digests, self.options.limit, self.options.neighbours)
        return [
            KnownPlan(digest, self.plans[digest], least, votes) for digest, least, votes in nearest
        ]

    def chosen(self) -> set[str]:
        """Digests of the plans that have a region."""
        return {region.plan for region in self._regions.values()}

    def region_of(self, statistics: Sequence[float], plan: str) -> int | None:
        """The id of the region of a plan that S falls into, None where there is none."""
        region = self._region(self.schema.checked(statistics), plan)
        return None if region is None else region.id

    def is_apart(self, point: Sequence[float], other: Sequence[float]) -> bool:
        """Whether two vectors of statistics are further apart than the limit."""
        (apart,) = self._distances(np.array([point], dtype=np.float64), other)
        return bool(apart > self.options.limit)

    def state(self) -> dict[str, LogJson]:
        """As JSON: what a resumed, exported or branched run, or another run, begins with."""
        return {
            **self.schema.form(),
            "n": self.n_evaluations,
            "n_regions": self._n_regions,
            "plans": dict(self.plans),
            "moves": self._moves.state(),
            "regions": [
                {
                    "id": region.id,
                    "plan": region.plan,
                    "centre": region.centre.tolist(),
                    "n": region.n,
                    "last": region.last,
                    "kept": [each.row() for each in region.kept],
                }
                for region in self._regions.values()
            ],
            "open": None
            if self._open is None
            else [self._open_region, self._spent, self._open.plan, self._open.row()],
        }

    @classmethod
    def restored(
        cls, state: Mapping[str, LogJson], schema: LogSchema, options: LogOptions | None = None
    ) -> PlanLog:
        """The log of ``state()``; a run that begins with another's closes it first.

        Raises PlanLogRefused for one of another schema or version, with numbers that are none, or
        of another form.
        """
        schema.check(state)
        log = cls(schema, options)
        try:
            log.n_evaluations = whole_number(state["n"], "the evaluations of the log")
            log._n_regions = whole_number(state["n_regions"], "the regions of the log")
            for digest, plan in state["plans"].items():
                if log.learn(plan) != digest:
                    raise PlanLogRefused(f"plan {digest} of the log is not what it was")
            log._moves.restore(state["moves"])
            for form in state["regions"]:
                log._restore_region(form)
            if state["open"] is not None:
                log._open_region, spent, plan, row = state["open"]
                log._spent = cost_number(spent, "what the log spent")
                log._open = evaluation_of(row, plan, schema)
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            if isinstance(exc, PlanLogRefused):
                raise
            raise PlanLogRefused(f"the log has another form: {exc!r}") from exc
        return log

    def _restore_region(self, form: Mapping[str, LogJson]) -> None:
        if form["plan"] not in self.plans:
            raise PlanLogRefused(f"a region of the log has the unknown plan {form['plan']!r}")
        region = PlanRegion(
            whole_number(form["id"], "a region"), form["plan"], [float(x) for x in form["centre"]]
        )
        if region.centre.shape != (len(self.schema.statistics),) or not all(
            np.isfinite(region.centre)
        ):
            raise PlanLogRefused("the centre of a region of the log is no vector of statistics")
        region.n = whole_number(form["n"], "the evaluations of a region")
        region.last = whole_number(form["last"], "the latest of a region")
        kept = [evaluation_of(row, region.plan, self.schema) for row in form["kept"]]
        region.keep(kept, self.options.per_region, self.options.seed)
        self._regions[region.id] = region

    def _region(self, statistics: Sequence[float], plan: str) -> PlanRegion | None:
        own = [region for region in self._regions.values() if region.plan == plan]
        if not own:
            return None
        centres = np.array([region.centre for region in own])
        apart = self._distances(centres, statistics)
        nearest = int(apart.argmin())
        return own[nearest] if apart[nearest] <= self.options.limit else None

    def _distances(self, rows: Floats, statistics: Sequence[float]) -> Floats:
        """float64[R]: of each row of float64[R, n] from S."""
        s = np.array([statistics], dtype=np.float64)
        return distances(rows, s, self._moves.scale)[:, 0]

    def _forget_plans(self) -> None:
        unused = [digest for digest in self.plans if digest not in self.chosen()]
        if len(self.plans) >= self.options.n_plans and unused:
            del self.plans[unused[0]]

    def _new_region(self, evaluation: PlanEvaluation) -> PlanRegion:
        if len(self._regions) >= self.options.n_regions:
            oldest = min(self._regions.values(), key=lambda region: region.last)
            del self._regions[oldest.id]
        self._n_regions += 1
        region = PlanRegion(self._n_regions, evaluation.plan, evaluation.statistics)
        self._regions[region.id] = region
        return region
