"""A forged run whose plan is a graph no system of this repository makes yet: four sources, joins of
two and three streams, synopses, a store two of them share, three outputs. Written by the engine's
writer, so that the Plan page is ready before the systems are."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from storage.vocabulary.kinds import EntityKind
from storage.vocabulary.records import (
    Batch,
    BatchRecord,
    Decision,
    Entity,
    Event,
    Input,
    PlanVersion,
    Run,
    Sample,
    Unit,
)
from storage.writer import EngineWriter
from tests.web.stamping import stamped

N_BATCHES: Final = 60
CHANGED: Final = 40
N_TUPLES: Final = 1000
UNITS: Final = {"selection": "ASC of Flights", "join": "joins of Q3"}
_ENTITY_KINDS: Final[Mapping[str, EntityKind]] = {"synopsis": "synopsis", "store": "store"}


UNIT: Final = Unit("forged", "forged", "All of it", ("Flights",))


class Part(NamedTuple):
    """A node: id, role, name, share of the arriving tuples that reach it; note: what it does."""

    id: str
    role: str
    name: str
    share: float
    note: str | None = None


PARTS: Final = (
    Part("op:source:flights", "source", "Flights", 1.0),
    Part("op:source:weather", "source", "Weather", 0.34),
    Part("op:source:planes", "source", "Planes", 0.12),
    Part("op:source:airports", "source", "Airports", 0.02, "a relation"),
    Part("asc:dep_delay", "selection", "dep_delay", 1.0),
    Part("asc:origin", "selection", "origin", 0.41),
    Part("op:window:weather", "window", "last hour", 0.34, "Range 1 hour"),
    Part("op:join:three", "join", "origin, tailnum", 0.6, "Flights, Weather, Planes"),
    Part("op:join:airports", "join", "faa", 0.25, "Weather, Airports"),
    Part("op:aggregate", "aggregate", "delay by carrier", 0.2, "Group By carrier"),
    Part("op:distinct", "distinct", "station", 0.2),
    Part("syn:flights", "synopsis", "Flights", 0.0, "Rows 2 000"),
    Part("syn:planes", "synopsis", "Planes", 0.0, "unbounded"),
    Part("store:weather", "store", "Weather", 0.0, "for two joins"),
    Part("op:output:q1", "output", "Q1 late by carrier", 0.08, "Rstream"),
    Part("op:output:q2", "output", "Q2 late flights", 0.2, "Istream"),
    Part("op:output:q3", "output", "Q3 stations", 0.1, "Istream"),
)
#: Edges with a queue; the two that change places at batch CHANGED come first.
_SELECTED: Final = ("asc:dep_delay", "asc:origin")
FLOWS: Final = (
    ("op:source:weather", "op:window:weather"),
    ("op:window:weather", "op:join:three"),
    ("op:source:planes", "op:join:three"),
    ("op:window:weather", "op:join:airports"),
    ("op:source:airports", "op:join:airports"),
    ("op:join:three", "op:aggregate"),
    ("op:join:three", "op:output:q2"),
    ("op:aggregate", "op:output:q1"),
    ("op:join:airports", "op:distinct"),
    ("op:distinct", "op:output:q3"),
)
READS: Final = (
    ("syn:flights", "op:join:three"),
    ("syn:planes", "op:join:three"),
    ("store:weather", "op:join:three"),
    ("store:weather", "op:join:airports"),
)


def queue_of(source: str, target: str) -> str:
    """The queue between two nodes."""
    return f"queue:{source}>{target}"


def flows(order: tuple[str, ...]) -> list[tuple[str, str]]:
    """The edges with a queue when the selections stand in this order."""
    chain = ("op:source:flights", *order, "op:join:three")
    return [*pairwise(chain), *FLOWS]


def plan(version: int, batch: int, order: tuple[str, ...], decision: int | None) -> PlanVersion:
    """The plan with the selections in this order; nodes and edges come shuffled."""
    nodes: list[dict[str, Any]] = []
    for part in PARTS:
        facts = {"note": part.note} if part.note else {}
        if part.role in UNITS:
            facts["unit"] = UNITS[part.role]
        nodes.append({"id": part.id, "role": part.role, "name": part.name, "properties": facts})
    edges = [{"source": a, "target": z, "queue": queue_of(a, z)} for a, z in flows(order)]
    edges += [{"source": a, "target": z} for a, z in READS]
    rng = random.Random(version)
    rng.shuffle(nodes)
    rng.shuffle(edges)
    graph = {"nodes": nodes, "edges": edges}
    digest = f"dag-{'-'.join(order)}"
    return PlanVersion(
        version, batch, "early drop", order, graph, digest, "forged for the page", decision
    )


def record_dag(writer: EngineWriter, run_id: str, started_at: float) -> None:
    """Write the run: ``N_BATCHES`` batches, the selections changing places at ``CHANGED``."""
    inputs = tuple(Input(part.name, []) for part in PARTS if part.role == "source")
    run = Run(run_id, "mixed", "running", started_at, {}, 1, "forge", "0.1.0", inputs=inputs)
    writer.begin_run(run, _entities(), ())
    for b in range(N_BATCHES):
        order = _SELECTED if b < CHANGED else _SELECTED[::-1]
        plans: tuple[PlanVersion, ...] = ()
        decisions: tuple[Decision, ...] = ()
        events: tuple[Event, ...] = ()
        if b == 0:
            plans = (plan(1, 0, order, None),)
        elif b == CHANGED:
            plans, decisions = (plan(2, b, order, 1),), (_decision(b, order),)
            events = (Event("rearrangement", "Plan 2: origin first", ref={"decision": 1}),)
        time = started_at + 0.5 * b
        version = 1 if b < CHANGED else 2
        batch = Batch(b, time, 80.0, N_TUPLES, 180, 0, {UNIT.id: version}, "", {})
        samples = _samples(b, order)
        record = BatchRecord(
            run_id, batch, samples=samples, plans=plans, decisions=decisions, events=events
        )
        writer.write_batch(stamped(record, UNIT))


def _decision(b: int, order: tuple[str, ...]) -> Decision:
    new = [entity.partition(":")[2] for entity in order]
    return Decision(
        1, b, "asc.macro_sequence", "rearrange", "switched", "visits_per_tuple", 0.3, ">=", 0.1,
        5000, 240, 0, "forged", new[::-1], new, 1.6, 1.4, 2,
    )  # fmt: skip


def _entities() -> tuple[Entity, ...]:
    parts = [
        Entity(part.id, _ENTITY_KINDS.get(part.role, "operator"), part.name, role=part.role)
        for part in PARTS
    ]
    edges = dict.fromkeys((*flows(_SELECTED), *flows(_SELECTED[::-1])))
    queues = [Entity(queue_of(a, z), "queue", f"{a} to {z}", role="queue") for a, z in edges]
    return (Entity("system", "system", "Engine", role="system"), *parts, *queues)


def _samples(b: int, order: tuple[str, ...]) -> tuple[Sample, ...]:
    rng = random.Random(b)
    sway = 1 + 0.2 * math.sin(b / 6) + 0.02 * rng.random()
    samples = [
        Sample("system", "n_tuples", round(N_TUPLES * sway), "tuples"),
        Sample("system", "n_matched", 180, "tuples"),
        Sample("system", "tuples_per_s", 2000 * sway, "tuples/s"),
        Sample("system", "visits_per_tuple", 1.4 * sway, "visits/tuple"),
        Sample("system", "batch_ms", 80 * sway, "ms"),
    ]
    for part in PARTS:
        if part.role not in _ENTITY_KINDS:
            reached = round(N_TUPLES * part.share * sway)
            samples.append(Sample(part.id, "reached_tuples", reached, "tuples"))
    alive = 1.0
    for entity, drop in zip(order, (0.59, 0.32), strict=True):
        alive *= 1 - drop
        samples.append(Sample(entity, "drop_prob", drop * (0.98 + 0.02 * sway), "prob"))
        samples.append(Sample(entity, "survival_prob", alive, "prob"))
    for source, target in flows(order):
        size = round(rng.random() ** 2 * 700)
        samples.append(Sample(queue_of(source, target), "flow_tuples", size, "tuples"))
    return tuple(samples)
