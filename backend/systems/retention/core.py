"""Joins that keep less than all as an operator core: their windows drop tuples by a key. Card B8"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from backend.adaptive.core import Evaluations
from backend.model.ids import entity_id
from backend.model.knobs import KnobSettings, KnobSpec
from backend.operators.network.core.blocks import FOREVER
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.key_groups import N_GROUPS
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import NetworkReport, OperatorCounts
from backend.operators.network.core.tuning import Tuning
from backend.operators.network.kinds.retention import Keyed, RetainedKey
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.stores.retaining import RetainProfile, RetainTuning, share_of
from backend.systems.contract import Refusal, Refused, UnitState
from backend.systems.cores import CoreKind, CoreNews, LaidOutNetwork, NetworkRan, OperatorCore
from backend.systems.publishing import samples_of
from backend.systems.retention.join import AdaptedRetention, SeenWindow, seen_join
from backend.systems.retention.knobs import OFF, RetentionKnobs
from backend.systems.retention.planning import RetainedJoin, WholeJoin, retained_joins, spans
from backend.systems.retention.ranked import adapted_join
from storage.vocabulary.records import Decision, Entity, Json, Sample
from storage.vocabulary.retention import RETENTION as VOCABULARY

_STATE: Final = "retention"


class RetentionCore(OperatorCore):
    """All joins of a network that keep less. keyed: by which key each window does,
    or did: its tuples have had numbers of their own since."""

    def __init__(self, evaluations: Evaluations) -> None:
        self._evaluations = evaluations
        self._joins: dict[str, AdaptedRetention] = {}
        self._keyed: dict[str, Keyed] = {}
        self._missed: dict[str, tuple[int, int]] = {}
        self._shown: dict[str, tuple[Keyed, ...]] = {}
        self._network: LaidOutNetwork | None = None
        self._version = 0

    @property
    def inexact(self) -> Mapping[str, str]:
        """Joins that lack tuples: all that read a window that does are among them, as only joins
        that want it by one key let it drop tuples."""
        return {id: join.inexact for id, join in self._joins.items() if join.inexact}

    def check(self, network: LaidOutNetwork, settings: KnobSettings) -> None:
        """Raises Refused for a join that has no key."""
        knobs = RetentionKnobs.of(settings)
        for whole in () if knobs.retention == OFF else _planned(network, knobs)[1]:
            raise Refused(
                f"retention = {knobs.retention} refused: in query {whole.query!r} the join of "
                f"{' and '.join(_read(network.plan, whole.id))} on "
                f"{network.names[whole.id]!r} {whole.why}, so no key says which tuples stay; "
                f"allowed: off, or retained_queries with the names of others"
            )

    def lay_out(self, network: LaidOutNetwork, settings: KnobSettings) -> str:
        """Another plan or other knobs: joins that lack tuples are looked after until they do not,
        whether or not they are to keep less from now on."""
        knobs, before, self._network = RetentionKnobs.of(settings), self._joins, network
        self._version = settings.version
        here = {operator.id for operator in network.plan.operators}
        self._keyed = {id: keyed for id, keyed in self._keyed.items() if id in here}
        self._missed = {id: n for id, n in self._missed.items() if id in here}
        planned = [] if knobs.retention == OFF else self._as_before(_planned(network, knobs)[0])
        wanted = {
            join.id: adapted_join(join, knobs.retention, before.get(join.id)) for join in planned
        }
        left = {id: join for id, join in before.items() if id in here and join.lacks}
        self._joins = {**left, **wanted}
        for join in planned:
            wanted[join.id].join = join
            self._keyed |= {keyed.window: keyed for keyed in join.windows}
        for id, adapted in self._joins.items():
            adapted.name, (adapted.key, adapted.whole) = network.names[id], _words(network, adapted)
            adapted.is_wanted = id in wanted
            may_drop = adapted.is_wanted and bool(adapted.join.windows)
            adapted.spans = spans(network.plan, adapted.join)
            adapted.turn(*((knobs.retained_share, knobs.retained_bytes) if may_drop else (1.0, 0)))
        shown = {id: join.join.windows for id, join in self._joins.items()}
        is_same = shown == self._shown
        self._shown = shown
        return "" if is_same else f"retention of joins: {knobs.retention}"

    def _as_before(self, joins: Sequence[RetainedJoin]) -> list[RetainedJoin]:
        """With windows alone that had no other key before: what they lack is of that one."""
        return [
            join._replace(
                windows=tuple(
                    own for own in join.windows if self._keyed.get(own.window, own) == own
                )
            )
            for join in joins
        ]

    @property
    def _tunings(self) -> dict[str, RetainTuning]:
        """Of each window, by the join that drops most."""
        tunings = {id: RetainTuning(own.place, own.as_float) for id, own in self._keyed.items()}
        for join in self._joins.values():
            for keyed in join.join.windows:
                tunings[keyed.window] = join.tuned(tunings[keyed.window], keyed)
        return tunings

    def tuned(self, job: NetworkJob) -> NetworkJob:
        return job.executed(self._tunings)

    def observe(self, ran: NetworkRan) -> CoreNews:
        self._joins = {id: j for id, j in self._joins.items() if j.is_wanted or j.lacks}
        before, records = self._tunings, list[Decision]()
        for id in self._keyed:
            profile, (_, total) = _told(ran.report, id).profile, self._missed.get(id, (0, 0))
            n = profile.n_refused + profile.n_taken
            self._missed[id] = n, total + n
        for join in self._joins.values():
            windows = {own.window: _told(ran.report, own.window) for own in join.join.key.windows}
            drops = {own.window for own in join.join.windows}
            counts = ran.report.operators.get(join.join.id, OperatorCounts())
            seen = seen_join(join.seen, windows, drops, counts.counters)
            records += join.observe(ran.batch_id, seen, self._evaluations, self._version)
        return CoreNews(tuple(records), self._tunings != before)

    # ------------------------------------------------------------------ what is published

    def _monitor(self, id: str) -> str:
        assert self._network is not None
        return entity_id(self._network.unit_id, "monitor", f"retention of {id}")

    def entities(self) -> Sequence[Entity]:
        network = self._network
        if network is None:
            return ()
        return [
            *(
                self._entity(
                    network, id, "retained window", {"joins": [*map(self._monitor, self._of(id))]}
                )
                for id in self._windows
            ),
            *(
                self._entity(
                    network,
                    join.join.id,
                    "retained join",
                    {"key": join.key, "kept_whole": list(join.whole)},
                )
                for join in self._joins.values()
            ),
        ]

    @property
    def _windows(self) -> list[str]:
        """Windows that may drop tuples."""
        return list(dict.fromkeys(id for j in self._joins.values() for id, *_ in j.join.windows))

    def _of(self, window: str) -> list[str]:
        """Joins that let a window drop tuples."""
        return [
            id
            for id, join in self._joins.items()
            if window in {own.window for own in join.join.windows}
        ]

    def _entity(
        self, network: LaidOutNetwork, id: str, role: str, facts: Mapping[str, Json]
    ) -> Entity:
        own = {"node": network.node(id), **facts}
        name = f"Retention of {network.names[id]}"
        return Entity(self._monitor(id), "monitor", name, own, unit_id=network.unit_id, role=role)

    def samples(self, report: NetworkReport) -> Sequence[Sample]:
        tunings, samples = self._tunings, list[Sample]()
        for id in self._windows:
            share = _share(tunings[id])
            last, total = self._missed.get(id, (0, 0))
            lost = [self._joins[join].lost_share(id) for join in self._of(id)]
            known = [share for share in lost if share is not None]
            values: dict[str, tuple[float | None, str]] = {
                "key_share": (share, "prob"),
                "missing_share": (None if share is None else 1 - share, "prob"),
                "missed_tuples": (last, "tuples"),
                "missed_total": (total, "tuples"),
                "lost_share": (max(known, default=None), "prob"),
            }
            samples += samples_of(self._monitor(id), values)
        for join in self._joins.values():
            share, estimate = join.sample_share, join.seen.estimate
            value, low, high = estimate or (None, None, None)
            values = {
                "sample_share": (share, "prob"),
                "expected_share": (join.expected_share, "prob"),
                "result_scale": (1 / share if share else None, ""),
                "windows_bytes": (join.seen.n_bytes, "bytes"),
                "sampled_results": (join.seen.counters.get("kept_results"), "tuples"),
                "estimated_results": (value, "tuples"),
                "estimated_low": (low, "tuples"),
                "estimated_high": (high, "tuples"),
            }
            samples += samples_of(self._monitor(join.join.id), values)
        return samples

    # ------------------------------------------------------------------ kills

    def state(self) -> Mapping[str, Json]:
        if not self._keyed:
            return {}
        joins = {id: join.state() for id, join in self._joins.items()}
        missed = {id: list(n) for id, n in self._missed.items()}
        keyed = [list(own) for own in self._keyed.values()]
        return {_STATE: {"keyed": keyed, "missed": missed, "joins": joins}}

    def restore(self, state: UnitState) -> None:
        known = state.facts.get(_STATE)
        if known is None:
            return
        assert self._network is not None
        here = {operator.id for operator in self._network.plan.operators}
        keyed = (Keyed(*own) for own in known["keyed"])
        self._keyed |= {own.window: own for own in keyed if own.window in here}
        self._missed = {id: (n, total) for id, (n, total) in known["missed"].items() if id in here}
        for id, own in known["joins"].items():
            if id in here:
                windows = tuple(Keyed(*keyed) for keyed in own["windows"])
                join = RetainedJoin(id, RetainedKey(0, windows), windows)
                left = adapted_join(join, own["rule"])
                left.is_wanted = False
                adapted = self._joins.setdefault(id, left)
                adapted.restore(own)
                adapted.name = self._network.names[id]
                adapted.key, adapted.whole = _words(self._network, adapted)


def _planned(
    network: LaidOutNetwork, knobs: RetentionKnobs
) -> tuple[list[RetainedJoin], list[WholeJoin]]:
    names = [name for name in network.queries if name in knobs.names or not knobs.names]
    return retained_joins(network.plan, names)


def _words(network: LaidOutNetwork, adapted: AdaptedRetention) -> tuple[str, list[str]]:
    """The attributes of the key, and the inputs that are kept whole."""
    plan, join = network.plan, adapted.join
    planned, windows = plan.operator(join.id), {id for id, *_ in join.windows}
    names = dict.fromkeys(plan.operator(id).fields[place].name for id, place, _ in join.windows)
    below = [_below(plan, input) for input in planned.inputs]
    whole = [
        network.names[input]
        for input, ids in zip(planned.inputs, below, strict=True)
        if not ids & windows
    ]
    return " = ".join(names), whole


def _read(plan: NetworkPlan, id: str) -> list[str]:
    """What the inputs of a join read."""
    below = [sorted(_below(plan, input)) for input in plan.operator(id).inputs]
    reads = [dict.fromkeys(plan.operator(own).work.reads for own in ids) for ids in below]
    return ["+".join(filter(None, names)) for names in reads]


def _below(plan: NetworkPlan, id: str) -> set[str]:
    return {id}.union(*(_below(plan, input) for input in plan.operator(id).inputs))


def _share(tuning: RetainTuning) -> float | None:
    """Of the values of the key, whose tuples are kept; None: tuples go by their numbers or age."""
    if tuning.by_number:
        return None
    if not tuning.cuts:
        return share_of(tuning.n_dropped)
    cuts = np.frombuffer(tuning.cuts, np.int64)
    return None if len(np.unique(cuts)) == 1 else float((cuts < FOREVER).mean())


def _told(report: NetworkReport, id: str) -> SeenWindow:
    """A window's batch."""
    counts = report.operators.get(id, OperatorCounts())
    profile = counts.profile if isinstance(counts.profile, RetainProfile) else RetainProfile()
    return SeenWindow(counts.n_bytes, counts.n_tuples, profile)


class RetentionCores:
    """What windows of joins keep."""

    name = "retention"
    title = "Retention"
    vocabulary = VOCABULARY
    knobs: tuple[KnobSpec, ...] = RetentionKnobs.specs()

    def claims(self, plan: NetworkPlan) -> frozenset[str] | Refusal:
        windows = frozenset(operator.id for operator, _ in plan.working(WindowOp))
        return windows or Refusal("it joins no windows, so there is nothing to keep less of")

    def core(self, evaluations: Evaluations) -> OperatorCore:
        return RetentionCore(evaluations)

    def rehearsals(self, plan: NetworkPlan) -> list[Mapping[str, Tuning]]:
        """Half of the values of the key."""
        joins, _ = retained_joins(plan, plan.answers)
        half = {
            own.window: RetainTuning(own.place, own.as_float, N_GROUPS // 2, counts=True)
            for join in joins
            for own in join.windows
        }
        return [half] if half else []


RETENTION: Final[CoreKind] = RetentionCores()
