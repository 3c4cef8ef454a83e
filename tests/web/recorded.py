"""A plausible recorded run, written batch by batch through the real EngineWriter. Seeded.

``record(writer, "r1", 200, started_at)`` gives a run with rearrangements, evaluations held back,
a query change, a stretch without early drop, misfits, results and matrices. ``Recording.write``
answers the knob commands it is given, as the engine does.
"""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from storage.vocabulary.records import (
    Batch,
    BatchRecord,
    Command,
    CommandAnswer,
    Decision,
    DecisionOutcome,
    Event,
    Input,
    Knob,
    Matrix,
    Misfit,
    PlanVersion,
    Run,
    Sample,
    Unit,
)
from storage.writer import EngineWriter
from tests.web.recorded_parts import (
    ATTRIBUTES,
    KNOBS,
    N_TUPLES,
    PERIOD_S,
    QUERIES,
    entities,
    matrices,
    regret,
    results,
)
from tests.web.stamping import stamped, stamped_entities, stamped_knobs

REARRANGED: Final = {60: 2, 110: 3, 150: 4, 175: 5}
NO_DROP: Final = range(150, 175)
_REFUSED: Final = "this recording knows knobs only"


@dataclass
class Recording:
    """A run being written. ``write()`` adds the next batch; counters live here."""

    writer: EngineWriter
    run_id: str
    started_at: float
    seed: int = 7
    order: list[str] = field(default_factory=lambda: list(ATTRIBUTES))
    next_batch: int = 0
    version: int = 1
    settings_version: int = 0
    values: dict[str, Any] = field(default_factory=lambda: {k.name: k.value for k in KNOBS})
    seq: int = 0
    matched_total: int = 0
    warm_up_ms: float = 0.0
    """What the first batch takes."""

    def begin(self) -> None:
        """Write the run with its entities and knobs."""
        schema = [[name, kind] for name, kind in ATTRIBUTES.items()]
        settings = {"source": "nycflights13", "rate": 400, "sink": "parquet"}
        place = (os.getpid(), socket.gethostname(), "0.1.0")
        inputs = (Input("Flights", schema),)
        run = Run(
            self.run_id, "flights", "starting", self.started_at, settings, *place, inputs=inputs
        )
        things = stamped_entities(entities(), UNIT.id)
        self.writer.begin_run(run, things, stamped_knobs(KNOBS, UNIT.id))

    def write(
        self,
        time: float | None = None,
        commands: Sequence[Command] = (),
        order: list[str] | None = None,
    ) -> None:
        """Write the next batch, recorded at ``time`` (default: half a second after the last).

        order: rearrange to this order now.
        """
        b = self.next_batch
        self.next_batch += 1
        rng = random.Random(self.seed * 100_003 + b)
        when = self.started_at + 5 + PERIOD_S * b if time is None else time
        plans, decisions, events = self._adapt(b, rng, order)
        samples, n_matched = self._samples(b, rng)
        knobs, answers = self._answer(b, when, commands)
        events += tuple(Event("knob", f"{knob.name} = {knob.value}") for knob in knobs)
        bad = (Misfit('{"dep_delay": "soon"}', "dep_delay: not an int"),) if b == 75 else ()
        stream_time = f"2013-01-{1 + b // 24 % 28:02d} {b % 24:02d}:00"
        batch = Batch(
            b, when, 120 + 40 * rng.random(), N_TUPLES, n_matched, len(bad),
            {UNIT.id: self.version}, stream_time, {"spark": 95.0, "record": 6.0},
        )  # fmt: skip
        record = BatchRecord(
            self.run_id,
            batch,
            samples=samples,
            plans=plans,
            decisions=decisions,
            outcomes=_outcomes(b, decisions),
            matrices=self._matrices(rng) if b % 25 == 0 else (),
            events=events,
            knobs=knobs,
            answers=answers,
            results=results(rng, n_matched),
            misfits=bad,
        )
        self.writer.write_batch(stamped(record, UNIT))

    def _adapt(
        self, b: int, rng: random.Random, order: list[str] | None
    ) -> tuple[tuple[PlanVersion, ...], tuple[Decision, ...], tuple[Event, ...]]:
        if b == 0:
            plan = self._plan(0, "early drop", "first plan", None)
            return (plan,), (), (Event("run", "Run begins"),)
        if b in REARRANGED or order is not None:
            return self._rearrange(b, rng, order)
        extra: tuple[Event, ...] = ()
        if b == 40:
            extra = (Event("query", "rain_lax registered"),)
        if b == 75:
            extra = (Event("misfit", "1 tuple does not fit the schema", severity="warning"),)
        if b % 12 != 6:
            return (), (), extra
        decision = self._decision(b, "below_threshold", 0.03, None, None)
        event = Event("held back", "Kept: 0.03 < 0.1", ref={"decision": decision.seq})
        return (), (decision,), (event, *extra)

    def _rearrange(
        self, b: int, rng: random.Random, order: list[str] | None
    ) -> tuple[tuple[PlanVersion, ...], tuple[Decision, ...], tuple[Event, ...]]:
        old = list(self.order)
        if order is None:
            rng.shuffle(self.order)
        else:
            self.order = list(order)
        self.version += 1
        kind = "no early drop" if b in NO_DROP else "early drop"
        decision = self._decision(b, "switched", 0.31, old, list(self.order))
        plan = self._plan(b, kind, decision.explanation, decision.seq)
        title = f"Plan {self.version}: {self.order[0]} first"
        return (
            (plan,),
            (decision,),
            (Event("rearrangement", title, ref={"decision": decision.seq}),),
        )

    def _decision(self, b: int, verdict: str, lhs: float, old: Any, new: Any) -> Decision:
        self.seq += 1
        switched = verdict == "switched"
        relation = "at least" if switched else "less than"
        words = f"visits per tuple moved by {lhs:.2f}, {relation} mu = 0.1"
        predicted = (3.9, 3.1, self.version) if switched else (None, None, None)
        return Decision(
            self.seq, b, "asc.macro_sequence", "rearrange", verdict, "change of visits_per_tuple",
            lhs, ">=", 0.1, 5000, 240, self.settings_version, words, old, new, *predicted,
        )  # fmt: skip

    def _matrices(self, rng: random.Random) -> tuple[Matrix, ...]:
        return matrices(self.order, rng)

    def _plan(self, b: int, kind: str, reason: str, decision: int | None) -> PlanVersion:
        order = tuple(f"asc:{name}" for name in self.order)
        chain = ("op:source", *order, "op:output")
        names = {"op:source": "Flights", "op:output": "Output"}
        roles = {"op:source": "source", "op:output": "output"}
        graph = {
            "nodes": [
                {"id": i, "role": roles.get(i, "selection"), "name": names.get(i, i[4:])}
                for i in chain
            ],
            "edges": [
                {"source": a, "target": z, "queue": _queue(a, z)} for a, z in pairwise(chain)
            ],
        }
        digest = f"{kind[:2]}-{'-'.join(self.order)}"
        return PlanVersion(self.version, b, kind, order, graph, digest, reason, decision)

    def _samples(self, b: int, rng: random.Random) -> tuple[tuple[Sample, ...], int]:
        alive, visits, samples = 1.0, 0.0, [_waiting(rng)]
        for place, name in enumerate(self.order):
            reached = round(N_TUPLES * (1.0 if b in NO_DROP else alive))
            base = 0.05 + 0.5 * random.Random(f"{name}{b // 55}").random()
            drop = min(0.95, max(0.0, base + rng.gauss(0, 0.02)))
            alive *= 1 - drop
            visits += reached / N_TUPLES
            samples += [
                Sample(f"asc:{name}", "reached_tuples", reached, "tuples"),
                Sample(f"asc:{name}", "survival_prob", alive, "prob"),
                Sample(f"asc:{name}", "drop_prob", drop if reached else None, "prob"),
            ]
            if place:
                samples.append(Sample(f"queue:{name}", "flow_tuples", reached, "tuples"))
        n_matched = round(alive * N_TUPLES)
        self.matched_total += n_matched
        samples += self._system(b, rng, alive, visits, n_matched)
        samples.append(Sample("queue:output", "flow_tuples", n_matched, "tuples"))
        samples += regret(b)
        for name in list(QUERIES)[: 1 + b % 3]:
            samples.append(Sample(f"query:{name}", "matched_tuples", 1 + b % 4, "tuples"))
            samples.append(Sample(f"query:{name}", "matched_total", b + 1, "tuples"))
        return tuple(samples), n_matched

    def _system(
        self, b: int, rng: random.Random, alive: float, visits: float, n_matched: int
    ) -> list[Sample]:
        values = {
            "tuples_per_s": (395 + 10 * rng.random(), "tuples/s"),
            "batch_ms": ((0 if b else self.warm_up_ms) or 120 + 40 * rng.random(), "ms"),
            "n_tuples": (N_TUPLES, "tuples"),
            "n_matched": (n_matched, "tuples"),
            "dropping_ratio": (1 - alive, "prob"),
            "visits_per_tuple": (visits, "visits/tuple"),
            "d_window": (1 - alive, "prob"),
            "visits_window": (visits, "visits/tuple"),
            "d_init": (0.93, "prob"),
            "visits_init": (3.2, "visits/tuple"),
            "profile_share": (0.05, "prob"),
            "misfits_total": (float(b >= 75), "tuples"),
            "tuples_total": ((b + 1) * N_TUPLES, "tuples"),
            "matched_total": (self.matched_total, "tuples"),
            "backlog_tuples": (max(0.0, rng.gauss(30, 9)), "tuples"),
            "commit_ms": (5.5, "ms"),
        }
        return [Sample("system", name, value, unit) for name, (value, unit) in values.items()]

    def _answer(
        self, b: int, when: float, commands: Sequence[Command]
    ) -> tuple[tuple[Knob, ...], tuple[CommandAnswer, ...]]:
        knobs: list[Knob] = []
        answers: list[CommandAnswer] = []
        specs = {knob.name: knob for knob in KNOBS}
        for command in commands:
            spec = specs.get(command.payload.get("knob", ""))
            if command.kind != "knob" or spec is None:
                answers.append(CommandAnswer(command.id, "refused", None, when, _REFUSED))
                continue
            old, value = self.values[spec.name], command.payload["value"]
            self.settings_version += 1
            self.values[spec.name] = value
            knobs.append(replace(spec, value=value, version=self.settings_version, batch=b))
            text = f"{spec.name} {old} → {value}, from batch {b} on"
            answers.append(CommandAnswer(command.id, "applied", b, when, text, old))
        return tuple(knobs), tuple(answers)


UNIT: Final = Unit("asc.Flights", "asc", "Selections on Flights", ("Flights",), tuple(QUERIES))


def _waiting(rng: random.Random) -> Sample:
    return Sample("queue:source", "size_tuples", float(max(0, round(rng.gauss(30, 9)))), "tuples")


def _queue(source: str, target: str) -> str:
    return "queue:source" if source == "op:source" else f"queue:{target.partition(':')[2]}"


def _outcomes(b: int, decisions: Sequence[Decision]) -> tuple[DecisionOutcome, ...]:
    if not decisions or decisions[0].verdict != "switched":
        return ()
    return (DecisionOutcome(decisions[0].seq, b, 3.1, 5000, 3.05, 3.9, 240),)


def record(
    writer: EngineWriter, run_id: str, n_batches: int, started_at: float, end: bool = True
) -> Recording:
    """Write a run of ``n_batches`` batches; ended unless told otherwise."""
    recording = Recording(writer, run_id, started_at)
    recording.begin()
    for _ in range(n_batches):
        recording.write()
    if end:
        time = started_at + 6 + PERIOD_S * n_batches
        writer.set_state(run_id, "ended", "the input ended", time)
    return recording
