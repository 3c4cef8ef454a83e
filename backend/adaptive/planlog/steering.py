"""The autopilot of one unit: what its batches sampled, when to look, and a record of each look.

A core gives S, a search and cost(P, sample); the rest is the same for all. Looks can be taken again
from their records, so that a run that was killed decides as one that was not. [B05] §7
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from backend.adaptive.planlog.autopilot import (
    Autopilot,
    PilotLook,
    PilotOffer,
    PilotOptions,
    PilotVerdict,
)
from backend.adaptive.planlog.begins import LogBegins
from backend.adaptive.planlog.confidence import paired_sample, rounded_sample
from backend.adaptive.planlog.hindsight import PlansThatRan
from backend.adaptive.planlog.log import PlanLog
from backend.adaptive.planlog.recorded import (
    newest_log,
    newest_time,
    offer_form,
    recorded_caution,
    recorded_look,
    recorded_run,
    since_state,
    unused_begin,
)
from backend.adaptive.planlog.records import (
    LogJson,
    LogSchema,
    PlanLogRefused,
    cost_number,
    finite_number,
    whole_number,
)
from backend.adaptive.planlog.steered import PilotSample, SteeredLook, SteeredPlans, SwitchPrices
from backend.adaptive.stats import thinned
from storage.vocabulary.planlog import KEEP_EVERY, OMITTED
from storage.vocabulary.records import Event

#: What a switch costs where plans do not say it (``SwitchPrices``), and a look, in tuples of input
#: under the plan in force. Counted, not timed: a run that is decided again decides the same.
SWITCH_TUPLES: Final = 1_000
LOOK_TUPLES: Final = 200
#: Sampled tuples that a search goes by, at most.
_MOST_SEARCHED: Final = 1024


class Steering:
    """Says when to look, looks, and keeps the log."""

    #: As above, of this kind of plans.
    switch_tuples = SWITCH_TUPLES
    #: Sampled tuples of a look, at most, of the newest batches, unless more are asked for.
    most_sampled = 512

    def __init__(self, schema: LogSchema, t: int = 0, begins: LogBegins | None = None) -> None:
        """begins: of the logs of a unit with several, among which its own has one from its first
        look on."""
        self.pilot = Autopilot(PlanLog(schema))
        self._t, self._begins = t, begins
        self._began = t if begins is None else None
        self._most = self.most_sampled
        self._chunks: list[PilotSample] = []
        self._older: PilotSample | None = None
        self._ran = (0, 0.0)
        self._settling = 0
        self._settling_looked: int | None = None
        self._is_replaced = self._is_taught = False
        self._chosen: str | None = None
        self._written: set[str] = set()
        self._forms: dict[str, LogJson] = {}
        self._that_ran = PlansThatRan()

    @property
    def schema(self) -> LogSchema:
        """Of its log."""
        return self.pilot.log.schema

    @property
    def t(self) -> int:
        """Tuples of input that it was told of."""
        return self._t

    @property
    def n_sampled(self) -> int:
        """Tuples sampled since the last look, as far as they are kept."""
        return sum(map(len, self._chunks))

    def sampled(self, n_tuples: int, sample: PilotSample | None) -> None:
        """A batch of input, with its sampled tuples, whatever plan it ran under; None: passed."""
        if sample is None:
            self.passed(n_tuples)
            return
        self._t += n_tuples
        if len(sample):
            self._chunks.append(sample)
        held = self.n_sampled
        while self._chunks and held - len(self._chunks[0]) >= self._most:
            held -= len(self._chunks.pop(0))

    def passed(self, n_tuples: int) -> None:
        """A batch of input while something else decides: what was sampled before it is stale, and
        rivals are measured anew afterwards."""
        self._t += n_tuples
        self._drop_samples()
        self._is_replaced = True

    def forget(self) -> None:
        """What was sampled, seen and what ran since the last look is gone, as after a kill; what
        looks came to is kept."""
        self._drop_samples()
        if self._settling_looked is not None:
            self._settling = self._settling_looked

    def _drop_samples(self) -> None:
        self._chunks.clear()
        self._that_ran.forget()
        self._older, self._ran = None, (0, 0.0)

    def settle(self, n_sampled: int) -> None:
        """Conditions are surely others from now on, or nothing is known of them: what was sampled
        before is stale, and until so many tuples are, plans are judged by all of these."""
        self._settling, self._older = n_sampled, None
        self._chunks.clear()

    def ran(self, n_tuples: int, cost: float) -> None:
        """So many tuples of input ran under the plan in force."""
        self._ran = self._ran[0] + n_tuples, self._ran[1] + cost

    def look(
        self, plans: SteeredPlans, present: LogJson, least: int, caution: float
    ) -> SteeredLook | None:
        """Look if it is due and ``least`` tuples were sampled since the last look. present: the
        plan in force; where it is not the one that the last look chose, rivals are measured against
        it anew."""
        self._most = max(self.most_sampled, least)
        if sum(map(len, self._chunks)) < max(2, least):
            return None
        sample = thinned(np.concatenate(self._chunks), self._most)
        statistics = self.schema.checked(plans.statistics(sample))
        digest = self.pilot.log.learn(present)
        if self._chosen not in (None, digest):
            self._is_replaced, self._ran = True, (0, 0.0)
        is_due = self._is_replaced or self._settling or self.pilot.is_due(self._t, statistics)
        if not is_due:
            return None
        self._chunks.clear()
        if self._began is None and self._begins is not None:
            self._began = self._begins.new(self._t)
        self._set(caution)
        samples = self._samples(plans, sample, statistics, digest)
        look = self._priced(plans, digest, samples, statistics)
        log, that_ran = self.pilot.log, self._that_ran
        number, whole = log.n_evaluations + 1, samples[digest]
        others = that_ran.priced(plans, log.plans, look, number, whole) if self._ran[0] else {}
        return self._taken(look, len(sample), others)

    def resume(self, records: Sequence[Mapping[str, LogJson]], t: int = 0) -> list[Event]:
        """Go on from the looks on record as if what came since the last one had been forgotten;
        where they cannot be read, with an empty log, and say so. t: tuples of input so far, 0 where
        nobody counted: then up to the newest look."""
        t = t or newest_time(records)
        began = self._began
        if records:
            began = unused_begin(records, t) if self._begins is None else None
        self._begin(began)
        events = []
        try:
            self.take_again(records)
        except PlanLogRefused as exc:
            self._begin(began)
            events = [Event("run", "the plan log begins anew", str(exc), "warning")]
        self._t = max(self._t, t)
        return events

    def learn(self, records: Sequence[Mapping[str, LogJson]]) -> list[Event]:
        """Begin with the log of another run's looks: its regions, plans and dwells; what was known
        of rivals and of the present best was of that run's stream. Raises PlanLogRefused for one of
        another schema, and as ``take_again``."""
        if not records:
            return []
        self.schema.check(records[-1]["schema"])
        other = Steering(self.schema)
        other.take_again(records)
        self.pilot = other.pilot.begun_anew()
        self._is_taught = True
        self._forms = dict(self.pilot.log.plans)
        n, n_plans = self.pilot.log.n_evaluations, len(self.pilot.log.chosen())
        return [Event("run", "the plan log of another run is known", f"{n} looks, {n_plans} plans")]

    def take_again(self, records: Sequence[Mapping[str, LogJson]]) -> None:
        """Take the looks of these records again, oldest first: those of the newest log, if it is of
        this schema, since the last that kept the state. Raises PlanLogRefused for records of
        another form."""
        try:
            for record in since_state(newest_log(records, self.schema)):
                if record["began"] != self._began:
                    self._begin(whole_number(record["began"], "the begin of a log"))
                if "state" in record:
                    self._restore(record)
                else:
                    self._take_again(record)
        except (AttributeError, LookupError, TypeError, ValueError) as exc:
            if isinstance(exc, PlanLogRefused):
                raise
            raise PlanLogRefused(f"a look on record has another form: {exc!r}") from exc

    def _take_again(self, record: Mapping[str, LogJson]) -> None:
        log, number = self.pilot.log, record["number"]
        if number != log.n_evaluations + 1:
            raise PlanLogRefused(f"look {log.n_evaluations + 1} of the log is not on record")
        for digest, plan in record.get("plans", {}).items():
            if log.learn(plan) != digest:
                raise PlanLogRefused(f"plan {digest} of the record is not what it was")
        self._forms |= record.get("plans", {})
        for digest in (record["plan"], *(offer[0] for offer in record["offers"])):
            log.learn(self._forms[digest])
        self._settling = whole_number(record.get("settling", 0), "the tuples conditions settle in")
        look = replace(recorded_look(record, self.schema), is_settling=self._settling > 0)
        self._t = look.t
        self._ran = recorded_run(record)
        self._is_replaced = bool(record.get("replaced"))
        self._set(recorded_caution(record))
        self._taken(look, whole_number(record["n_sample"], "the sampled tuples of a look"), {})

    def _begin(self, began: int | None) -> None:
        """A log without looks. began: None = not yet."""
        self.pilot = Autopilot(PlanLog(self.schema), self.pilot.options)
        self._t, self._began = began or 0, began
        self._chosen, self._is_replaced, self._settling_looked = None, False, None
        self._written.clear()
        self._forms.clear()
        self._that_ran = PlansThatRan()
        self.forget()

    def _restore(self, record: Mapping[str, LogJson]) -> None:
        """Go on behind a look that kept the state."""
        state = record["state"]
        self.pilot = Autopilot(PlanLog.restored(state["log"], self.schema))
        self.pilot.restore(state)
        self._that_ran.restore(state.get("that_ran", {}))
        self._set(recorded_caution(record))
        self._t, self._chosen = whole_number(record["t"], "the time of a look"), record["chosen"]
        settling = whole_number(record.get("settling", 0), "the tuples conditions settle in")
        n_sample = whole_number(record["n_sample"], "the sampled tuples of a look")
        self._settling = self._settling_looked = max(0, settling - n_sample)
        self._forms = dict(self.pilot.log.plans)
        self._written = set(self._forms)

    def _samples(
        self,
        plans: SteeredPlans,
        sample: PilotSample,
        statistics: tuple[float, ...],
        present: str,
    ) -> dict[str, PilotSample]:
        """Plans, each with the tuples that judge it; of the one in force all.

        A search goes by half of a sample, and by those of looks before under like conditions: the
        other half judges, and is in no search before it has. While conditions settle, all that was
        sampled since they changed is searched, and judges.
        """
        older = self._older
        if older is None or (not self._settling and self.pilot.has_left(statistics)):
            older = sample[:0]
        self._older = np.concatenate([older, sample])[-_MOST_SEARCHED:]
        whole = self._older if self._settling else sample
        judging = whole if self._settling else sample[1::2]
        searched = whole if self._settling else np.concatenate([older, sample[::2]])
        samples = {self.pilot.log.learn(plan): judging for plan in plans.search(searched)}
        samples |= dict.fromkeys(self.pilot.candidates(statistics, present), whole)
        samples.pop(present, None)
        return {present: whole, **samples}

    def _set(self, caution: float) -> None:
        if self.pilot.options.caution != caution:
            self.pilot.options = PilotOptions(caution)

    def _priced(
        self,
        plans: SteeredPlans,
        present: str,
        samples: Mapping[str, PilotSample],
        statistics: tuple[float, ...],
    ) -> PilotLook:
        """samples: as of ``_samples``."""
        known, whole = self.pilot.log.plans, samples[present]
        present_costs = {id(whole): plans.prices(known[present], whole)}
        now = cost_number(float(present_costs[id(whole)].mean()), "a predicted cost")
        offers = []
        for digest, rows in samples.items():
            if digest == present:
                continue
            if id(rows) not in present_costs:
                present_costs[id(rows)] = plans.prices(known[present], rows)
            old, new = present_costs[id(rows)], plans.prices(known[digest], rows)
            saving = rounded_sample(
                paired_sample(old, new, plans.worst(known[present], known[digest]))
            )
            cost = cost_number(max(0.0, now - saving.mean), "the cost of a plan")
            own = None
            if isinstance(plans, SwitchPrices):
                price = plans.switching(known[present], known[digest])
                own = cost_number(price, "a cost of switching")
            offers.append(PilotOffer(digest, cost, saving, own))
        switching, deciding = (
            cost_number(n * now, "a cost of a look") for n in (self.switch_tuples, LOOK_TUPLES)
        )
        return PilotLook(
            t=self._t,
            statistics=statistics,
            plan=present,
            cost=now,
            offers=tuple(offers),
            switching=switching,
            deciding=deciding,
            is_settling=self._settling > 0,
        )

    def _taken(self, look: PilotLook, n_sample: int, others: Mapping[str, LogJson]) -> SteeredLook:
        """Decide, and write down what it takes to decide again. others: prices that go on record
        besides."""
        if self._is_replaced:
            self.pilot.replaced()
        log, ran, was_replaced = self.pilot.log, self._ran, self._is_replaced
        offered = [offer.plan for offer in look.offers]
        known = {plan for plan in offered if log.region_of(look.statistics, plan) is not None}
        self.pilot.ran(*ran)
        self._that_ran.ran(look.plan, ran[0])
        verdict = self.pilot.look(look)
        self._ran, self._is_replaced, self._chosen = (0, 0.0), False, verdict.plan
        record = {"ran": list(ran), "replaced": was_replaced, "n_sample": n_sample}
        record["settling"], self._settling = self._settling, max(0, self._settling - n_sample)
        self._settling_looked = self._settling
        record |= {**self._looked_at(look), **self._decided(look, verdict), **self._kept()}
        rival = verdict.rival
        record |= {"known": rival in known, "due": self.pilot.due(), **others}
        return SteeredLook(
            look,
            verdict,
            self.schema.cost_unit,
            log.plans[look.plan],
            None if rival is None else log.plans[rival],
            n_sample,
            ran,
            {key: value for key, value in record.items() if value or key not in OMITTED},
            self.schema.subject,
        )

    def _kept(self) -> dict[str, LogJson]:
        """The number of a look in its log, and its schema, spelt out by the first; and the state
        behind it at times, so that no more than ``KEEP_EVERY`` looks have to be taken again."""
        log = self.pilot.log
        number = log.n_evaluations
        if number % KEEP_EVERY and not self._is_taught:
            schema = self.schema.form() if number == 1 else self.schema.digest
            return {"number": number, "schema": schema}
        self._written, self._is_taught = set(log.plans), False
        state = {**self.pilot.state(), "that_ran": self._that_ran.state()}
        return {"number": number, "schema": self.schema.form(), "state": state}

    def _looked_at(self, look: PilotLook) -> dict[str, LogJson]:
        """What a look decided on, as a part of its record."""
        named = {look.plan, *(offer.plan for offer in look.offers)}
        new = sorted(named - self._written)
        self._written |= named
        return {
            "began": self._began,
            "t": look.t,
            "statistics": list(look.statistics),
            "plan": look.plan,
            "cost": look.cost,
            "offers": [offer_form(offer) for offer in look.offers],
            "plans": {digest: self.pilot.log.plans[digest] for digest in new},
            "deciding": look.deciding,
            "caution": self.pilot.options.caution,
        }

    def _decided(self, look: PilotLook, verdict: PilotVerdict) -> dict[str, LogJson]:
        """What it came to."""
        is_sure = not math.isinf(verdict.saving)
        return {
            "chosen": verdict.plan,
            "rival": verdict.rival,
            "saving": finite_number(verdict.saving, "a sure saving") if is_sure else None,
            "region": self.pilot.log.region_of(look.statistics, verdict.plan),
            "dwell": finite_number(verdict.dwell, "a dwell"),
            "switching": verdict.switching,
            "is_transient": verdict.is_transient,
        }
