"""What if a decision had not changed the plan: whether it can be replayed, how far that is, and
what it came to, as the store has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from dashboard.base.face import HeldPlan, KeptCost, told
from dashboard.components.formats import with_mu
from dashboard.components.names import named, words_of
from dashboard.views.book import SYSTEM
from dashboard.views.branches import branch_line, branch_pair, branches_of, taker
from dashboard.views.compare import address
from dashboard.views.if_not import by_batch, came_to, points, totals_in
from dashboard.views.knobs import value_words
from dashboard.views.numbers import mean_of
from dashboard.views.planlog import newest_log
from dashboard.views.planlog_kept import kept_plan, kept_words
from storage.exchange.liveness import LIVE_STATES
from storage.reader import Reader
from storage.reading.plan_log import looks_of
from storage.tables.rows import SeriesData
from storage.vocabulary.branches import BranchOf, asked_words, failed_words
from storage.vocabulary.planlog import LOOK, SUBJECT
from storage.vocabulary.records import Command, Decision, Json, Run

IfNotState: TypeAlias = Literal[
    "offered", "asked", "running", "ready", "priced", "failed", "impossible"
]
#: Points of a line, and of a series that is added up.
MOST_DRAWN: Final = 240
_MOST_READ: Final = 4000
_MOST_SWITCHES: Final = 1000
_MOST_COMMANDS: Final = 200
_MOST_LOOKS: Final = 2000
#: An engine that was asked has a branch by then, or was ended with it.
_BEGINS_WITHIN_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class IfNotAnswer:
    """What if a decision had not changed the plan: a branch that keeps the plan of before; of a
    look of the autopilot what later looks priced that plan at (state priced).

    words: sentences. ask: the body of a POST to /branches that begins it, null = nobody can be
    asked; line: what computes it in a terminal. progress: 0 to 1. branch: its run; compare: what
    the Compare page shows of both. unit: of the lines recorded and kept, [batch, cost]; visits: of
    the branch, [batch, visits per tuple], as the strip has them of the run. last: the last batch
    with the plan of the decision.
    """

    state: IfNotState
    title: str
    words: list[str]
    ask: dict[str, Any] | None = None
    line: str = ""
    progress: float = 0.0
    branch: str = ""
    compare: str = ""
    unit: str = ""
    last: int | None = None
    recorded: list[tuple[int, float]] = field(default_factory=list)
    kept: list[tuple[int, float]] = field(default_factory=list)
    visits: list[tuple[int, float]] = field(default_factory=list)


_ANOTHER_LOG: Final = "It is of a log that has ended, or too long ago: nothing is priced for it."


class _KeptBranch(NamedTuple):
    """The branch that keeps the plan. batch: after which the plan was changed."""

    run: Run
    unit: str
    batch: int
    knob: str
    value: Json
    cost: KeptCost

    def is_it(self, branch: BranchOf) -> bool:
        mine = (self.batch, self.knob, self.unit, self.value)
        return (branch.batch, branch.knob, branch.scope, branch.value) == mine

    @property
    def body(self) -> dict[str, Any]:
        """As POST /branches takes it."""
        turn = {"at": self.batch, "knob": self.knob, "value": self.value, "scope": self.unit}
        return {**turn, "reason": "what if the plan had not changed"}


def read_if_not(reader: Reader, run: Run, decision: Decision, read_only: str) -> IfNotAnswer:
    """Of a decision of the run. read_only: why nothing can be asked for here, or ''."""
    title = f"After batch {decision.batch}: {named(decision.explanation)}"
    if decision.kind == LOOK and decision.verdict == "switched":
        return _priced(reader, run, decision, title)
    rule: HeldPlan | None = told("kept").get(decision.kind)
    refused = _impossible(reader, run, decision, rule)
    if refused or rule is None:
        return IfNotAnswer("impossible", title, [refused])
    unit, batch = decision.unit_id, decision.batch
    knobs = {knob.name: knob.value for knob in reader.knobs(run.id, batch) if knob.scope == unit}
    turn = rule.setting(decision, knobs)
    if turn is None or turn[0] not in knobs:
        why = rule.why or "The run has no knob that keeps it."
        return IfNotAnswer("impossible", title, [f"This cannot be replayed. {why}"])
    asked = _KeptBranch(
        run=run, unit=unit, batch=batch, knob=turn[0], value=turn[1], cost=rule.cost
    )
    runs = reader.runs()
    for made, branch in branches_of(runs, run.id):
        if asked.is_it(branch) and _goes_on(reader, made, batch):
            return _branched(reader, asked, decision, made, branch, title)
    return _offered(reader, asked, runs, title, read_only)


def _priced(reader: Reader, run: Run, decision: Decision, title: str) -> IfNotAnswer:
    """The numbers of later looks: no knob keeps a plan under the autopilot."""
    subject = str(decision.detail.get(SUBJECT, ""))
    looks = newest_log(looks_of(reader, run.id, None, decision.unit_id, _MOST_LOOKS, subject))
    kept = kept_plan(looks, decision.seq)
    if kept is None:
        known = any(look.seq == decision.seq for look in looks)
        why = "No look has priced the plan before since. Ask again after the next one."
        return IfNotAnswer("impossible", title, [why if known else _ANOTHER_LOG])
    recorded, before = kept.by_batch()
    return IfNotAnswer(
        state="priced",
        title=title,
        words=kept_words(kept),
        unit=with_mu(kept.unit),
        last=kept.batches[-1],
        recorded=recorded,
        kept=before,
    )


def _goes_on(reader: Reader, branch: Run, batch: int) -> bool:
    """Whether a branch is under way, or came to batches behind the change."""
    reached = reader.last_batch(branch.id)
    has_some = branch.state != "failed" and reached is not None and reached > batch
    return has_some or branch.state in LIVE_STATES


def _impossible(reader: Reader, run: Run, decision: Decision, rule: HeldPlan | None) -> str:
    """Why there is nothing to try, before any knob is looked for; ''."""
    if decision.verdict != "switched":
        return "It changed nothing: there is no other future to try."
    if not decision.old or decision.batch < 0:
        return "It made the first plan: none was in force before."
    if rule is None:
        return f"No knob keeps the plan before a change of this kind ({decision.kind}): no replay."
    last = reader.last_batch(run.id)
    if last is None or last <= decision.batch:
        return "No batch has run with the new plan yet. Ask again in a few batches."
    return ""


def _offered(
    reader: Reader, asked: _KeptBranch, runs: Sequence[Run], title: str, read_only: str
) -> IfNotAnswer:
    """What can be done where there is no branch yet."""
    engine = taker(runs, asked.run.id)
    setting = f"{asked.knob}={asked.value}"
    line = branch_line(asked.run.id, asked.batch, asked.unit, reader.where, setting)
    by = f"{words_of(asked.knob)} = {value_words(asked.value)} from batch {asked.batch} on"
    answer = partial(IfNotAnswer, title=title, line=line)
    for command in _commands(reader, runs, asked):
        if command.state == "requested" and engine is not None:
            return answer("asked", words=["The engine begins with it at its next batch."])
        why = command.answer if command.state == "refused" else _failure(reader, asked, command)
        if why:
            words = [f"It could not be replayed: {why}", "Mend that, or try it in a terminal:"]
            return answer("failed", words=words, ask=None if read_only else asked.body)
        since = 0.0 if engine is None else reader.now_of(engine) - (command.answered_at or 0.0)
        if command.state == "applied" and engine is not None and since < _BEGINS_WITHIN_S:
            return answer("asked", words=["The recorded tuples are being read."])
        break
    if engine is None or read_only:
        why = read_only or "No engine is at work here."
        return answer("offered", words=[f"{why} Typed in a terminal, this replays it, with {by}:"])
    words = [f"The recorded tuples are replayed with the plan before kept: {by}."]
    return answer("offered", words=words, ask=asked.body)


def _commands(reader: Reader, runs: Sequence[Run], asked: _KeptBranch) -> Iterator[Command]:
    """Those that asked for this branch, newest first; of the engine that is at work, or was."""
    live = [run.id for run in runs if run.state in LIVE_STATES or run.id == asked.run.id]
    wish = {"run": asked.run.id, "at": asked.batch, "knob": asked.knob, "value": asked.value}
    commands = [command for run in live for command in reader.commands(run, _MOST_COMMANDS)]
    for command in sorted(commands, key=lambda command: -command.id):
        if command.kind == "branch" and {name: command.payload.get(name) for name in wish} == wish:
            yield command


def _failure(reader: Reader, asked: _KeptBranch, command: Command) -> str:
    """Why the branch failed that a command began, or ''."""
    title = failed_words(asked_words(asked.run.id, asked.batch, asked.knob, asked.value))
    events = reader.events(command.run_id, since=command.applied_batch, kinds=("run",))
    since = command.answered_at or command.requested_at
    return next(
        (
            stored.event.detail
            for stored in reversed(events)
            if stored.event.title == title and stored.time >= since
        ),
        "",
    )


def _branched(
    reader: Reader, asked: _KeptBranch, decision: Decision, made: Run, branch: BranchOf, title: str
) -> IfNotAnswer:
    """How far a branch is, and what it came to."""
    reached = reader.last_batch(made.id)
    of = partial(
        IfNotAnswer,
        title=title,
        branch=made.id,
        compare=address(branch_pair(made.id, branch)),
        progress=0.0 if reached is None else min(1.0, (reached + 1) / (branch.last + 1)),
    )
    if made.state in LIVE_STATES:
        batch = "none" if reached is None else reached
        return of("running", words=[f"Replaying: batch {batch} of {branch.last}."])
    assert reached is not None
    if not _is_kept(reader, asked, made.id, decision):
        words = "The replay had another plan there than the one before the change"
        return of("impossible", words=[f"{words}.", *_doubts(reader, made.id)])
    return _compared(reader, asked, min(reached, branch.last), made, of)


def _is_kept(reader: Reader, asked: _KeptBranch, branch: str, decision: Decision) -> bool:
    """Whether the plan of before is in force in the branch: the decision is not made there, and an
    order that was in force is the same."""
    unit, batch = asked.unit, asked.batch
    switched = reader.decisions(branch, until=batch, verdicts=("switched",), limit=9, unit=unit)
    made = [entry.decision for entry in switched if entry.decision.batch == batch]
    if any((change.kind, str(change.new)) == (decision.kind, str(decision.new)) for change in made):
        return False
    before, kept = (
        reader.plan_at(run, at, unit) for run, at in ((asked.run.id, batch), (branch, batch + 1))
    )
    return before is None or kept is None or before.order == kept.order


def _doubts(reader: Reader, branch: str) -> list[str]:
    """What the branch's engine warned of: its batches before the change were not as recorded."""
    events = (stored.event for stored in reader.events(branch, kinds=("run",)))
    return [
        f"Beware: {event.title} ({event.detail})." for event in events if event.severity != "info"
    ]


def _compared(
    reader: Reader, asked: _KeptBranch, end: int, made: Run, of: Callable[..., IfNotAnswer]
) -> IfNotAnswer:
    """Both runs over the batches that have the plan of the decision, and to the end of both."""
    cost, first = asked.cost, asked.batch + 1
    weights = _weights(reader, asked, end)
    costs = (
        by_batch(_series(reader, asked, asked.run.id, cost.property, end), weights, cost.scale),
        by_batch(_series(reader, asked, made.id, cost.property, end), weights, cost.scale),
    )
    following = _next_switch(reader, asked, end)
    last = end if following is None else following
    own = totals_in(costs, first, last, cost.is_level, following is not None)
    whole = None if last == end else totals_in(costs, first, end, cost.is_level)
    visits = reader.series(
        made.id, SYSTEM, "visits_per_tuple", since_batch=asked.batch, until_batch=end
    )
    drawn = {} if visits is None else by_batch([visits._replace(n=visits.n * 0 + 1)], {}, 1.0)
    return of(
        "ready",
        words=[*came_to(cost, own, whole), *_doubts(reader, made.id)],
        unit=cost.words or "bytes",
        last=last,
        recorded=points(costs[0], asked.batch, MOST_DRAWN),
        kept=points(costs[1], asked.batch, MOST_DRAWN),
        visits=points(drawn, asked.batch, MOST_DRAWN),
    )


def _series(
    reader: Reader, asked: _KeptBranch, run: str, name: str, end: int
) -> Sequence[SeriesData]:
    """A property of all parts of the unit."""
    entities = reader.entities(run, end)
    keys = [(entity.id, name) for entity in entities if entity.unit_id == asked.unit]
    return tuple(
        reader.many_series(
            run, keys, since_batch=asked.batch, until_batch=end, max_points=_MOST_READ
        ).values()
    )


def _weights(reader: Reader, asked: _KeptBranch, end: int) -> Mapping[str, float]:
    """Entity -> what one costs, as the recorded run measured it; none without a price."""
    if not asked.cost.weight:
        return {}
    series = _series(reader, asked, asked.run.id, asked.cost.weight, end)
    return {data.entity: mean_of(data.value) for data in series}


def _next_switch(reader: Reader, asked: _KeptBranch, end: int) -> int | None:
    """The batch after which the unit's plan was changed again, in the recorded run."""
    entries = reader.decisions(
        asked.run.id,
        until=end,
        verdicts=("switched",),
        limit=_MOST_SWITCHES,
        unit=asked.unit,
        brief=True,
    )
    later = [entry.decision.batch for entry in entries if entry.decision.batch > asked.batch]
    return min(later, default=None)
