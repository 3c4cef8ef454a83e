"""A run of pipelined filters recorded by the real engine loop; only the execution is counted.

Six filters on packets, one of them native. Phases, by batch: quiet; from ATTACK on other filters
drop; a race of all algorithms from RACE on; sweep from SWEEP on; local swaps, independent and a
fixed order follow; at REMOVED the query comes back without its slowest filter. ``table`` raises for
some tuples throughout.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from backend.model.filters import WHOLE_EVERY, CostSample
from backend.model.functions import Function, Functions, Parameter
from backend.model.ids import entity_id
from backend.model.schema import Schema
from backend.operators.contract import BatchResult, InputResult, KeptAside, Match, UnitResult
from backend.operators.filters.counts import FilterCounts
from backend.operators.filters.pipeline import PipelineOperator
from bench.counted import Counted, run_counted
from tests.engine_runs import EngineRun, Rows

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
STREAM: Final = "Packets"
QUERY: Final = "intrusion"
UNIT: Final = f"agreedy.{QUERY}"


def filter_id(name: str) -> str:
    """The entity of a filter."""
    return entity_id(UNIT, "filter", name)


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


class FilterRecording(EngineRun):
    """A run being written by a real engine; ``write()`` adds the next batch."""

    def __init__(self, path: Path, run_id: str) -> None:
        chosen = {"profile_prob": PROFILE_PROB, "min_samples": 80, "window_tuples": 400}
        texts = {QUERY: TEXT}
        super().__init__(path, {STREAM: SCHEMA}, texts, chosen, _functions(), run_id=run_id)

    def turn(self, knob: str, value: Any) -> None:
        """Request a knob."""
        self.ask("knob", {"knob": knob, "value": value})

    def write(self) -> None:
        """The next batch."""
        self.batch({})

    def executed(self, rows: Mapping[str, Rows], batch_id: int) -> BatchResult:
        """Drawn and counted; there are no rows."""
        operator = self.loop.begin_batch(batch_id).operators[STREAM][UNIT]
        assert isinstance(operator, PipelineOperator)
        rng = np.random.default_rng([7, batch_id])
        # drawn in the query's own order, whatever the plan's
        names = [name for name in PRICES if name in operator.order]
        drops = _drops(rng, names, ATTACKED if batch_id >= ATTACK else QUIET)
        draws = rng.random(N_TUPLES)
        profiled, whole = (draws < operator.profile_prob / every for every in (1, WHOLE_EVERY))
        done = run_counted(drops, names, operator.order, operator.probing, profiled, whole)
        n_raised = int(rng.integers(0, 3))
        prices = {name: price * rng.uniform(0.97, 1.05) for name, price in PRICES.items()}
        matched = {QUERY: done.n_matched} if done.n_matched else {}
        unit = UnitResult(N_TUPLES, done.n_matched, matched, _counts(done, n_raised, prices))
        inputs = {STREAM: _input(done.n_matched, n_raised)}
        return BatchResult(batch_id, inputs, {UNIT: unit}, 120.0 + batch_id % 7)


def _input(n_matched: int, n_raised: int) -> InputResult:
    """What a batch took; ``table`` raised for n_raised of its tuples."""
    error = KeptAside('{"dest": null}', "table: ValueError: no such network")
    values = {"n_bytes": 900, "dest": "10.0.0.7", "payload": "a9", "source": "192.0.2.4"}
    recent = (Match(values, (QUERY,)),) if n_matched else ()
    return InputResult(N_TUPLES - n_raised, n_matched, n_raised, (error,) * n_raised, recent)


def _counts(done: Counted, n_raised: int, prices: Mapping[str, float]) -> FilterCounts:
    """What a counted batch comes to."""
    return FilterCounts(
        n_evaluated=N_TUPLES,
        evaluated=done.evaluated,
        dropped=done.dropped,
        raised={"table": n_raised},
        outcomes=done.outcomes,
        n_passed=done.n_passed,
        costs={
            name: [CostSample(asked, asked * prices[name])]
            for name, asked in done.evaluated.items()
            if asked and name != "n_bytes"
        },
        tuples_us=sum(asked * PRICES[name] for name, asked in done.evaluated.items()),
        profile_us=sum(asked * PRICES[name] for name, asked in done.probed.items()),
        whole=done.whole,
    )


def _drops(rng: np.random.Generator, names: list[str], shares: dict[str, float]) -> NDArray[Any]:
    """bool[N_TUPLES, n]: pairs of neighbours copy a common draw on three tuples in four."""
    own, shared = rng.random((2, N_TUPLES, len(names)))
    common = shared[:, [i - i % 2 for i in range(len(names))]]
    draws = np.where(rng.random((N_TUPLES, len(names))) < 0.75, common, own)
    found: NDArray[np.bool_] = draws < np.array([shares[name] for name in names])
    return found


def record_filters(path: Path, run_id: str) -> None:
    """Write the whole run."""
    recording = FilterRecording(path, run_id)
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
    recording.writer.set_state(run_id, "ended", "the input ended", time.time())
    recording.close()
