"""What indexes of eddies are priced by, in whole runs on the host of this process: both ways are in
force, answer alike, and are told apart by what is on record."""

from __future__ import annotations

import json
import os
import random
import socket
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pyarrow.dataset as ds

from backend.engine.job import InputJob, RunJob
from backend.engine.loop import Loop
from backend.engine.resume import QUERIES
from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.workloads.sources import open_source
from backend.workloads.spec import SinkSpec, load_workload
from storage.store import open_reader
from storage.vocabulary.amri_costs import COUNTED, REFINED
from storage.vocabulary.records import Decision, Input, Run
from storage.writer import open_engine_writer

RUN: Final = "priced"
#: Tuples of each stream, in a batch and in a window.
N_TUPLES, BATCH, WINDOW = 4_000, 400, 300
#: Columns are named by the streams that they join; S and U are compared by order, too.
STREAMS: Final = {"S": ("st", "su", "t"), "T": ("st", "tu", "t"), "U": ("su", "tu", "t")}
TEXT: Final = (
    f"Select S.st, U.tu From {', '.join(f'{name} [Rows {WINDOW}]' for name in STREAMS)} "
    "Where S.st = T.st and S.su = U.su and T.tu = U.tu and S.t <= U.t"
)
OFTEN: Final = """period_requests = 1000
trigger_requests = 1500
partition_share = 0.1
index_bits = 6
selection = "window"
min_gain = 0.0
migration = "all"
migration_us = 10000000
"""


def rows(name: str) -> list[list[int]]:
    """Of a stream: domains change half-way."""
    rng = random.Random(name)
    domains = {"st": (40, 300), "su": (300, 40), "tu": (100, 100)}
    return [
        [rng.randrange(domains[c][2 * n // N_TUPLES]) if c in domains else n for c in STREAMS[name]]
        for n in range(N_TUPLES)
    ]


def workload(folder: Path, costs: str) -> Path:
    path = folder / "priced.toml"
    text = f'name = "priced"\n[knobs]\n{OFTEN}index_costs = "{costs}"\n'
    for name, columns in STREAMS.items():
        schema = ", ".join(f"{column} int" for column in columns)
        source = f'{{ format = "memory", rows = {json.dumps(rows(name))} }}'
        text += f'[streams.{name}]\nschema = "{schema}"\nsource = {source}\n'
    path.write_text(text + f'[queries.q]\nsystem = "amri"\ntext = "{TEXT}"\n')
    return path


def executed(folder: Path, costs: str) -> None:
    folder.mkdir()
    asked = load_workload(workload(folder, costs))
    inputs = {s.name: InputJob(s.name, s.schema, "", {}, 0.0) for s in asked.streams}
    job = RunJob(inputs, asked.queries, {}, asked.knobs, functions=asked.functions)
    with open_engine_writer(str(folder / "s.db")) as writer:
        streams = tuple(
            Input(s.name, [[a.name, a.type] for a in s.schema.attributes]) for s in asked.streams
        )
        place = (os.getpid(), socket.gethostname(), "0")
        run = Run(
            RUN, asked.name, "starting", time.time(), {QUERIES: ["q"]}, *place, inputs=streams
        )
        loop = Loop(run, job, writer, None, None)
        loop.start(None)
        sources = [InputSource(s, open_source(s, folder / "cache"), 0) for s in asked.streams]
        sink, state = SinkSpec(str(folder / "out")), folder / "state"
        LocalHost(loop, sources, sink, BATCH, once=True, first_batch=0, folder=state).run()
        loop.finish({})


def answered(folder: Path) -> Counter[tuple[Any, ...]]:
    found = Counter[tuple[Any, ...]]()
    for path in folder.glob("out/query=q/batch*.parquet"):
        table = ds.dataset(path).to_table().to_pylist()
        found.update((row["st"], row["tu"], row["tau"], row["sign"]) for row in table)
    return found


def recorded(folder: Path) -> tuple[dict[str, Any], list[Decision]]:
    """Knobs in force, and decisions on bits."""
    with open_reader(str(folder / "s.db")) as reader:
        knobs = {knob.name: knob.value for knob in reader.knobs(RUN)}
        entries = reader.decisions(RUN, limit=10_000)
    return knobs, [e.decision for e in entries if e.decision.kind == "index bits"]


def test_indexes_are_priced_as_the_knob_has_it_and_answers_are_the_same(tmp_path: Path) -> None:
    for costs in ("counted", "measured"):
        executed(tmp_path / costs, costs)
        knobs, decisions = recorded(tmp_path / costs)
        assert knobs["index_costs"] == costs
        assert any(d.verdict == "switched" for d in decisions)
        bases = [d.detail["basis"] for d in decisions if "basis" in d.detail]
        assert len(bases) > 10
        counted = [REFINED.bucket, REFINED.code]
        if costs == "counted":
            assert all(of["prices"] == counted and of["move"] is None for of in bases)
            assert bases[-1]["move"] == COUNTED.move
        else:
            moves = [of["move"] for of in bases if of["move"] is not None]
            assert all(move > 0 for move in moves)
            assert len(moves) > 5
    found = [answered(tmp_path / costs) for costs in ("counted", "measured")]
    assert found[0] == found[1]
    assert sum(found[0].values()) > 500
