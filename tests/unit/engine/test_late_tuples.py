"""Late tuples in the record of a run: kept aside, or in the answers of selections, never both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from backend.model.functions import Function, Functions, Parameter
from backend.model.ids import entity_id, source_id
from backend.model.schema import Schema
from storage.tables.rows import StoredEvent
from tests.engine_runs import RUN_ID, EngineRun

CARS = Schema.parse("t bigint, id int")
SELECTION, WINDOW = "Select * From Cars Where id >= 0", "Select count(*) From Cars [Range 5]"
TEXTS = {"all": SELECTION, "recent": WINDOW}
NICE = Function("nice", (Parameter("id", "int"),), lambda id: id >= 0)
FUNCTIONS = Functions({"nice": NICE})
#: Of each batch the times; in the second and third two tuples are older than what was reached.
BATCHES = ([1, 2, 9], [3, 10, 4], [2, 3, 11])
LATE = 4
N = sum(map(len, BATCHES))


class Run(EngineRun):
    """A stream in time, a selection and a window over it, unless told otherwise."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self._folder, self._n = folder, 0
        options.setdefault("texts", TEXTS)
        timestamps = {"Cars": "t"}
        store, sink = folder / "store.db", folder / "out"
        super().__init__(store, {"Cars": CARS}, timestamps=timestamps, sink=sink, **options)

    def times(self, times: list[int]) -> None:
        """A batch of tuples with these times; ids tell them apart, over runs that go on, too."""
        self.batch([{"t": t, "id": 100 * self.batch_id + k} for k, t in enumerate(times)])

    @property
    def account(self) -> tuple[int, int, int]:
        """Tuples taken, kept aside and matched, as the store has them."""
        values = self.reader.values(RUN_ID)["system"]
        names = ("tuples_total", "misfits_total", "matched_total")
        taken, aside, matched = (int(values[name] or 0) for name in names)
        inputs = [stored.counts for stored in self.reader.input_batches(RUN_ID, "Cars", limit=99)]
        assert sum(one.n_tuples for one in inputs) == taken
        assert sum(one.n_misfits for one in inputs) == aside
        return taken, aside, matched

    def events(self, kind: str) -> list[StoredEvent]:
        return [event for event in self.reader.events(RUN_ID) if event.event.kind == kind]

    def aside(self) -> set[int]:
        """The ids of the tuples kept aside in the sink."""
        files = (self._folder / "out" / "stream=Cars" / "_misfits").glob("*.json")
        lines = [line for file in files for line in file.read_text().splitlines()]
        found = [json.loads(json.loads(line)["raw"])["id"] for line in lines]
        assert len(found) == len(set(found))
        return set(found)

    def matched(self) -> set[int]:
        """The ids of the tuples that selections put into the sink."""
        folder = self._folder / "out" / "stream=Cars"
        found = ds.dataset(folder, format="parquet").to_table().column("id").to_pylist()
        assert len(found) == len(set(found))
        return set(found)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[list[Run]]:
    """Closes the runs that a test puts here."""
    runs: list[Run] = []
    yield runs
    for run in runs:
        run.close()


def test_a_late_tuple_that_a_selection_takes_is_not_kept_aside(
    made: list[Run], tmp_path: Path
) -> None:
    made.append(run := Run(tmp_path))
    for times in BATCHES:
        run.times(times)
    assert run.account == (N, 0, N)
    assert (len(run.matched()), run.aside()) == (N, set())
    assert run.reader.misfits(RUN_ID) == ()
    assert not run.events("misfit")
    told = [one.event for one in run.events("missed")]
    assert {event.title for event in told} == {"2 tuples missed by some queries, taken by others"}
    assert sorted(event.detail for event in told) == [
        "left out of windows; late: its time is tick 2, and tick 10 was awaited",
        "left out of windows; late: its time is tick 3, and tick 9 was awaited",
    ]
    network = run.reader.values(RUN_ID)[entity_id("stream.network", "input", "Cars")]
    assert network["late_tuples"] == 2
    assert run.reader.values(RUN_ID)[source_id("Cars")]["reached_tuples"] == 3
    assert not list((tmp_path / "out").rglob("_staging/*")), "files that nobody wants are gone"


def test_the_account_adds_up_over_kills(made: list[Run], tmp_path: Path) -> None:
    for number, times in enumerate(BATCHES):
        run = Run(tmp_path, continues=number > 0, state=tmp_path / "state")
        run.times(times)
        n = sum(map(len, BATCHES[: number + 1]))
        assert run.account == (n, 0, n)
        run.kill()
    made.append(run := Run(tmp_path, continues=True, state=tmp_path / "state"))
    assert (len(run.matched()), run.aside()) == (N, set())
    assert len(run.events("missed")) == 2


def test_late_tuples_are_kept_aside_where_only_windows_read_the_stream(
    made: list[Run], tmp_path: Path
) -> None:
    made.append(run := Run(tmp_path, texts={"recent": WINDOW}))
    for times in BATCHES:
        run.times(times)
    assert run.account == (N - LATE, LATE, 0)
    assert run.aside() == {100, 102, 200, 201}
    assert not run.events("missed")
    (first, *_) = [one.event for one in run.events("misfit")]
    assert first.title == "2 tuples kept aside"


@pytest.mark.parametrize("text", [SELECTION, "Select * From Cars Where nice(id)"])
def test_late_tuples_are_kept_aside_while_all_selections_rest(
    made: list[Run], tmp_path: Path, text: str
) -> None:
    made.append(run := Run(tmp_path, texts={"all": text, "recent": WINDOW}, functions=FUNCTIONS))
    run.times(BATCHES[0])
    run.ask("query_pause", {"name": "all"})
    run.times(BATCHES[1])
    assert run.aside() == {100, 102}
    assert run.account == (4, 2, 3)
    run.ask("query_resume", {"name": "all"})
    run.times(BATCHES[2])
    assert run.account == (7, 2, 6)
    assert run.aside() == {100, 102}
    assert not run.aside() & run.matched()
