"""The small run of tests/golden/store_v4.db; make it anew with ``python -m tests.golden.store_v4``.

The file stays as this version wrote it: later versions must open it, not rewrite it.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from storage.store import open_command_writer, open_engine_writer
from storage.vocabulary.looks import LookFacts, look_decision, look_terms
from storage.vocabulary.planlog import form_digest
from storage.vocabulary.records import (
    Batch,
    BatchRecord,
    CommandAnswer,
    Decision,
    DecisionOutcome,
    Entity,
    Event,
    Input,
    InputBatch,
    KeptState,
    Knob,
    LogLine,
    Matrix,
    Misfit,
    PlanVersion,
    ResultTuple,
    Run,
    Sample,
    Unit,
)
from storage.vocabulary.taps import TapSample

PATH = Path(__file__).with_name("store_v4.db")
START = 1_800_000_000.0

RUN = Run(
    id="golden",
    workload="flights",
    state="starting",
    started_at=START,
    settings={"rate": 400, "sink": "memory"},
    pid=4242,
    host="a-laptop",
    version="1.0.0",
    inputs=(Input("Flights", [["origin", "string"], ["dep_delay", "int"]]),),
)
UNIT = Unit("asc.Flights", "asc", "Selections on Flights", ("Flights",), ("late",))
ENTITIES = (
    Entity("system", "system", "Planwatch", role="system"),
    Entity(
        "asc:origin",
        "operator",
        "origin",
        {"attribute": "origin", "n_regions": 4},
        unit_id=UNIT.id,
        role="selection",
    ),
    Entity(
        "asc:dep_delay",
        "operator",
        "dep_delay",
        {"attribute": "dep_delay", "n_regions": 3},
        unit_id=UNIT.id,
        role="selection",
    ),
    Entity(
        "query:late",
        "query",
        "late",
        {"text": "… dep_delay > 60", "state": "active"},
        "late",
        unit_id=UNIT.id,
        role="query",
    ),
)
KNOB = Knob("mu", "float", 0.1, 0.1, "", "threshold", 0.001, 10.0, scale="log", scope=UNIT.id)
GRAPH = {"nodes": [{"id": "asc:origin", "role": "selection", "name": "origin"}], "edges": []}
PLANS = tuple(
    PlanVersion(
        v,
        batch,
        "early drop",
        order,
        GRAPH,
        f"hash{v}",
        reason,
        decision,
        {"n": 500},
        unit_id=UNIT.id,
    )
    for v, batch, order, reason, decision in (
        (1, 0, ("asc:origin", "asc:dep_delay"), "start", None),
        (2, 3, ("asc:dep_delay", "asc:origin"), "visits rose", 2),
    )
)
DECISIONS = tuple(
    Decision(
        seq,
        batch,
        "asc",
        "rearrangement",
        verdict,
        "relative change of visits",
        lhs,
        ">=",
        0.1,
        800,
        100,
        version,
        explanation,
        old=["origin", "dep_delay"],
        new=["dep_delay", "origin"] if verdict == "switched" else None,
        predicted_old=1.9,
        predicted_new=1.2,
        plan_version=2 if verdict == "switched" else 1,
        detail={"cost_unit": "visits/tuple"},
        unit_id=UNIT.id,
    )
    for seq, batch, verdict, lhs, version, explanation in (
        (1, 1, "below_threshold", 0.04, 0, "0.04 < 0.1"),
        (2, 2, "switched", 0.31, 1, "0.31 >= 0.1"),
    )
)
#: A log of one look, which kept the plan.
SCHEMA = {"version": 1, "statistics": [["selectivity origin", "prob"]], "cost_unit": "visits/tuple"}
FORMS = {form_digest(form): form for form in (["origin", "dep_delay"], ["dep_delay", "origin"])}
_PRESENT, _RIVAL = FORMS
RECORD = {
    **{"number": 1, "schema": SCHEMA, "began": 0, "t": 1600, "statistics": [0.512345]},
    **{"plan": _PRESENT, "cost": 1.9, "offers": [[_RIVAL, 1.75, 90, 0.15, 12.5, 1.0]]},
    **{"plans": FORMS, "switching": 1900.0, "deciding": 380.0, "caution": 1.0},
    **{"ran": [1600, 3040.0], "n_sample": 90, "chosen": _PRESENT, "rival": _RIVAL},
    **{"saving": 0.00123457, "region": 1, "dwell": 50000.0, "due": 2500},
}
LOOK = replace(
    look_decision(RECORD, look_terms(RECORD, "visits/tuple", FORMS), LookFacts("asc", 3, 4, 2, 1)),
    unit_id=UNIT.id,
)
OUTCOME = DecisionOutcome(2, 4, 1.25, 1600, 1.22, 1.87, 90, UNIT.id)
MATRIX = Matrix(
    "regions:dep_delay",
    "regions",
    ("NULL", "(-inf, 60]", "(60, +inf)"),
    ("late",),
    [[0], [0], [1]],
    n=100,
    row_stats={"hit_prob": [0.02, 0.9, 0.08]},
    unit_id=UNIT.id,
)
EVENT = Event("rearrangement", "plan 2", ref={"decision": 2}, unit_id=UNIT.id)
TIMINGS = {"filter": 80.5}
ANSWER = CommandAnswer(1, "applied", 2, START + 2.1, "mu = 0.05", 0.1)


TAP = TapSample(UNIT.id, "asc:origin", 3, ("origin",), [[7, 1, 2, "JFK"], [9, -1, 1, None]])


def records() -> tuple[BatchRecord, ...]:
    """Five batches and a boundary without data after the second."""
    batches = [_batch_record(number) for number in range(5)]
    boundary = BatchRecord(
        RUN.id,
        Batch(None, START + 2.1, 0.0, 0, 0, 0),
        knobs=(replace(KNOB, value=0.05, version=1, batch=2),),
        answers=(ANSWER,),
        events=(Event("knob", "mu = 0.05", ref={"command": 1}),),
    )
    return (*batches[:2], boundary, *batches[2:])


def _batch_record(number: int) -> BatchRecord:
    samples = [
        Sample("system", "visits_per_tuple", 1.5 + number / 10),
        Sample("system", "n_tuples", 400.0 + number),
        Sample("asc:origin", "survival_prob", 0.5 if number else None),
    ]
    if number % 2:
        samples.append(Sample("query:late", "matched_tuples", float(number)))
    return BatchRecord(
        RUN.id,
        Batch(number, START + 1 + number, 120.0, 400 + number, 8, 0, {UNIT.id: 1}, "", TIMINGS),
        units=(UNIT,),
        states=(KeptState(UNIT.id, f'{{"seen":{number}}}'),),
        inputs=(InputBatch("Flights", 400 + number, 0),),
        samples=tuple(samples),
        plans=tuple(plan for plan in PLANS if plan.batch == number),
        decisions=tuple(d for d in (*DECISIONS, LOOK) if d.batch == number),
        outcomes=(OUTCOME,) if number == OUTCOME.batch else (),
        matrices=(MATRIX,) if number == 1 else (),
        events=(EVENT,) if number == 3 else (),
        results=(ResultTuple({"origin": "JFK", "dep_delay": 60 + number}, ("late",), "Flights"),),
        taps=(TAP,) if number == 2 else (),
        misfits=(Misfit("JFK,soon", "dep_delay is no int", "Flights", "a.csv, tuple 7"),)
        if number == 2
        else (),
    )


def write(path: Path) -> None:
    """Write the run to a new store at ``path``."""
    with tempfile.TemporaryDirectory() as folder:
        draft = str(Path(folder) / "draft.db")
        with open_engine_writer(draft) as writer:
            writer.begin_run(RUN, ENTITIES, (KNOB,))
            with open_command_writer(draft) as commands:
                commands.append_command(
                    RUN.id, "knob", {"knob": "mu", "value": 0.05}, "ana", "try", START + 2.0, 0
                )
            for record in records():
                writer.write_batch(record)
            writer.write_log(RUN.id, [LogLine(START + 2.5, "WARNING", "the input is slow")])
            writer.set_state(RUN.id, "ended", "end of the stream", START + 6.0)
            writer.export_run(RUN.id, path)


if __name__ == "__main__":
    PATH.unlink(missing_ok=True)
    write(PATH)
