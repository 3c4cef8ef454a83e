"""A run of a join under k-constraints, written by hand as it is recorded.

Three streams of packets: B follows C, O follows B. From SLOWER on the packets of C come later: k of
``RIDS B → C`` is too small for some batches, is given up for others, and then found anew. One
constraint is watched only, one is not worth it, of one no k is known.
"""

from __future__ import annotations

import os
import random
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from storage.vocabulary import registry
from storage.vocabulary.records import (
    Batch,
    BatchRecord,
    Command,
    CommandAnswer,
    Entity,
    Input,
    InputBatch,
    Knob,
    Matrix,
    PlanVersion,
    Run,
    Sample,
    Unit,
)
from storage.writer import EngineWriter

RUN: Final = "kmon"
UNIT: Final = Unit("u", "kmon", "Packets", ("C", "B", "O"), ("cbo",))
JOIN: Final = "join"
N_TUPLES: Final = 900
#: Batches from which packets of C come later, k is given up, and found anew.
SLOWER, GIVEN_UP, FOUND = 14, 17, 22
RIDS: Final = "RIDS B → C"
CA: Final = "CA B.flow"
OAP: Final = "OAP O.seq"
BACK: Final = "RIDS O → B"
OAC: Final = "OAC C.seq"
NAMES: Final = (RIDS, CA, OAP, BACK, OAC)
#: Upper ends of bins of distances: 0 to 15 each its own, then 8 to an octave.
ENDS: Final = (
    *range(16),
    *(
        16 * 2**octave + (place + 1) * 2 * 2**octave - 1
        for octave in range(18)
        for place in range(8)
    ),
)
LEDGER: Final = (
    *("estimate", "low", "high", "used", "kept", "safe"),
    *("saved_bytes", "saved_tuples", "lost", "returned", "cost_ns"),
)
TUPLE_BYTES: Final = 72


def _knob(name: str, kind: str, value: Any, help: str, **more: Any) -> Knob:
    return Knob(name, kind, value, value, "", help, entity=JOIN, scope=UNIT.id, **more)


KNOBS: Final = (
    _knob("constraints", "choice", "monitored", "Which are used.", choices=("off", "monitored")),
    _knob("loss_budget", "float", 0.001, "Share of results.", low=1e-6, high=0.5, scale="log"),
    _knob("pinned_constraints", "text", "", "Names of constraints, with ; between."),
    _knob("forbidden_constraints", "text", "", "Names of constraints, with ; between."),
)


def _monitor(name: str) -> Entity:
    kind, _, rest = name.partition(" ")
    parent, _, child = rest.partition(" → ")
    stream, _, attribute = rest.partition(".")
    facts = {"type": kind, "parent": parent if child else stream, "child": child, "node": JOIN}
    facts["attribute"] = attribute
    if kind == "OAC":
        facts |= {"parent": "B", "child": stream}
    return Entity(f"k:{name}", "monitor", name, facts, unit_id=UNIT.id, role="constraint")


def entities() -> tuple[Entity, ...]:
    """All entities of the run."""
    found = [
        Entity("system", "system", "System", role="system"),
        Entity(JOIN, "operator", "C ⋈ B ⋈ O", {"queries": ["cbo"]}, unit_id=UNIT.id, role="join"),
        Entity("out", "operator", "Output", {}, unit_id=UNIT.id, role="output"),
        Entity("q:out", "queue", "results", {}, unit_id=UNIT.id, role="queue"),
        Entity("query", "query", "cbo", {"text": "Select * From C, B, O", "state": "active"},
               query="cbo", unit_id=UNIT.id, role="query"),
    ]  # fmt: skip
    for name in UNIT.inputs:
        facts = {"node": JOIN, "input": name}
        found += [
            Entity(f"in:{name}", "operator", name, {}, role="source"),
            Entity(f"q:{name}", "queue", name, {}, role="queue"),
            Entity(f"s:{name}", "synopsis", f"Tuples of {name}", facts, unit_id=UNIT.id,
                   role="components"),
        ]  # fmt: skip
    return (*found, *map(_monitor, NAMES))


@dataclass
class KMonRecording:
    """A run being written. ``write()`` adds the next batch."""

    writer: EngineWriter
    started_at: float
    next_batch: int = 0
    version: int = 0
    lost: int = 0
    choices: dict[str, Any] = field(default_factory=lambda: {one.name: one.value for one in KNOBS})

    def begin(self) -> None:
        """Write the run with its entities and knobs."""
        inputs = tuple(Input(name, [["pid", "int"], ["flow", "int"]]) for name in UNIT.inputs)
        place = (os.getpid(), socket.gethostname(), "0.1.0")
        run = Run(RUN, "packets", "starting", self.started_at, {}, *place, inputs=inputs)
        self.writer.begin_run(run, entities(), KNOBS)

    def write(self, commands: Sequence[Command] = (), when: float | None = None) -> None:
        """The next batch; knobs are turned as asked."""
        b = self.next_batch
        self.next_batch += 1
        when = self.started_at + 2 + b if when is None else when
        knobs, answers = self._turned(b, when, commands)
        rows = [_constraint(name, b, self.choices) for name in NAMES]
        self.lost += sum(row["violations"] for row in rows)
        took = tuple(InputBatch(name, N_TUPLES // 3, 0) for name in UNIT.inputs)
        self.writer.write_batch(
            BatchRecord(
                RUN,
                Batch(b, when, 120.0, N_TUPLES, 280, 0, {UNIT.id: 1}, str(b)),
                samples=tuple(_samples(b, rows, self.lost)),
                plans=(_plan(),) if b == 0 else (),
                matrices=_matrices(rows),
                knobs=knobs,
                answers=answers,
                units=(UNIT,),
                inputs=took,
            )
        )

    def _turned(
        self, b: int, when: float, commands: Sequence[Command]
    ) -> tuple[tuple[Knob, ...], tuple[CommandAnswer, ...]]:
        knobs, answers = [], []
        for command in commands:
            name, value = command.payload["knob"], command.payload["value"]
            spec = next(one for one in KNOBS if one.name == name)
            self.version += 1
            knobs.append(replace(spec, value=value, version=self.version, batch=b))
            text = f"{name} = {value}"
            answers.append(CommandAnswer(command.id, "applied", b, when, text, self.choices[name]))
            self.choices[name] = value
        return tuple(knobs), tuple(answers)


def _distances(name: str, b: int) -> list[int]:
    """What was observed in a batch."""
    rng = random.Random(f"{name}{b}")
    if name == RIDS:
        middle = 4.0 if b < SLOWER else 5.6
        return [int(rng.lognormvariate(middle, 0.45)) for _ in range(90)]
    if name == BACK:
        return [rng.choice((0, 0, 1, 1, 2, 3)) for _ in range(60)]
    if name == CA:
        return [int(rng.expovariate(1 / 900)) for _ in range(40)]
    return [int(rng.expovariate(1 / 9000)) for _ in range(25)] if name == OAP else []


def _used(name: str, b: int, choices: dict[str, Any]) -> int | None:
    if name in choices["forbidden_constraints"]:
        return None
    if name == RIDS:
        return 160 if b < GIVEN_UP else None if b < FOUND else 1100
    return 4 if name == BACK else None


def _state(name: str, used: int | None) -> int:
    return 1 if used is not None else {RIDS: 0, CA: 0, OAP: 2, BACK: 2, OAC: 3}[name]


def _constraint(name: str, b: int, choices: dict[str, Any]) -> dict[str, Any]:
    """All that is told of a constraint in a batch."""
    seen = sorted(_distances(name, b), key=lambda d: random.Random(d).random())
    used = _used(name, b, choices)
    so_far = [d for batch in range(max(0, b - 8), b + 1) for d in _distances(name, batch)]
    ordered = sorted(so_far)
    estimate = ordered[int(0.995 * (len(ordered) - 1))] if ordered else None
    above = 0 if used is None else sum(d > used for d in seen)
    saved = 0 if used is None else 40_000 - 20 * used
    return {
        "id": f"k:{name}", "seen": seen, "state": _state(name, used), "violations": above,
        "estimate": estimate, "low": estimate and int(0.92 * estimate),
        "high": estimate and int(1.1 * estimate) + 1, "used": used,
        "kept": None if used is None else max(int(1.2 * used), used + 8),
        "safe": max(ordered) if ordered else None, "n": len(so_far),
        "lost": above, "saved_tuples": saved, "saved_bytes": saved * TUPLE_BYTES,
        "largest": max(seen, default=0),
    }  # fmt: skip


def _sample(entity: str, name: str, value: float | None) -> Sample:
    return Sample(entity, name, value, registry.KNOWN.properties[name].unit)


def _samples(b: int, rows: Sequence[dict[str, Any]], lost: int) -> list[Sample]:
    whole = {
        "tuples_per_s": 900.0, "batch_ms": 120.0, "n_tuples": N_TUPLES, "n_matched": 280,
        "tuples_total": N_TUPLES * (b + 1),
    }  # fmt: skip
    found = [_sample("system", name, value) for name, value in whole.items()]
    for row in rows:
        numbers = {
            "k_state": row["state"], "k_used_tuples": row["used"],
            "k_estimate_tuples": row["estimate"], "k_low_tuples": row["low"],
            "k_high_tuples": row["high"], "k_kept_tuples": row["kept"],
            "k_largest_tuples": row["largest"], "k_observations": len(row["seen"]),
            "k_window_observations": row["n"], "k_violations": row["violations"] or None,
            "k_lost_tuples": row["lost"] or None,
            "k_saved_tuples": row["saved_tuples"], "k_saved_bytes": row["saved_bytes"],
        }  # fmt: skip
        zero = ("k_violations", "k_lost_tuples")  # written only when it is not 0
        found += [
            _sample(row["id"], name, value)
            for name, value in numbers.items()
            if value is not None or name not in zero
        ]
    return [*found, *_held(b, rows, lost)]


def _held(b: int, rows: Sequence[dict[str, Any]], lost: int) -> list[Sample]:
    k = rows[0]["used"]
    waits = 9000 if k is None else 60 + k // 2
    plain = min(20_000, 1500 * (b + 1))
    parts = {"C": (310, 12, 0, 40), "B": (80, waits, 35, 220), "O": (0, 90, 140, 0)}
    found = []
    for name, numbers in parts.items():
        labels = ("yes_tuples", "unknown_tuples", "no_tuples", "spilled_tuples")
        pairs = zip(labels, numbers, strict=True)
        found += [_sample(f"s:{name}", label, n) for label, n in pairs]
        found.append(_sample(f"s:{name}", "plain_tuples", max(plain, sum(numbers))))
        found.append(_sample(f"q:{name}", "flow_tuples", N_TUPLES // 3))
        found.append(_sample(f"in:{name}", "reached_tuples", N_TUPLES // 3))
    held = sum(sum(numbers[:3]) for numbers in parts.values())
    told = {
        "held_tuples": held, "plain_tuples": 3 * plain, "held_bytes": held * TUPLE_BYTES,
        "plain_bytes": 3 * plain * TUPLE_BYTES, "joined_results_total": 280 * (b + 1),
        "lost_results_total": lost, "monitor_share": 0.013, "reached_tuples": N_TUPLES,
    }  # fmt: skip
    found += [_sample(JOIN, name, value) for name, value in told.items()]
    return [*found, _sample("q:out", "flow_tuples", 280)]


def _matrices(rows: Sequence[dict[str, Any]]) -> tuple[Matrix, ...]:
    ids = tuple(row["id"] for row in rows)
    bins = [_binned(row["seen"]) for row in rows]
    seen = [[*row["seen"], *[None] * (128 - len(row["seen"]))] for row in rows]
    more = {"lost": 0, "returned": 0, "cost_ns": 48_000}
    ledger = [[{**more, **row}[name] for name in LEDGER] for row in rows]
    kinds = (
        ("k distances", tuple(map(str, ENDS)), bins),
        ("k seen", tuple(map(str, range(128))), seen),
        ("k ledger", LEDGER, ledger),
    )
    return tuple(
        Matrix(f"{kind} of {JOIN}", kind, ids, columns, values, "tuples", unit_id=UNIT.id)
        for kind, columns, values in kinds
    )


def _binned(seen: Sequence[int]) -> list[int]:
    edges = [-1, *ENDS]
    return [sum(low < one <= high for one in seen) for low, high in pairwise(edges)]


def _plan() -> PlanVersion:
    nodes = [{"id": f"in:{name}", "role": "source", "name": name} for name in UNIT.inputs]
    nodes += [
        {"id": f"s:{name}", "role": "components", "name": f"Tuples of {name}"}
        for name in UNIT.inputs
    ]
    nodes += [
        {"id": JOIN, "role": "join", "name": "C ⋈ B ⋈ O"},
        {"id": "out", "role": "output", "name": "Output"},
    ]
    edges: list[dict[str, Any]] = [
        {"source": f"in:{name}", "target": JOIN, "queue": f"q:{name}"} for name in UNIT.inputs
    ]
    edges += [{"source": f"s:{name}", "target": JOIN, "queue": None} for name in UNIT.inputs]
    edges.append({"source": JOIN, "target": "out", "queue": "q:out"})
    graph = {"nodes": nodes, "edges": edges}
    return PlanVersion(1, 0, "network", (JOIN,), graph, "h", "first plan", unit_id=UNIT.id)


def record_kmon(writer: EngineWriter, n_batches: int) -> KMonRecording:
    """Write a running run of n_batches, the last one now."""
    recording = KMonRecording(writer, time.time() - n_batches - 3)
    recording.begin()
    for _ in range(n_batches):
        recording.write()
    return recording
