"""Switch iff what is surely saved × how long it lasts > what switching and deciding cost. Ours

One dial: how many false switches in 1 000 evaluations are all right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from backend.adaptive.planlog.confidence import PairedSample, SavingLadder, SureSaving
from backend.adaptive.planlog.dwell import DwellBook
from backend.adaptive.planlog.late import PlansOfLate
from backend.adaptive.planlog.log import PlanLog
from backend.adaptive.planlog.looks import LookOutlook
from backend.adaptive.planlog.records import LogJson, real_number, whole_number

#: ``caution`` is below it: that many false switches in as many evaluations would be all.
MOST_CAUTION: Final = 1000
#: Switches whose savings say what the next one is expected to save.
_RECENT: Final = 8


@dataclass(frozen=True, slots=True)
class PilotOptions:
    """caution: false switches in 1 000 evaluations, in [0, 1000); 0 never switches. prior_dwell:
    tuples a plan is expected to stay the best before anything is known. prior_gain: what another
    plan is expected to save then, as a share of the present cost. n_rivals: plans followed at
    once."""

    caution: float = 1.0
    prior_dwell: float = 100_000.0
    prior_gain: float = 0.1
    n_rivals: int = 8


@dataclass(frozen=True, slots=True)
class PilotOffer:
    """A plan that might run instead. plan: its digest; cost: cost(P, S) a tuple; saving: over the
    plan in force, on tuples of this look by which it was not found. switching: cost of putting it
    in force, None: that of the look."""

    plan: str
    cost: float
    saving: PairedSample
    switching: float | None = None


@dataclass(frozen=True, slots=True)
class PilotLook:
    """An evaluation. t: tuples of input so far; statistics: S; plan: digest of the one in force;
    cost: its cost(P, S) a tuple; offers: others. switching: cost of putting one in force that says
    none of its own; deciding: of this evaluation, both in the unit of cost. is_settling: conditions
    are surely others than those the plan in force was chosen for; samples are all since then."""

    t: int
    statistics: tuple[float, ...]
    plan: str
    cost: float
    offers: tuple[PilotOffer, ...]
    switching: float
    deciding: float
    is_settling: bool = False


@dataclass(frozen=True, slots=True)
class PilotVerdict:
    """Keep or switch, with the four terms: saving × dwell > switching + deciding.

    plan: to run from now on; rival: the other one that came nearest to it, None without offers.
    saving: what the rival surely saves a tuple, the lower bound, -∞ where nothing is sure; dwell:
    tuples it is expected to. switching, deciding: costs. level: of the bound. is_transient: most
    dwells in the rival's region end before a switch has paid.
    """

    plan: str
    rival: str | None
    saving: float
    dwell: float
    switching: float
    deciding: float
    level: float
    is_transient: bool

    @property
    def is_switch(self) -> bool:
        """Whether another plan is to run."""
        return self.plan == self.rival

    @property
    def worth(self) -> float:
        """The left side, in the unit of cost."""
        return self.saving * self.dwell

    @property
    def price(self) -> float:
        """The right side."""
        return self.switching + self.deciding


class Autopilot:
    """Decides when to look and when to switch, for one unit. Tell it of batches with ``ran``, ask
    ``is_due``, then ``look``."""

    def __init__(self, log: PlanLog, options: PilotOptions | None = None) -> None:
        self.log = log
        self.options = options or PilotOptions()
        self.late = PlansOfLate()
        self._dwell = DwellBook(self.options.prior_dwell)
        self._rivals: dict[str, SavingLadder] = {}
        self._leader: str | None = None
        self._gain = 0.0
        self._n_switches = 0
        self._residual = 0.0
        self._last: tuple[int, tuple[float, ...], float] | None = None
        self._deciding = 0.0

    def ran(self, n_tuples: int, cost: float) -> None:
        """A batch ran under the plan in force and cost so much, together."""
        self.log.ran(n_tuples, cost)

    def is_due(self, t: int, statistics: Sequence[float] | None = None) -> bool:
        """Whether to evaluate at t: the expected regret since the last look exceeds the cost of a
        look, or S, where it is given, has left the region of that look."""
        if self._last is None or (statistics is not None and self.has_left(statistics)):
            return True
        last_t, _, cost = self._last
        return self._outlook(cost).is_due(t - last_t, self._deciding)

    def due(self) -> int | None:
        """Tuples from the last look to the next, as far as S stays in its region; None: no look was
        taken, or none is to be expected."""
        return None if self._last is None else self._outlook(self._last[2]).due(self._deciding)

    def _outlook(self, cost: float) -> LookOutlook:
        """After a look at which the plan that runs cost so much a tuple."""
        gain = self._gain if self._n_switches else self.options.prior_gain * cost
        return LookOutlook(self._dwell.expected(None), gain, self._residual)

    def has_left(self, statistics: Sequence[float]) -> bool:
        """Whether S is far from that of the last look."""
        return self._last is not None and self.log.is_apart(self._last[1], statistics)

    def candidates(self, statistics: Sequence[float], plan: str) -> list[str]:
        """Digests of the plans to be priced on the sample of a look besides what a search finds,
        at most ``n_rivals``: those that are followed, and those known near S. plan: in force."""
        known = [each.digest for each in self.log.reuse(statistics)]
        by_saving = sorted(self._rivals, key=lambda plan: -self._rivals[plan].mean)
        followed = [digest for digest in by_saving if digest in self.log.plans]
        asked = dict.fromkeys([*known[: self.options.n_rivals // 2], *followed, *known])
        asked.pop(plan, None)
        return list(asked)[: self.options.n_rivals]

    def look(self, look: PilotLook) -> PilotVerdict:
        """Decide, and log it: of rivals that are surely worth it, the cheapest on S, with what
        putting it in force costs spread over half of a dwell.

        Raises PlanLogRefused for numbers that are none, KeyError for plans the log has not learnt.
        """
        self._follow(look)
        level = self._level()
        verdicts = [(self._judge(look, offer, level), offer.cost) for offer in look.offers]
        dwell = self._dwell.expected(None)
        alone = PilotVerdict(
            look.plan,
            None,
            -math.inf,
            dwell,
            look.switching,
            look.deciding,
            level,
            False,
        )
        passed = [judged for judged in verdicts if judged[0].is_switch]
        if passed:
            verdict, _ = min(passed, key=lambda judged: judged[1] + 2 * judged[0].switching / dwell)
        else:
            nearest = max(verdicts, key=lambda judged: judged[0].worth, default=(alone, 0.0))
            verdict = nearest[0]
        costs = {offer.plan: offer.cost for offer in look.offers} | {look.plan: look.cost}
        cost = costs[verdict.plan]
        self.log.evaluated(look.t, look.statistics, verdict.plan, cost, look.deciding)
        near = (offer.plan for offer in look.offers if _is_near(offer.saving))
        self.late.saw([look.plan, *near])
        self._lead(look, verdict)
        self._remember(look, verdict, cost)
        return verdict

    def replaced(self) -> None:
        """Another plan is in force, without a look: rivals are measured against it anew."""
        self.log.close()
        self._rivals.clear()
        self._residual = 0.0

    def begun_anew(self) -> Autopilot:
        """One of another stream that knows what this one came to, but not what it is at."""
        self.log.close()
        other = Autopilot(self.log, self.options)
        other._dwell.restore({**self._dwell.state(), "now": [None, None, 0, 0]})
        other._gain, other._n_switches = self._gain, self._n_switches
        return other

    def state(self) -> dict[str, LogJson]:
        """As JSON, with the log's."""
        return {
            "log": self.log.state(),
            "late": self.late.state(),
            "dwell": self._dwell.state(),
            "rivals": [[plan, ladder.state()] for plan, ladder in self._rivals.items()],
            "leader": self._leader,
            "gain": [self._gain, self._n_switches, self._residual, self._deciding],
            "last": None if self._last is None else [*self._last],
        }

    def restore(self, state: Mapping[str, LogJson]) -> None:
        """Take up ``state()``, but for the log, which is restored first. Raises PlanLogRefused for
        numbers that cannot be."""
        self._dwell.restore(state["dwell"])
        if "late" in state:
            self.late.restore(state["late"])
        self._rivals = {plan: SavingLadder() for plan, _ in state["rivals"]}
        for plan, rows in state["rivals"]:
            self._rivals[plan].restore(rows)
        self._leader = state["leader"]
        gain, n_switches, residual, deciding = state["gain"]
        self._gain = real_number(gain, "what a switch gained")
        self._n_switches = whole_number(n_switches, "the switches of the log")
        self._residual = real_number(residual, "what a rival saves", 0.0)
        self._deciding = real_number(deciding, "a cost of deciding", 0.0)
        self._last = None
        if state["last"] is not None:
            t, statistics, cost = state["last"]
            self._last = (
                whole_number(t, "the time of the last look"),
                self.log.schema.checked(statistics),
                real_number(cost, "the cost at the last look", 0.0),
            )

    def _follow(self, look: PilotLook) -> None:
        """Book the samples of a look, each with the plan it is of; none while conditions settle, as
        the next look has the same tuples again."""
        if look.is_settling:
            self._rivals.clear()
            return
        n_tuples = 0 if self._last is None else look.t - self._last[0]
        for offer in look.offers:
            self._rivals.setdefault(offer.plan, SavingLadder()).add(offer.saving, n_tuples)
        n_kept = max(self.options.n_rivals, len(look.offers))
        offered = {offer.plan for offer in look.offers}
        known = [plan for plan in self._rivals if plan not in offered]
        by_saving = sorted(known, key=lambda plan: self._rivals[plan].mean)
        for plan in by_saving[: max(0, len(self._rivals) - n_kept)]:
            del self._rivals[plan]

    def _level(self) -> float:
        """Of a bound: the dial, divided among the plans that may be picked by what they show."""
        n_plans = len(self._rivals.keys() | self.log.chosen())
        return self.options.caution / MOST_CAUTION / max(1, n_plans)

    def _judge(self, look: PilotLook, offer: PilotOffer, level: float) -> PilotVerdict:
        """The inequality for one offer, with the stretch for which its left side is largest.

        A rival that has surely been better for n tuples is expected to be it for n/2 more, whatever
        was seen before: so switching is at last not refused to what has cost its price twice.
        While conditions settle nothing speaks for the plan in force: what its sample says will do.
        """
        region = self.log.region_of(look.statistics, offer.plan)
        expected = self._dwell.expected(region)
        if look.is_settling:
            bounds = [SureSaving(offer.saving.mean if level else -math.inf, 0)]
        else:
            bounds = self._rivals[offer.plan].bounds(level) or [SureSaving(-math.inf, 0)]
        pairs = ((each.lower, max(expected, each.n_tuples) / 2) for each in bounds)
        saving, dwell = max(pairs, key=lambda pair: pair[0] * pair[1])
        switching = look.switching if offer.switching is None else offer.switching
        price = switching + look.deciding
        is_worth = saving * dwell > price
        agrees = offer.saving.mean > 0 and offer.cost < look.cost
        is_transient = (
            is_worth and region is not None and self._passes(offer, region, price / saving)
        )
        return PilotVerdict(
            look.plan if is_transient or not (is_worth and agrees) else offer.plan,
            offer.plan,
            saving,
            dwell,
            switching,
            look.deciding,
            level,
            is_transient,
        )

    def _passes(self, offer: PilotOffer, region: int, payback: float) -> bool:
        """Whether a rival is likely to be the best for too short a time, and has not yet outlasted
        that."""
        lasted = self._dwell.elapsed if self._leader == offer.plan else 0
        return lasted < payback and self._dwell.is_transient(region, payback)

    def _lead(self, look: PilotLook, verdict: PilotVerdict) -> None:
        """Which plan is taken for the best: one that surely saves, until it is seen not to."""
        saves = {offer.plan for offer in look.offers if offer.saving.mean > 0}
        is_sure = verdict.saving > 0 and not look.is_settling
        if verdict.is_switch or (self._leader not in saves and is_sure):
            self._leader = verdict.rival
        elif self._leader not in saves:
            self._leader = look.plan
        assert self._leader is not None
        region = self.log.region_of(look.statistics, self._leader)
        self._dwell.saw(look.t, self._leader, region)

    def _remember(self, look: PilotLook, verdict: PilotVerdict, cost: float) -> None:
        """What the next look and the time of it go by."""
        self._residual = 0.0
        for offer in look.offers:
            if offer.plan == verdict.plan:
                self._n_switches += 1
                self._gain += (offer.saving.mean - self._gain) / min(self._n_switches, _RECENT)
            elif not verdict.is_switch:
                self._residual = max(self._residual, _less_its_error(offer.saving))
        if verdict.is_switch:
            self._rivals.clear()
        self._last, self._deciding = (look.t, look.statistics, cost), look.deciding


def _less_its_error(saving: PairedSample) -> float:
    """The mean less its standard error."""
    return saving.mean - _error(saving)


def _is_near(saving: PairedSample) -> bool:
    """Whether a plan saves on a sample, or costs no more than a standard error."""
    return saving.mean + _error(saving) > 0


def _error(saving: PairedSample) -> float:
    """Of the mean; 0 where nothing says how much it is."""
    return math.sqrt(saving.squares / (saving.n - 1) / saving.n) if saving.n > 1 else 0.0
