"""A run of an eddy with adaptive indexes, written by hand as it is recorded.

Three streams, each joined with both others. At MOVED the bits of S move from a to b; its partitions
take them on one after the other, one a batch. From then on elements of S take another route.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from backend.model.knobs import KnobSpec
from backend.systems.amri.knobs import AmriKnobs
from storage.vocabulary import registry
from storage.vocabulary.amri import PATTERN_COLUMNS
from storage.vocabulary.amri_counts import StateCounts
from storage.vocabulary.amri_windows import StateSeen
from storage.vocabulary.records import (
    Batch,
    BatchRecord,
    Command,
    CommandAnswer,
    Decision,
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

RUN: Final = "amri"
UNIT: Final = Unit("u", "amri", "Eddies", ("S", "T", "U"), ("stu",))
EDDY: Final = "eddy"
N_TUPLES: Final = 600
#: δ of the patterns of S.
DELTA: Final = 40
#: Batch with whose end the bits of S move.
MOVED: Final = 6
N_PARTITIONS: Final = 4
#: Bits that states may spend, and by attribute in force: of S before and after MOVED.
BUDGET: Final = 8
BEFORE, AFTER = (5, 2), (2, 5)
ATTRIBUTES: Final = {"S": ("a", "b"), "T": ("a", "c"), "U": ("b", "c")}
BITS: Final = {"T": (4, 4), "U": (3, 3)}
#: Tuples of S that a request finds, that came to it in a batch, and requests of a batch.
N_STORED, N_CAME, N_ASKED = 4000, 200, 2000
#: Bytes of an index by bits and of a hash index of S.
SIZES: Final = (64_000, 98_304)
#: Of S: pattern, its bits, share of requests, tuples compared, matched, buckets a request; of the
#: tuples compared those of which the code alone was read.
ASKED: Final = (
    ("<a,b>", 3, 0.05, 1.5, 0.2, 1.0, 0.5),
    ("<a,*>", 2, 0.7, 18.0, 4.0, 4.0, 6.0),
    ("<*,b>", 1, 0.25, 90.5, 6.0, 32.0, 40.5),
)


def _knob(spec: KnobSpec) -> Knob:
    value = TURNED.get(spec.name, spec.default)
    return Knob(
        spec.name, spec.kind, value, spec.default, spec.unit, spec.help, spec.low, spec.high,
        spec.scale, spec.choices, EDDY, scope=UNIT.id,
    )  # fmt: skip


TURNED: Final = {"index_bits": BUDGET, "theta": 0.09}
KNOBS: Final = tuple(map(_knob, AmriKnobs.specs()))


def bits_of(name: str, b: int) -> tuple[int, ...]:
    """In force at the end of a batch."""
    return BITS.get(name, AFTER if b >= MOVED else BEFORE)


def n_migrating(name: str, b: int) -> int:
    """Partitions that are still to take on the bits in force."""
    return max(0, N_PARTITIONS - (b - MOVED)) if name == "S" and b >= MOVED else 0


def seen_of(b: int) -> StateSeen:
    """S at the end of a batch, with all it was asked since the run began."""
    counts = {
        bits: tuple(round((b + 1) * N_ASKED * share * n) for n in (1, matched, compared, *rest))
        for _, bits, share, compared, matched, *rest in ASKED
    }
    total = StateCounts((b + 1) * N_CAME, counts)
    bits = bits_of("S", b)
    return StateSeen(total, 0, N_STORED, N_STORED, N_PARTITIONS, bits, sizes=SIZES)


def entities() -> tuple[Entity, ...]:
    """All entities of the run."""
    found = [
        Entity("system", "system", "System", role="system"),
        Entity(EDDY, "operator", "S ⋈ T ⋈ U", {"queries": ["stu"]}, unit_id=UNIT.id, role="join"),
        Entity("out", "operator", "Output", {}, unit_id=UNIT.id, role="output"),
        Entity("q:out", "queue", "results", {}, unit_id=UNIT.id, role="queue"),
        Entity("query", "query", "stu", {"text": "Select * From S, T, U", "state": "active"},
               query="stu", unit_id=UNIT.id, role="query"),
    ]  # fmt: skip
    for port, (name, attributes) in enumerate(ATTRIBUTES.items()):
        facts = {"node": EDDY, "port": port, "input": name, "attributes": list(attributes)}
        found += [
            Entity(f"in:{name}", "operator", name, {}, role="source"),
            Entity(f"q:{name}", "queue", name, {}, role="queue"),
            Entity(f"s:{name}", "synopsis", name, facts, unit_id=UNIT.id, role="stem"),
            Entity(f"i:{name}", "index", name, facts, unit_id=UNIT.id, role="bit index"),
        ]
    return tuple(found)


@dataclass
class AmriRecording:
    """A run being written. ``write()`` adds the next batch."""

    writer: EngineWriter
    started_at: float
    next_batch: int = 0
    knobs: dict[str, Knob] = field(default_factory=lambda: {one.name: one for one in KNOBS})

    def begin(self) -> None:
        """Write the run with its entities and its knobs."""
        inputs = tuple(Input(name, [["a", "int"], ["b", "int"]]) for name in UNIT.inputs)
        place = (os.getpid(), socket.gethostname(), "0.1.0")
        run = Run(RUN, "clique", "starting", self.started_at, {}, *place, inputs=inputs)
        self.writer.begin_run(run, entities(), KNOBS)

    def write(self, commands: Sequence[Command] = ()) -> None:
        """The next batch; knobs are turned as asked."""
        b = self.next_batch
        self.next_batch += 1
        knobs, answers = [], []
        for command in commands:
            name, value = command.payload["knob"], command.payload["value"]
            version = self.knobs[name].version + 1
            self.knobs[name] = replace(self.knobs[name], value=value, version=version, batch=b)
            knobs.append(self.knobs[name])
            answers.append(CommandAnswer(command.id, "applied", b, time.time(), "applied", version))
        plans = (_plan(b),) if b in (0, MOVED) else ()
        record = BatchRecord(
            RUN,
            Batch(b, self.started_at + 2 + b, 120.0, N_TUPLES, 90, 0, {UNIT.id: 1}, str(b)),
            samples=tuple(_samples(b)),
            decisions=(_moved(),) if b == MOVED else (),
            plans=plans,
            matrices=(*_partitions(b), _patterns(b), _routes(b)),
            knobs=tuple(knobs),
            answers=tuple(answers),
            units=(UNIT,),
            inputs=tuple(InputBatch(name, N_TUPLES // 3, 0) for name in UNIT.inputs),
        )
        self.writer.write_batch(record)


def _sample(entity: str, name: str, value: float | None) -> Sample:
    return Sample(entity, name, value, registry.KNOWN.properties[name].unit)


def _samples(b: int) -> list[Sample]:
    whole = {
        "tuples_per_s": 900.0, "batch_ms": 120.0, "n_tuples": N_TUPLES, "n_matched": 90,
        "tuples_total": N_TUPLES * (b + 1), "visits_per_tuple": 3.0,
    }  # fmt: skip
    found = [_sample("system", name, value) for name, value in whole.items()]
    for place, name in enumerate(ATTRIBUTES, start=1):
        spent = 1000.0 * place * (b + 1)
        state = {
            "search_requests": 2000, "compared_per_request": 36.1, "buckets_per_request": 12.25,
            "state_tuples": 4000, "regret_spent": spent, "regret_fixed": 0.8 * spent,
            "regret_sequence": 0.5 * spent,
        }  # fmt: skip
        index = {"index_bytes": 65536, "index_bits": sum(bits_of(name, b))}
        found += [_sample(f"s:{name}", one, value) for one, value in state.items()]
        found += [_sample(f"i:{name}", one, value) for one, value in index.items()]
        found.append(_sample(f"q:{name}", "flow_tuples", N_TUPLES // 3))
        found.append(_sample(f"in:{name}", "reached_tuples", N_TUPLES // 3))
    return [*found, _sample(EDDY, "reached_tuples", N_TUPLES), _sample("q:out", "flow_tuples", 90)]


def _matrix(
    kind: str, of: str, rows: Sequence[str], columns: Sequence[str], values: Any, **facts: Any
) -> Matrix:
    return Matrix(
        f"{kind} of {of}", kind, tuple(rows), tuple(columns), values, "", len(rows),
        row_stats=facts, unit_id=UNIT.id,
    )  # fmt: skip


def _partitions(b: int) -> list[Matrix]:
    """The oldest partitions take on the bits last."""
    found = []
    for name, attributes in ATTRIBUTES.items():
        waiting, bits = n_migrating(name, b), bits_of(name, b)
        rows = [str(b + place) for place in range(N_PARTITIONS)]
        values = [list(BEFORE if place < waiting else bits) for place in range(N_PARTITIONS)]
        moves = [place < waiting for place in range(N_PARTITIONS)]
        facts = {"state": [f"s:{name}"], "tuples": [1000] * N_PARTITIONS, "migrating": moves}
        found.append(
            _matrix("bits by partition", name, rows, attributes, values, next=list(bits), **facts)
        )
    return found


def _patterns(b: int) -> Matrix:
    """Nothing is reported before the bits moved, and rare patterns never."""
    values = [
        [N_ASKED * share, share, share if b >= MOVED and share > 0.1 else None, share, *rest,
         N_ASKED * share, DELTA, codes]
        for _, _, share, *rest, codes in ASKED
    ]  # fmt: skip
    patterns = [bits for _, bits, *_ in ASKED]
    facts = {
        "state": ["s:S"],
        "pattern": patterns,
        "folded into": [2 if bits == 3 else None for bits in patterns],
        "asked by": [["U → T → S"], ["T → S → U"], ["U → S → T"]],
        "assessed": [N_ASKED] if b >= MOVED else [],
        "seen": seen_of(b).json(),
    }
    names = [name for name, *_ in ASKED]
    return _matrix("access patterns", "S", names, PATTERN_COLUMNS, values, **facts)


def _routes(b: int) -> Matrix:
    """Of 200 elements each; two of every hundred explore."""
    taken, explored = [0.98, 30.5, 4.25, 1, 196], [0.02, 40.0, 6.5, 0, 4]
    first, second = (explored, taken) if b >= MOVED else (taken, explored)
    rows = {
        "S → T → U": [4.0, *first, 3.0, 0.5],
        "S → U → T": [2.0 if b >= MOVED else 5.0, *second, 0.25, 2.0],
        "T → S → U": [3.0, *taken, 2.0, 0.25], "T → U → S": [6.0, *explored, 4.0, 0.125],
        "U → S → T": [None, 1.0, 30.5, 4.25, 1, 200, 0.5, 1.5],
    }  # fmt: skip
    columns = (
        *("price", "share", "compared", "work", "in force", "elements"), "fan-out 1", "fan-out 2",
    )  # fmt: skip
    return _matrix("routes by origin", "S ⋈ T ⋈ U", list(rows), columns, list(rows.values()))


def _moved() -> Decision:
    """The bits of S move."""
    old, new = ({"kind": "bits", "order": ["a", "b"], "bits": list(one)} for one in (BEFORE, AFTER))
    detail = {
        "eddy": "S ⋈ T ⋈ U",
        "state": "S",
        "attributes": ["a", "b"],
        "cost_unit": "work per search request",
        "counted": [
            {
                "about": "Attributes, of 2 000 requests",
                "columns": ["Attribute", "Bits before", "Bits after", "Requests with it"],
                "rows": [["a", 5, 2, 1500], ["b", 2, 5, 600]],
            },
            {
                "about": "Requests by access pattern",
                "columns": [
                    *("Pattern", "Requests", "Compared"),
                    *("Weight", "Cost before", "Cost after"),
                ],
                "rows": [
                    ["<a,*>", 1400, 18.0, 0.6, 10.0, 20.0],
                    ["<*,b>", 500, 90.5, 0.3, 78.0, 24.0],
                    ["<a,b>", 100, 1.5, 0.1, 6.0, 8.0],
                ],
            },
        ],
    }
    return Decision(
        1, MOVED, "amri", "index bits", "switched", "accumulated advantage", 900.0, ">=", 400.0,
        N_TUPLES, 2000, 0, "S takes the bits a 2, b 5 instead of a 5, b 2", old, new, 30.0, 20.0,
        detail=detail, unit_id=UNIT.id,
    )  # fmt: skip


def _plan(b: int) -> PlanVersion:
    nodes: list[dict[str, Any]] = [
        {"id": f"in:{name}", "role": "source", "name": name} for name in UNIT.inputs
    ]
    nodes += [
        {"id": f"s:{name}", "role": "stem", "name": name,
         "properties": {"attributes": list(own), "bits": list(bits_of(name, b))}}
        for name, own in ATTRIBUTES.items()
    ]  # fmt: skip
    nodes += [
        {"id": EDDY, "role": "join", "name": "S ⋈ T ⋈ U"},
        {"id": "out", "role": "output", "name": "Output"},
    ]
    edges: list[dict[str, Any]] = [
        {"source": f"in:{name}", "target": EDDY, "queue": f"q:{name}"} for name in UNIT.inputs
    ]
    edges += [{"source": f"s:{name}", "target": EDDY, "queue": None} for name in UNIT.inputs]
    edges.append({"source": EDDY, "target": "out", "queue": "q:out"})
    graph = {"nodes": nodes, "edges": edges}
    version = 2 if b else 1
    return PlanVersion(
        version, b, "network", (EDDY,), graph, f"h{version}", "bits", unit_id=UNIT.id
    )


def record_amri(writer: EngineWriter, n_batches: int) -> AmriRecording:
    """Write a running run of n_batches, the last one now."""
    recording = AmriRecording(writer, time.time() - n_batches - 3)
    recording.begin()
    for _ in range(n_batches):
        recording.write()
    return recording
