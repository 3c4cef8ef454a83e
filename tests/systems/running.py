"""Units run batch by batch in this process: a batch is one chunk of one task."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa

from backend.engine.planner import placed
from backend.model.conditions import ContinuousQuery
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.functions import Function, Functions, Parameter
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema, ValidTimes
from backend.operators.contract import Chunk, UnitResult
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.shards.homes import MemoryShard
from backend.operators.network.shards.shard import NetworkTask, run_shard
from backend.operators.network.shards.timed import Arrived
from backend.systems.contract import BatchRan, Observation, Recorded, System, SystemUnit, UnitJob
from backend.systems.registry import SYSTEMS
from backend.workloads.queries import read_query
from backend.workloads.text_values import ARROW_TYPES
from tests.systems.toy.system import TOY

SCHEMA = Schema(
    Schema.parse("a int, b int, c string, d int").attributes,
    key=("a", "b", "c"),
    valid=ValidTimes("b", "d", type="bigint"),
)
FUNCTIONS = Functions(
    {
        "rare": Function("rare", (Parameter("b", "int"),), lambda b: b < 10),
        "common": Function("common", (Parameter("a", "int"),), lambda a: a % 10 != 0),
        "fragile": Function("fragile", (Parameter("c", "string"),), lambda c: c != "n"),
    }
)
#: Queries of many kinds, in the order they are offered to the systems.
TEXTS = {
    "low": "Select * From S Where a < 20 and b < 60",
    "both": "Select * From S Where a < 50 and b < 10 and c = 'x'",
    "late": "Select * From S Where b >= 90 or a = 7",
    "calls": "Select * From S Where a >= 10 and common(a) and fragile(c) and rare(b)",
    "again": "Select * From S Where common(a) and rare(b)",
    "all": "Select * From S",
    "every": "Select * From S",
    "window": "Select a, count(*) As n From S [Rows 50] Where b < 20 Group By a",
    "scarce": "Select Istream(b, c) From S [Now] Where a < 30 and b * 2 < 100",
    "again_scarce": "Select Istream(b, c) From S [Now] Where a < 30 and b * 2 < 100",
    "wide": "Select One.a From S [Rows 20] As One, S [Rows 30] As Two, S [Rows 40] As Three "
    "Where One.a = Two.a and Two.b = Three.b",
    "wide_too": "Select One.a From S [Rows 10] As One, S [Rows 30] As Two, S [Rows 50] As Three "
    "Where One.a = Two.a and Two.a = Three.a",
    "keyed": "Select One.a, Two.b From S [Rows 20] As One, S [Rows 30] As Two "
    "Where One.a = Two.a and One.b = Two.b and One.c = Two.c and One.b < 60",
    "keyed_too": "Select Two.a, Two.b From S [Rows 20] As One, S [Rows Unbounded] As Two "
    "Where One.a = Two.a and One.b = Two.b and One.c = Two.c",
    "routed": "Select One.a From S [Rows 20] As One, S [Rows 30] As Two, S [Rows 40] As Three "
    "Where One.a = Two.a and Two.b = Three.b and One.c = Three.c",
    "routed_too": "Select Two.b From S [Rows 50] As One, S [Rows 60] As Two "
    "Where One.a = Two.a and One.b = Two.b",
    "shed": "Select c, Valid(S) From S (c) [Rows 60] Where a < 60 and Valid(S) >= 2",
    "shed_too": "Select a, Valid(S) From S (a) [Rows 40]",
}
#: The system that a query asks for.
ASKED = {
    **dict.fromkeys(("wide", "wide_too"), "joins"),
    **dict.fromkeys(("keyed", "keyed_too"), "kmon"),
    **dict.fromkeys(("routed", "routed_too"), "amri"),
    **dict.fromkeys(("shed", "shed_too"), "cals"),
}
#: All systems and the toy, in the order they are asked who can run a query.
BATTERY: tuple[System, ...] = (TOY, *SYSTEMS)
Tuples = Sequence[Mapping[str, Any]]


def query(name: str) -> ContinuousQuery:
    """One of the queries."""
    read = read_query(name, TEXTS[name], {"S": SCHEMA}, FUNCTIONS, {}, {})
    return replace(read, system=ASKED.get(name, ""))


def claimed(system: System) -> tuple[str, tuple[ContinuousQuery, ...]]:
    """The first unit of the system among those all queries are placed in, and its queries."""
    units = placed(map(query, TEXTS), BATTERY).values()
    found = [(where.unit_id, members) for where, members in units if where.system is system]
    assert found, f"{system.name} gets none of the queries"
    return found[0]


def tuples(n: int, seed: int) -> list[dict[str, Any]]:
    """n seeded tuples; the selective attribute depends on the seed."""
    rng = random.Random(seed)
    most = {"a": 100, "b": 100} | ({"b": 12} if seed % 2 else {"a": 25})
    letters = ["x", "y", "n", None]
    rows: list[dict[str, Any]] = [
        {"a": rng.randrange(most["a"]), "b": rng.randrange(most["b"]), "c": rng.choice(letters)}
        for _ in range(n)
    ]
    return [{**row, "d": row["b"] + 1 + row["a"] % 5} for row in rows]


def ticking() -> Iterator[float]:
    """A clock that goes on by a millisecond whenever it is looked at."""
    return (n / 1e3 for n in count())


@dataclass
class Bench:
    """A unit, the batches it ran and everything it recorded."""

    system: System
    knobs: Mapping[str, Any] = field(default_factory=dict)
    batch: int = 0

    def __post_init__(self) -> None:
        self.id, self.queries = claimed(self.system)
        usual = {"profile_prob": 0.5, "min_samples": 50}
        names = {spec.name for spec in self.system.knobs}
        chosen = {name: usual[name] for name in usual if name in names} | dict(self.knobs)
        self.settings = KnobSettings.defaults(self.system.knobs, chosen)
        self.unit = self.made(self.queries)
        self.recorded = Recorded()
        self.observations: list[Observation] = []
        self.events: list[BatchRan] = []

    def made(self, queries: Sequence[ContinuousQuery]) -> SystemUnit:
        """Another unit like this one."""
        clock = ticking()
        job = UnitJob(
            self.id,
            ("S",),
            {"S": SCHEMA},
            tuple(queries),
            FUNCTIONS,
            times={"S": StreamTime(None)},
            batch=self.batch,
            clock=lambda: next(clock),
        )
        return self.system.unit(job, self.settings)

    def run(self, rows: Tuples) -> Recorded:
        """One batch."""
        result = executed(self.unit, self.batch, rows)
        return self.take(BatchRan(self.batch, result, 1000.0 * self.batch))

    def take(self, event: BatchRan) -> Recorded:
        """A batch that ran."""
        self.events.append(event)
        self.batch = event.batch_id + 1
        found = self.keep(self.unit.executed(event))
        self.observations.append(self.unit.observe())
        return found

    def drift(self, batches: int = 12, size: int = 400) -> None:
        """Batches whose selective attribute changes every fourth."""
        for n in range(batches):
            self.run(tuples(size, seed=n // 4))

    def turn(self, knob: str, value: object) -> Recorded:
        """A knob is turned before the next batch."""
        self.settings = self.settings.changed(knob, value)
        return self.keep(self.unit.changed(KnobsChanged(self.settings, self.batch)))

    def register(self, queries: Sequence[ContinuousQuery], reason: str) -> Recorded:
        """Other queries are active from the next batch on."""
        return self.keep(self.unit.changed(QueriesChanged(tuple(queries), self.batch, reason)))

    def keep(self, found: Recorded) -> Recorded:
        """Remember what was recorded."""
        self.recorded = self.recorded.then(found)
        return found


def executed(unit: SystemUnit, batch_id: int, rows: Tuples) -> UnitResult:
    """What a batch of the tuples comes to under the unit's operator."""
    columns = {
        a.name: pa.array([row[a.name] for row in rows], ARROW_TYPES[a.type])
        for a in SCHEMA.attributes
    }
    draws = np.random.default_rng(batch_id).integers(1 << 32, size=len(rows), dtype=np.uint32)
    operator = unit.operator(batch_id)
    if isinstance(operator, NetworkJob):
        return _network(operator, batch_id, pa.Table.from_pydict(columns))
    work = operator.open(batch_id, 0)
    emitted = work.take(Chunk(pa.RecordBatch.from_pydict(columns), draws))
    matched = Counter(name for names in emitted.query_ids.to_pylist() for name in names)
    report = operator.merged([work.report()])
    return UnitResult(len(rows), len(emitted.rows), dict(matched), report)


def _network(job: NetworkJob, batch_id: int, tuples: pa.Table) -> UnitResult:
    """A batch of a network by itself: its state is empty before, and the stream ends with it. Time
    it takes is 0.1 us for each element, whatever it was."""
    if not job.streams:
        return UnitResult(len(tuples), 0, {}, NetworkReport())
    task = NetworkTask("unit", batch_id, job, "only", frozenset(), "", "")
    home = MemoryShard(lambda version: job)
    arrived = {"S": [Arrived(tuples)]}
    told = run_shard(task, 0, home, arrived, {"S"})
    operators = {
        id: replace(counts, busy_ns=100 * counts.n_in)
        for id, counts in told.network.operators.items()
    }
    report = replace(told.network, operators=operators)
    matched = {query: n for query, n in report.answers.items() if n}
    return UnitResult(told.n_tuples, sum(matched.values()), matched, report)
