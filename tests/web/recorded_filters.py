"""A run of pipelined filters recorded by the real engine loop; only the execution is counted.

Six filters on packets, one of them native. Phases, by batch: quiet; from ATTACK on other filters
drop; a race of all algorithms from RACE on; sweep from SWEEP on; local swaps, independent and a
fixed order follow; at REMOVED the query comes back without its slowest filter. ``table`` raises for
some tuples throughout.
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from backend.engine.execution import FilterBatchResult, KeptAside, Match
from backend.engine.filters import FilterEngine
from numpy.typing import NDArray

from backend.cql import parse_query
from backend.engine.loop import StreamJob
from backend.model.filters import CostSample
from backend.model.functions import Function, Functions, Parameter
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from backend.systems.agreedy.knobs import AgreedyKnobs
from bench.counted import Counted, run_counted
from storage.commands import CommandWriter
from storage.vocabulary.records import Input, Run
from storage.writer import EngineWriter

N_TUPLES: Final = 2000
PROFILE_PROB: Final = 0.05
ATTACK, RACE, SWEEP, SWAPS, INDEPENDENT, STATIC, REMOVED, END = 20, 26, 36, 42, 48, 54, 62, 68
SCHEMA: Final = Schema.parse("n_bytes int, dest string, payload string, source string")
PRICES: Final = {
    "n_bytes": 0.02, "table": 0.6, "first": 2.4, "second": 2.5, "known": 0.9, "slow": 9.0
}  # fmt: skip
#: Drop probability of each filter before and during the attack.
QUIET: Final = {
    "n_bytes": 0.2, "table": 0.45, "first": 0.93, "second": 0.9, "known": 0.3, "slow": 0.5
}  # fmt: skip
ATTACKED: Final = {
    "n_bytes": 0.1, "table": 0.8, "first": 0.15, "second": 0.12, "known": 0.62, "slow": 0.5
}  # fmt: skip
TEXT: Final = (
    "Select * From Packets Where n_bytes > 200 and table(dest) and first(payload)"
    " and second(payload) and known(source) and slow(payload)"
)
FEWER: Final = TEXT.replace(" and slow(payload)", "")
QUERY: Final = "intrusion"


def _functions() -> Functions:
    """Never called: what they would say is drawn."""
    columns = {"table": "dest", "known": "source"}
    return Functions(
        {
            name: Function(name, (Parameter(columns.get(name, "payload"), "string"),), bool)
            for name in PRICES
            if name != "n_bytes"
        }
    )


@dataclass
class FilterRecording:
    """A run being written by a real engine; ``write()`` adds the next batch."""

    writer: EngineWriter
    commands: CommandWriter
    run_id: str
    next_batch: int = 0
    knobs: dict[str, Any] = field(default_factory=dict)
    text: str = TEXT

    def begin(self) -> None:
        """Start the engine."""
        functions, place = _functions(), (os.getpid(), socket.gethostname(), "0.1.0")
        query = parse_query(QUERY, self.text, {"Packets": SCHEMA}, functions)
        schema = [[a.name, a.type] for a in SCHEMA.attributes]
        inputs = (Input("Packets", schema),)
        run = Run(self.run_id, "packets", "starting", time.time() - 60, {}, *place, inputs=inputs)
        chosen = {"profile_prob": PROFILE_PROB, "min_samples": 80, "window_tuples": 400}
        settings = KnobSettings.defaults(AgreedyKnobs.specs(), {**chosen, **self.knobs})
        job = StreamJob("Packets", SCHEMA, (query,), {"format": "packets"}, {}, functions)
        self.engine = FilterEngine(run, job, settings, self.writer)
        self.engine.start()

    def ask(self, kind: str, payload: dict[str, Any]) -> None:
        """Request something; the engine carries it out before the next batch."""
        self.commands.append_command(
            self.run_id, kind, payload, "tester", "for the test", time.time(), None
        )

    def turn(self, knob: str, value: Any) -> None:
        """Request a knob."""
        self.ask("knob", {"knob": knob, "value": value})

    def write(self) -> None:
        """The next batch."""
        b = self.next_batch
        self.next_batch += 1
        snapshot = self.engine.begin_batch(b)
        rng = np.random.default_rng([7, b])
        names = [f.name for f in snapshot.filters]
        drops = _drops(rng, names, ATTACKED if b >= ATTACK else QUIET)
        profiled = rng.random(N_TUPLES) < snapshot.profile_prob
        order = snapshot.plan.order
        done = run_counted(drops, names, order, snapshot.probing, profiled)
        n_raised = int(rng.integers(0, 3))
        prices = {name: price * rng.uniform(0.97, 1.05) for name, price in PRICES.items()}
        self.engine.end_batch(_result(b, done, n_raised, prices))


def _result(b: int, done: Counted, n_raised: int, prices: dict[str, float]) -> FilterBatchResult:
    """What a counted batch comes to; ``table`` raised for n_raised of its tuples."""
    evaluated, n = dict(done.evaluated), done.n_matched
    error = KeptAside('{"dest": null}', "table: ValueError: no such network")
    values = {"n_bytes": 900, "dest": "10.0.0.7", "payload": "a9", "source": "192.0.2.4"}
    return FilterBatchResult(
        batch_id=b,
        n_tuples=N_TUPLES - n_raised,
        n_matched=n,
        n_misfits=n_raised,
        visits=sum(evaluated.values()),
        reached=evaluated,
        dropped=done.dropped,
        sample={},
        matched_by_query={QUERY: n} if n else {},
        recent=(Match(values, (QUERY,)),) if n else (),
        misfits=(error,) * n_raised,
        duration_ms=120.0 + b % 7,
        n_evaluated=N_TUPLES,
        outcomes=done.outcomes,
        n_passed=done.n_passed,
        costs={
            name: [CostSample(asked, asked * prices[name])]
            for name, asked in evaluated.items()
            if asked and name != "n_bytes"
        },
        raised={"table": n_raised},
        tuples_us=sum(asked * PRICES[name] for name, asked in evaluated.items()),
        profile_us=sum(asked * PRICES[name] for name, asked in done.probed.items()),
    )


def _drops(rng: np.random.Generator, names: list[str], shares: dict[str, float]) -> NDArray[Any]:
    """bool[N_TUPLES, n]: pairs of neighbours copy a common draw on three tuples in four."""
    own, shared = rng.random((2, N_TUPLES, len(names)))
    common = shared[:, [i - i % 2 for i in range(len(names))]]
    draws = np.where(rng.random((N_TUPLES, len(names))) < 0.75, common, own)
    found: NDArray[np.bool_] = draws < np.array([shares[name] for name in names])
    return found


def record_filters(
    writer: EngineWriter, commands: CommandWriter, run_id: str, end: bool = True
) -> FilterRecording:
    """Write the whole run; ended unless told otherwise."""
    recording = FilterRecording(writer, commands, run_id)
    recording.begin()
    turns = {SWEEP: "sweep", SWAPS: "local swaps", INDEPENDENT: "independent", STATIC: "static"}
    for batch in range(END):
        if batch == RACE:
            recording.turn("race", "all")
        if batch in turns:
            recording.turn("filter_algorithm", turns[batch])
        if batch == REMOVED:
            recording.ask("query_remove", {"name": QUERY})
            recording.ask("query_add", {"name": QUERY, "text": FEWER})
        recording.write()
    if end:
        writer.set_state(run_id, "ended", "the input ended", time.time())
    return recording
