"""Queries that name their system: the same answers, a unit of its own, sentences for refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from backend.systems.registry import SYSTEMS
from tests.engine_runs import RUN_ID, EngineRun
from tests.web.joins_run import KNOBS, SCHEMAS, TEXTS, TICKS, keyed

JOINED = TEXTS["four"]


class NamedRun(EngineRun):
    """The four streams of keys; commands name systems."""

    systems = SYSTEMS

    def __init__(self, folder: Path, continues: bool = False, **texts: str) -> None:
        super().__init__(
            folder / "store.db",
            SCHEMAS,
            {"plain": JOINED, **texts},
            KNOBS,
            sink=folder / "out",
            continues=continues,
            timestamps=dict.fromkeys(SCHEMAS, "t"),
            state=folder / "state",
            systems=self.systems,
        )

    def ticks(self, n_batches: int = 1) -> None:
        for _ in range(n_batches):
            first = self.batch_id * TICKS
            self.batch(keyed(range(first, first + TICKS), 1))

    def register(self, name: str, system: str, text: str = JOINED) -> Any:
        asked = self.ask("query_add", {"name": name, "text": text, "system": system})
        self.ticks()
        return self.answer(asked)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[NamedRun]:
    made = NamedRun(tmp_path)
    yield made
    made.close()


def answers(folder: Path, query: str) -> Counter[tuple[Any, ...]]:
    (own,) = [*(folder / "out").glob(f"query={query}"), *(folder / "out").glob(f"query={query}@*")]
    table = ds.dataset(own, format="parquet").to_table()
    return Counter(tuple(sorted(row.items())) for row in table.to_pylist())


def test_the_same_text_under_two_systems_gives_the_same_answers(
    run: NamedRun, tmp_path: Path
) -> None:
    first = run.register("by_stream", "stream")
    second = run.register("by_joins", "joins")
    assert (first.state, second.state) == ("applied", "applied")
    run.ticks(3)
    assert {u.id for u in run.reader.units(RUN_ID)} == {"stream.network", "joins.network"}
    # both were registered at a batch of their own: compare one registered with each at the same
    run.ask("query_add", {"name": "one", "text": JOINED, "system": "stream"})
    run.ask("query_add", {"name": "two", "text": JOINED, "system": "joins"})
    run.ticks(4)
    one, two = answers(tmp_path, "one"), answers(tmp_path, "two")
    assert one
    assert one == two
    caches = {e.unit_id for e in run.reader.entities(RUN_ID) if e.role == "cache"}
    assert caches == {"stream.network", "joins.network"}


def test_its_knobs_are_its_own(run: NamedRun) -> None:
    run.register("own", "joins")
    turn = run.ask("knob", {"knob": "caching", "value": "off", "scope": "joins.network"})
    run.ticks(2)
    assert run.answer(turn).state == "applied"
    values = {k.scope: k.value for k in run.reader.knobs(RUN_ID) if k.name == "caching"}
    assert values == {"stream.network": "exact", "joins.network": "off"}


@pytest.mark.parametrize(
    ("system", "text", "reason"),
    [
        ("joins", "Select * From R Where a > 5", "selects tuples of one stream"),
        ("joins", "Select Distinct a From R [Rows 5]", "joins fewer than three inputs"),
        ("asc", JOINED, "does more than select tuples of one stream"),
        ("elsewhere", JOINED, "the systems are asc, agreedy, stream, joins"),
    ],
)
def test_a_system_that_cannot_says_why(run: NamedRun, system: str, text: str, reason: str) -> None:
    refused = run.register("q", system, text)
    assert refused.state == "refused"
    assert reason in refused.answer


def test_a_resumed_run_keeps_the_system(tmp_path: Path) -> None:
    run = NamedRun(tmp_path)
    run.register("own", "joins")
    run.kill()
    again = NamedRun(tmp_path, continues=True)
    again.ticks(2)
    units = {u.id: u.queries for u in again.reader.units(RUN_ID)}
    assert units == {"stream.network": ("plain",), "joins.network": ("own",)}
    again.close()
