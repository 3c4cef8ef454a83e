"""A recorded run of two units over two streams, written through the real EngineWriter.

``asc.Flights`` drops flights by two constructs, ``agreedy.busy`` packets by two filters; both have
a knob called ``mu`` or ``alpha`` of their own, plans and decisions of their own, numbered alike.
The stream Packets fails after batch 5. Ids are opaque: nothing in them says what they are for.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from storage.vocabulary.graph import PlanNode, chain
from storage.vocabulary.records import (
    Batch,
    BatchRecord,
    Decision,
    Entity,
    Event,
    Input,
    InputBatch,
    Knob,
    Matrix,
    Misfit,
    PlanVersion,
    ResultTuple,
    Run,
    Sample,
    Unit,
)
from storage.writer import open_engine_writer

RUN: Final = "mixed"
N_BATCHES: Final = 8
FLIGHTS: Final = Unit("u1", "asc", "Selections on Flights", ("Flights",), ("late",))
PACKETS: Final = Unit("u2", "agreedy", "Filters of busy", ("Packets",), ("busy",))
FAILED_AT: Final = 5
_STEPS: Final = {
    FLIGHTS.id: (("e1", "delay"), ("e2", "origin")),
    PACKETS.id: (("e3", "port"), ("e4", "size")),
}
_ROLES: Final = {FLIGHTS.id: "selection", PACKETS.id: "filter"}


def write(path: Path, state: str = "running") -> None:
    """The whole run, recorded now; state: 'running' or 'ended'."""
    started = time.time() - 30
    inputs = (
        Input("Flights", [["delay", "int"], ["origin", "string"]]),
        Input("Packets", [["port", "int"], ["size", "int"]]),
    )
    run = Run(RUN, "mixed", "starting", started, {}, 1, "host", "0.1", inputs=inputs)
    with open_engine_writer(str(path)) as writer:
        writer.begin_run(run, _entities(), _knobs())
        for b in range(N_BATCHES):
            writer.write_batch(_record(b, started + b + 1))
        if state == "ended":
            writer.set_state(RUN, "ended", "the input ended", time.time())


def _entities() -> tuple[Entity, ...]:
    found = [Entity("system", "system", "Engine", role="system")]
    for unit in (FLIGHTS, PACKETS):
        (stream,), (query,) = unit.inputs, unit.queries
        names = [name for _, name in _STEPS[unit.id]]
        text = f"Select * From {stream} Where {names[0]} > 1"
        facts = {"text": text, "state": "active", "attributes": names, "filters": []}
        if unit is PACKETS:
            facts["filters"] = names
        found += [
            Entity(f"s-{stream}", "operator", stream, unit_id=unit.id, role="source"),
            Entity(f"o-{stream}", "operator", "Output", unit_id=unit.id, role="output"),
            Entity(f"p-{stream}", "monitor", "Profile", unit_id=unit.id, role="profile"),
            Entity(f"q-{query}", "query", query, facts, query, unit_id=unit.id, role="query"),
        ]
        for id, name in _STEPS[unit.id]:
            own = {"n_regions": 3, "n_queries": 1} if unit is FLIGHTS else {"text": f"{name} > 1"}
            role = _ROLES[unit.id]
            found.append(Entity(id, "operator", name, own, query, unit_id=unit.id, role=role))
    return tuple(found)


def _knobs() -> tuple[Knob, ...]:
    mu = ("mu", "float", 0.1, 0.1, "", "Relative change that rearranges.", 0.001, 10.0)
    return (
        Knob("rate", "float", 0.0, 0.0, "tuples/s", "Pace of the replay.", 0.0, 1e6),
        Knob(*mu, entity="system", scope=FLIGHTS.id),
        Knob(*mu, entity="p-Packets", scope=PACKETS.id),
        Knob("alpha", "float", 0.9, 0.9, "", "Slack of a check.", 0.0, 1.0, scope=PACKETS.id),
    )


def _record(b: int, when: float) -> BatchRecord:
    packets_failed = b >= FAILED_AT
    batch = Batch(b, when, 90.0, 200, 20, 1, {FLIGHTS.id: 1 + (b >= 3), PACKETS.id: 1})
    state = ("failed", "the socket was closed") if packets_failed else ("open", "")
    return BatchRecord(
        RUN,
        batch,
        samples=_samples(b),
        plans=_plans(b),
        decisions=_decisions(b),
        matrices=_matrices(b),
        events=_events(b),
        results=(
            ResultTuple({"delay": b, "origin": "JFK"}, ("late",), "Flights"),
            ResultTuple({"port": 80, "size": b}, ("busy",), "Packets"),
        ),
        misfits=(Misfit("{", "not JSON", "Packets"),) if b == 1 else (),
        units=(FLIGHTS, PACKETS) if b == 0 else (),
        inputs=(
            InputBatch("Flights", 100, 0, 7, f"10:{b:02d}"),
            InputBatch("Packets", 0 if packets_failed else 100, 1, None, "", *state),  # type: ignore[arg-type]  # an InputState
        ),
    )


def _samples(b: int) -> tuple[Sample, ...]:
    found = [
        Sample("system", "tuples_per_s", 400.0 + b, "tuples/s"),
        Sample("system", "tuples_total", 200.0 * (b + 1), "tuples"),
        Sample("system", "visits_per_tuple", 1.5, "visits/tuple"),
        Sample("system", "batch_ms", 90.0, "ms"),
        Sample("q-late", "matched_total", 10.0 * (b + 1), "tuples"),
        Sample("q-busy", "matched_total", 4.0 * (b + 1), "tuples"),
        Sample("p-Packets", "n_sampled", 20.0, "tuples"),
    ]
    for steps in _STEPS.values():
        for id, _ in steps:
            found.append(Sample(id, "reached_tuples", 100.0, "tuples"))
            found.append(Sample(id, "drop_prob", 0.5, "prob"))
    return tuple(found)


def _plan(unit: Unit, version: int, b: int, order: tuple[tuple[str, str], ...]) -> PlanVersion:
    (stream,) = unit.inputs
    nodes = [
        PlanNode(f"s-{stream}", "source", stream),
        *(PlanNode(id, _ROLES[unit.id], name) for id, name in order),
        PlanNode(f"o-{stream}", "output", "Output"),
    ]
    graph = chain(nodes, [f"w{i}-{unit.id}" for i in range(len(nodes) - 1)])
    decision = 1 if version > 1 else None
    ids = tuple(id for id, _ in order)
    return PlanVersion(
        version, b, "early drop", ids, graph.to_json(), graph.digest, "by cost", decision,
        unit_id=unit.id,
    )  # fmt: skip


def _plans(b: int) -> tuple[PlanVersion, ...]:
    if b == 0:
        return tuple(_plan(unit, 1, 0, _STEPS[unit.id]) for unit in (FLIGHTS, PACKETS))
    return (_plan(FLIGHTS, 2, 3, _STEPS[FLIGHTS.id][::-1]),) if b == 3 else ()


def _decisions(b: int) -> tuple[Decision, ...]:
    if b == 3:
        old, new = ["delay", "origin"], ["origin", "delay"]
        switched = ("asc.macro_sequence", "rearrange", "switched", "visits_per_tuple", 0.3, ">=")
        return (
            Decision(
                1, b, *switched, 0.1, 500, 100, 0, "It moved enough.", old, new, 1.8, 1.2, 2,
                unit_id=FLIGHTS.id,
            ),
        )  # fmt: skip
    if b == 4:
        checked = ("a-greedy", "check", "below_threshold", "rank", 0.2, "<", 0.3, 80, 80, 0)
        return (Decision(1, b, *checked, "The ranks are in order.", unit_id=PACKETS.id),)
    return ()


def _matrices(b: int) -> tuple[Matrix, ...]:
    if b != 4:
        return ()
    names = ("port", "size")
    return (
        Matrix(
            "selectivity", "selectivity", ("delay", "origin"), ("late",), [[0.5], [0.2]],
            n=100, row_stats={"drop_prob": [0.5, 0.3]}, unit_id=FLIGHTS.id,
        ),
        Matrix(
            "regions:delay", "regions", ("(-inf, 60)", "[60, +inf)"), ("late",), [[0], [1]],
            n=100, row_stats={"hit_prob": [0.8, 0.2]}, unit_id=FLIGHTS.id,
        ),
        Matrix(
            "view:busy", "view", names, names, [[40.0, 10.0], [None, 20.0]], "tuples", 80,
            {"reached": [80.0, 40.0]}, {"cost_us": [1.0, 2.0], "native": [0, 0]},
            unit_id=PACKETS.id,
        ),
    )  # fmt: skip


def _events(b: int) -> tuple[Event, ...]:
    if b == 3:
        ref = {"decision": 1}
        return (Event("rearrangement", "plan changed", ref=ref, unit_id=FLIGHTS.id),)
    if b == 4:
        ref = {"decision": 1}
        return (Event("held back", "below threshold", ref=ref, unit_id=PACKETS.id),)
    if b == FAILED_AT:
        return (Event("input", "Packets failed", "the socket was closed", "error"),)
    return ()
