"""Evaluations of cores that no autopilot decides for, in the log of the unit. [B05] §7

A core gives S and what its plans cost; nothing here decides, and no core sees the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeAlias

from backend.adaptive.planlog.begins import LogBegins
from backend.adaptive.planlog.log import PlanLog
from backend.adaptive.planlog.recorded import (
    LookRecord,
    newest_log,
    newest_time,
    recorded_run,
    since_state,
    subject_of,
)
from backend.adaptive.planlog.records import (
    LogJson,
    LogSchema,
    NamedStatistic,
    PlanLogRefused,
    cost_number,
    whole_number,
)
from storage.vocabulary.planlog import (
    KEEP_EVERY,
    OMITTED,
    LoggedEvaluation,
    form_digest,
    is_piloted,
)
from storage.vocabulary.records import Decision, Event

#: What an evaluation costs: as much as so many elements under the plan in force. Counted, not
#: timed, as a look of the autopilot is.
EVALUATION_TUPLES: Final = 200
#: Subject -> elements that ran under the plan in force, and what they cost together.
Ran: TypeAlias = Mapping[str, tuple[int, float]]
#: Name -> value, unit.
Statistics: TypeAlias = dict[str, tuple[float, str]]


def statistics(names: Sequence[str], **columns: tuple[str, Iterable[float]]) -> Statistics:
    """S of several things: of each column its unit, and a value of each of them."""
    return {
        f"{word} {name}": (value, unit)
        for word, (unit, values) in columns.items()
        for name, value in zip(names, values, strict=True)
    }


def unit_of(decision: Decision) -> str:
    """The unit of the costs of a decision, as schemas have it."""
    return str(decision.detail["cost_unit"]).replace(" per ", "/")


class Weighed(NamedTuple):
    """An evaluation as a core gives it.

    decision: its plans, their predicted costs and the verdict, stored or not. subject: what is
    decided, by name, the same at every evaluation. statistics: S, by name with units. deciding: the
    elements whose cost an evaluation takes, 0 where costs are no work.
    """

    decision: Decision
    subject: str
    cost_unit: str
    statistics: Statistics
    deciding: int = EVALUATION_TUPLES

    @property
    def schema(self) -> LogSchema:
        """Of the log that it belongs to."""
        named = tuple(NamedStatistic(name, unit) for name, (_, unit) in self.statistics.items())
        return LogSchema(named, self.cost_unit, self.subject)


def plan_form(decision: Decision, plan: Any) -> LogJson:
    """A plan of a decision as a log has it: its kind, its parts in order, and its moves."""
    if isinstance(plan, Mapping):
        return [plan["kind"], list(plan["order"]), plan.get("moves", [])]
    return [decision.kind, list(plan), []]


class EvaluationLog:
    """The log of one subject. began: tuples of input before it."""

    def __init__(self, schema: LogSchema, began: int) -> None:
        self.schema, self.began = schema, began
        self._log = PlanLog(schema)
        self._chosen: str | None = None
        self._written: set[str] = set()
        self._forms: dict[str, LogJson] = {}
        self.ran: tuple[int, float] = (0, 0.0)

    def logged(self, t: int, weighed: Weighed) -> dict[str, LogJson] | None:
        """The record of an evaluation; None where nothing was predicted. Raises PlanLogRefused for
        what is no number."""
        decision = weighed.decision
        if decision.predicted_old is None:
            return None
        cost = cost_number(decision.predicted_old, "the cost of the plan in force")
        statistics = self.schema.checked([value for value, _ in weighed.statistics.values()])
        form = plan_form(decision, decision.old)
        present, (rival, rival_form, offers) = form_digest(form), _rival(decision, form, cost)
        is_replaced = self._chosen not in (None, present)
        forms = {present: form} if rival is None else {present: form, rival: rival_form}
        record: dict[str, LogJson] = {
            **{"began": self.began, "t": t, "statistics": list(statistics), "plan": present},
            **{"cost": cost, "offers": offers, "switching": 0.0, "caution": 0.0},
            "plans": {d: form for d, form in forms.items() if d not in self._written},
            "deciding": cost_number(weighed.deciding * cost, "a cost of deciding"),
            **{"ran": [0, 0.0] if is_replaced else list(self.ran), "replaced": is_replaced},
            **{"n_sample": decision.n_sample, "rival": rival, "saving": None, "dwell": 0.0},
            "chosen": rival if rival and decision.verdict == "switched" else present,
            "due": None,
        }
        self._take(record)
        self.ran = (0, 0.0)
        record |= {"region": self._log.region, **self._kept()}
        return {key: value for key, value in record.items() if value or key not in OMITTED}

    def take_again(self, records: Sequence[LookRecord]) -> None:
        """Have the evaluations of these records in the log, since the last that kept the state.
        Raises PlanLogRefused for records of another form."""
        try:
            for record in since_state(records):
                if "state" not in record:
                    self._take(record)
                    continue
                self._log = PlanLog.restored(record["state"], self.schema)
                self._chosen, self._forms = record["chosen"], dict(self._log.plans)
                self._written = set(self._forms)
        except (AttributeError, LookupError, TypeError, ValueError) as exc:
            if isinstance(exc, PlanLogRefused):
                raise
            raise PlanLogRefused(f"an evaluation on record has another form: {exc!r}") from exc

    def _take(self, record: LookRecord) -> None:
        log, new = self._log, record.get("plans", {})
        self._forms |= new
        self._written |= new.keys()
        offers: dict[str, float] = {plan: cost for plan, cost, *_ in record["offers"]}
        self._chosen = str(record["chosen"])
        for digest in (record["plan"], *offers, self._chosen):
            log.learn(self._forms[digest])
        log.ran(*recorded_run(record))
        predicted = offers.get(self._chosen, float(record["cost"]))
        t = whole_number(record["t"], "the time of an evaluation")
        log.evaluated(t, record["statistics"], self._chosen, predicted, record["deciding"])

    def _kept(self) -> dict[str, LogJson]:
        """As of a look of the autopilot."""
        number = self._log.n_evaluations
        if number % KEEP_EVERY:
            return {
                "number": number,
                "schema": self.schema.form() if number == 1 else self.schema.digest,
            }
        self._forms = dict(self._log.plans)
        self._written = set(self._forms)
        return {"number": number, "schema": self.schema.form(), "state": self._log.state()}


def _rival(
    decision: Decision, present: LogJson, cost: float
) -> tuple[str | None, LogJson, list[list[LogJson]]]:
    """The other plan by its digest, as a log has it, and its price; if there is one."""
    if decision.predicted_new is None or decision.new is None:
        return None, None, []
    form = plan_form(decision, decision.new)
    if form == present:
        return None, None, []
    digest, new = form_digest(form), cost_number(decision.predicted_new, "the cost of a plan")
    saving = float(f"{cost - new:.6g}")
    return digest, form, [[digest, new, decision.n_sample, saving, 0.0, 0.0]]


class PlanLogger:
    """The plan logs of a unit, one for each subject that its cores decide on."""

    def __init__(self, begins: LogBegins | None = None) -> None:
        """begins: of the unit, where others keep logs, too."""
        self._t = 0
        self._logs: dict[str, EvaluationLog] = {}
        self._begins = begins or LogBegins()

    def passed(self, n_tuples: int) -> None:
        """A batch of input ran."""
        self._t += n_tuples

    def logged(self, ran: Ran, weighed: Iterable[Weighed], version: int) -> list[LoggedEvaluation]:
        """What a core came to after a batch. version: of the plan that ran it. What is no number is
        left out: nobody could judge by it."""
        for subject, (n, cost) in ran.items():
            if subject in self._logs:
                log = self._logs[subject]
                log.ran = log.ran[0] + n, log.ran[1] + cost
        evaluations = []
        for each in weighed:
            try:
                record = self._log(each).logged(self._t, each)
            except PlanLogRefused:
                continue
            if record is not None:
                decision, of = each.decision, (each.subject, each.cost_unit)
                numbers = decision.seq, decision.batch, decision.algorithm
                evaluations.append(
                    LoggedEvaluation(*numbers, version, decision.knob_version, record, *of)
                )
        return evaluations

    def _log(self, weighed: Weighed) -> EvaluationLog:
        """The log of its subject; another one where its statistics or their units are others."""
        schema, log = weighed.schema, self._logs.get(weighed.subject)
        if log is None or log.schema != schema:
            log = EvaluationLog(schema, self._begins.new(self._t))
            self._logs[weighed.subject] = log
        return log

    def state(self) -> dict[str, LogJson]:
        """What a run that goes on needs beside the records: it is kept every batch."""
        ran = {subject: list(log.ran) for subject, log in self._logs.items() if log.ran[0]}
        return {"t": self._t, "ran": ran}

    def resume(self, records: Sequence[LookRecord], state: Mapping[str, LogJson]) -> list[Event]:
        """Go on from the evaluations on record, of each log oldest first; a log that cannot be read
        begins anew, and that is said. records: those of autopilots, too."""
        own = [record for record in records if not is_piloted(subject_of(record))]
        events = list[Event]()
        self._begins.note(records)
        self._t = max(int(state.get("t", 0)), newest_time(own))
        for subject, of_subject in groupby(sorted(own, key=subject_of), subject_of):
            looks = list(of_subject)
            try:
                schema = LogSchema.of(looks[-1]["schema"])
                log = EvaluationLog(schema, looks[-1]["began"])
                log.take_again(newest_log(looks, schema))
            except PlanLogRefused as refused:
                title = f"the plan log of {subject} begins anew"
                events.append(Event("run", title, str(refused), "warning"))
                continue
            n, cost = state.get("ran", {}).get(subject, (0, 0.0))
            log.ran, self._logs[subject] = (n, cost), log
        return events
