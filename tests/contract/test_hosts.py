"""What every host does: the same matches, counts and tuples kept aside, in the same sink."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pytest

from backend.cql import parse_query
from backend.hosts import local
from backend.hosts.contract import BatchLoop, InputsFailed, InputSource
from backend.hosts.local import LocalHost
from backend.model.conditions import ContinuousQuery, WindowMember
from backend.model.events import SelectionPlan
from backend.model.filters import Probing
from backend.model.functions import Function, Functions, Parameter
from backend.model.schema import Schema
from backend.operators.filters.pipeline import PipelineOperator
from backend.operators.selection.operator import SelectionOperator
from backend.systems.agreedy.pipeline import pipeline_of
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.shipping import shipped_plan
from backend.workloads.relations import SlidingRelation
from backend.workloads.sources import MemorySource, ReplaySource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from tests.loops import FixedLoop, Operators
from tests.oracles.selection import matches

CARS = Schema.parse("id int, speed double, plate string, at timestamp")
PARTS = Schema.parse("id bigint, kind string")


def german(plate: str) -> bool:
    """Raises for '?'."""
    if plate == "?":
        raise ValueError("no plate")
    return plate.startswith("B-")


FUNCTIONS = Functions({"german": Function("german", (Parameter("plate", "string"),), german)})
QUERIES = {
    "fast": "Select * From Cars Where speed >= 50",
    "few": "Select * From Cars Where speed < 20 and id > 10 or plate = 'B-1'",
    "all": "Select * From Cars Where id >= 0",
}
PIPELINE = """Select * From Cars Where speed > 10 and german(plate)
  and plate in (Select kind From Parts [Rows 3])"""


class Host(Protocol):
    """As hosts are: made, and run."""

    def run(self) -> str: ...


Make = Callable[..., Host]


@pytest.fixture(params=["local", "cores", pytest.param("spark", marks=pytest.mark.spark)])
def make(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Make]:
    """Makes a host of the kind for a loop, inputs and a sink."""
    if request.param != "spark":
        monkeypatch.setattr(local, "TASK_TUPLES", 1)
        n_cores = 3 if request.param == "cores" else 0
        yield lambda loop, inputs, sink, once=True: LocalHost(
            loop, inputs, sink, 170, once, cores=n_cores
        )
        return
    from backend.hosts.spark.run.runner import RunHost

    spark = request.getfixturevalue("spark")

    def on_spark(
        loop: BatchLoop, inputs: Sequence[InputSource], sink: SinkSpec, once: bool = True
    ) -> Host:
        return RunHost(spark, loop, inputs, sink, tmp_path / "run", once)

    yield on_spark


def cars(n: int = 500) -> list[list[Any]]:
    rng = random.Random(4)
    plates = ["B-1", "B-2", "F-3", "?", {}]
    return [
        [k, rng.choice([rng.uniform(0, 60), {}]), rng.choice(plates), "2013-01-01T10:00:00.000001"]
        for k in range(n)
    ]


def source(schema: Schema, rows: Sequence[Any], name: str, timestamp: str | None) -> InputSource:
    stream = StreamSpec(name, schema, SourceSpec("memory"), timestamp)
    return InputSource(stream, MemorySource(rows, schema))


def selection(queries: Sequence[ContinuousQuery], schema: Schema) -> SelectionOperator:
    constructs = build_constructs(queries, schema)
    plan = SelectionPlan(1, "early drop", constructs.attributes)
    return SelectionOperator(shipped_plan(constructs, plan, "resolved"), 0.5)


def parsed(name: str, text: str) -> ContinuousQuery:
    return parse_query(name, text, {"Cars": CARS, "Parts": PARTS}, FUNCTIONS)


def pipeline(parts: ReplaySource) -> PipelineOperator:
    query = parsed("wanted", PIPELINE)
    members = [f for f in query.filters if isinstance(f, WindowMember)]
    relations = {m: SlidingRelation(parts, m.column, m.rows) for m in members}
    filters = pipeline_of(query)
    return PipelineOperator("wanted", CARS, filters, FUNCTIONS, relations, Probing("all"), 0.3)


def sunk(folder: Path, format: str = "parquet") -> dict[int, list[str]]:
    """id -> query_ids of what a sink holds."""
    table = pyarrow.dataset.dataset(str(folder), format=format).to_table()
    ids = table.column("query_ids").to_pylist()
    assert len(table) == len(set(table.column("id").to_pylist()))
    names = [one.split(" ") if isinstance(one, str) else one for one in ids]
    return dict(zip(table.column("id").to_pylist(), names, strict=True))


def kept_aside(folder: Path) -> list[tuple[str, str]]:
    files = sorted((folder / "_misfits").glob("batch-*.json"))
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [(line["raw"], line["error"]) for line in lines]


def defined(
    queries: Sequence[ContinuousQuery], rows: Sequence[list[Any]], plates: Sequence[list[Any]]
) -> tuple[dict[int, list[str]], list[int]]:
    """By the definition: id -> queries of the cars that match; ids of those a filter raises for."""
    expected, flawed = {}, []
    for given in rows:
        row = dict(zip(CARS.names, [None if v == {} else v for v in given], strict=True))
        names = list(matches(queries, row, CARS))
        last = min(given[0], len(plates) - 1)
        window = [kind for _, kind in plates[max(0, last - 2) : last + 1]]
        if row["speed"] is not None and row["speed"] > 10 and row["plate"] in window:
            if row["plate"] == "?":
                flawed.append(given[0])
            else:
                names.append("wanted")
        if names:
            expected[given[0]] = sorted(names)
    return expected, flawed


def test_two_inputs_and_three_units(make: Make, tmp_path: Path) -> None:
    rows = cars()
    plates = [[k, "?" if k % 7 == 3 else f"B-{k % 3}"] for k in range(300)]
    inputs = [source(CARS, rows, "Cars", "at"), source(PARTS, plates, "Parts", None)]
    queries = [parsed(name, QUERIES[name]) for name in ("fast", "few")]
    kinds = [parsed("kind", "Select * From Parts Where kind = 'B-2'")]
    operators: Operators = {
        "Cars": {
            "asc:Cars": selection(queries, CARS),
            "agreedy:wanted": pipeline(MemorySource(plates, PARTS)),
        },
        "Parts": {"asc:Parts": selection(kinds, PARTS)},
    }
    loop, out = FixedLoop(operators), tmp_path / "out"
    assert make(loop, inputs, SinkSpec(str(out))).run() == "the stream reached its end"

    expected, flawed = defined(queries, rows, plates)
    assert len(flawed) > 10
    assert sunk(out / "stream=Cars") == expected
    assert sunk(out / "stream=Parts") == {k: ["kind"] for k, kind in plates if kind == "B-2"}
    per_query = Counter(name for names in expected.values() for name in names)
    counted = loop.matched_by_query("asc:Cars") | loop.matched_by_query("agreedy:wanted")
    assert counted == dict(per_query)
    unmatched = [id for id in flawed if id not in expected]
    assert 0 < len(unmatched) < len(flawed)
    assert loop.total("Cars", "n_tuples") == 500 - len(unmatched)
    assert loop.total("Cars", "n_missed") == len(flawed) - len(unmatched)
    assert loop.total("Parts", "n_tuples") == 300
    assert loop.total("Cars", "n_matched") == len(expected)
    aside = kept_aside(out / "stream=Cars")
    assert [json.loads(raw)["id"] for raw, _ in aside] == unmatched
    missed = [one for result in loop.results for one in result.inputs["Cars"].missed]
    assert [json.loads(one.raw)["id"] for one in missed] == [id for id in flawed if id in expected]
    errors = {error for _, error in aside} | {one.error for one in missed}
    assert errors == {"german: ValueError: no plate"}
    assert loop.results[-1].inputs["Cars"].ended
    assert not list(out.rglob("_staging*"))
    assert sum(report.reached["id"] for report in loop.reports("asc:Cars")) == 500
    assert sum(report.n_evaluated for report in loop.reports("agreedy:wanted")) == 500


def test_what_does_not_fit_is_kept_aside(make: Make, tmp_path: Path) -> None:
    rows = cars(100)
    rows[7] = ["seven", 1.0, "x", {}]
    rows[8] = [8, 99.0, "B-1", {}]
    rows[9][3] = "2013-01-02T10:00:00"
    loop = FixedLoop({"Cars": {"asc:Cars": selection([parsed("all", QUERIES["all"])], CARS)}})
    inputs = [source(CARS, rows, "Cars", "at")]
    make(loop, inputs, SinkSpec(str(tmp_path / "out"))).run()
    expected = [
        ('["seven", 1.0, "x", {}]', "id is not a whole number of 32 bits"),
        ('{"id": 8, "speed": 99.0, "plate": "B-1"}', "at is NULL, and it is the timestamp"),
    ]
    assert kept_aside(tmp_path / "out" / "stream=Cars") == expected
    told = [kept for result in loop.results for kept in result.inputs["Cars"].misfits]
    assert [(kept.raw, kept.error) for kept in told] == expected
    assert (loop.total("Cars", "n_tuples"), loop.total("Cars", "n_misfits")) == (98, 2)
    assert loop.results[0].inputs["Cars"].stream_time == "2013-01-02 10:00:00"


def test_what_is_profiled_and_shown_is_the_same_whatever_the_batches(
    make: Make, tmp_path: Path
) -> None:
    loop = FixedLoop({"Cars": {"asc:Cars": selection([parsed("all", QUERIES["all"])], CARS)}})
    make(loop, [source(CARS, cars(), "Cars", None)], SinkSpec(str(tmp_path / "out"))).run()
    sampled = [k for report in loop.reports("asc:Cars") for k in report.sample["id"]]
    other = FixedLoop({"Cars": {"asc:Cars": selection([parsed("all", QUERIES["all"])], CARS)}})
    LocalHost(other, [source(CARS, cars(), "Cars", None)], SinkSpec(None), 33).run()
    assert sampled == [k for report in other.reports("asc:Cars") for k in report.sample["id"]]
    assert 200 < len(sampled) < 300
    shown = [m.values["id"] for result in loop.results for m in result.inputs["Cars"].recent]
    assert shown == sorted(shown)
    assert 200 <= len(shown) <= 500


@pytest.mark.parametrize("format", ["json", "csv"])
def test_text_sinks_keep_every_microsecond(make: Make, tmp_path: Path, format: str) -> None:
    queries = [parsed(name, QUERIES[name]) for name in ("all", "few")]
    loop = FixedLoop({"Cars": {"u": selection(queries, CARS)}})
    rows = [[11, 5.5, 'a "b", c\n', "2013-01-01T10:00:00.000001"], [2, {}, "", {}]]
    sink = SinkSpec(str(tmp_path / "out"), format)
    make(loop, [source(CARS, rows, "Cars", None)], sink).run()
    (file,) = (tmp_path / "out" / "stream=Cars").glob(f"batch-*.{format}")
    if format == "json":
        first, second = (json.loads(line) for line in file.read_text().splitlines())
        assert second == {"id": 2, "plate": "", "query_ids": ["all"]}
        assert first["query_ids"] == ["all", "few"]
    else:
        parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
        convert = pyarrow.csv.ConvertOptions(
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            column_types={"at": pa.string()},
        )
        table = pyarrow.csv.read_csv(file, parse_options=parse, convert_options=convert)
        first, second = table.to_pylist()
        assert first["query_ids"] == "all few"
        assert (second["speed"], second["plate"], second["at"]) == (None, "", None)
    assert (first["plate"], first["at"]) == ('a "b", c\n', "2013-01-01T10:00:00.000001Z")


class Broken:
    """Gives a hundred tuples, then raises."""

    schema = PARTS
    n_tuples = 300

    def slice(self, start: int, count: int) -> pa.Table:
        if start >= 100:
            raise OSError("the disk is gone")
        rows = [[k, "x"] for k in range(start, min(start + count, 100))]
        return MemorySource(rows, PARTS).slice(0, count)


def test_an_input_that_fails_fails_alone(make: Make, tmp_path: Path) -> None:
    kinds = [parsed("kind", "Select * From Parts Where kind = 'x'")]
    operators: Operators = {
        "Cars": {"asc:Cars": selection([parsed("all", QUERIES["all"])], CARS)},
        "Parts": {"asc:Parts": selection(kinds, PARTS)},
    }
    stream = StreamSpec("Parts", PARTS, SourceSpec("memory"))
    inputs = [source(CARS, cars(), "Cars", None), InputSource(stream, Broken())]
    loop = FixedLoop(operators)
    ended = make(loop, inputs, SinkSpec(str(tmp_path / "out"))).run()
    assert ended == "the stream reached its end; Parts: OSError: the disk is gone"
    assert loop.total("Cars", "n_tuples") == 500

    alone = FixedLoop(operators)
    with pytest.raises(InputsFailed, match="Parts: OSError: the disk is gone"):
        make(alone, inputs[1:], SinkSpec(None)).run()


def test_operators_change_between_batches_and_an_input_has_none(make: Make, tmp_path: Path) -> None:
    first, second = (selection([parsed(n, QUERIES["all"])], CARS) for n in ("one", "two"))

    def choose(batch_id: int) -> Operators:
        return {"Cars": {"asc:Cars": second if batch_id else first}}

    loop = FixedLoop({}, choose=choose)
    inputs = [source(CARS, cars(400), "Cars", None), source(PARTS, [[1, "x"]], "Parts", None)]
    host = make(loop, inputs, SinkSpec(str(tmp_path / "out")))
    host.run()
    found = sunk(tmp_path / "out" / "stream=Cars")
    n_first = loop.results[0].inputs["Cars"].n_tuples
    assert [names for _, names in sorted(found.items())] == [["one"]] * n_first + [["two"]] * (
        400 - n_first
    )
    assert loop.total("Parts", "n_tuples") == 1
    assert not (tmp_path / "out" / "stream=Parts").exists()


def test_the_first_batch_has_a_file_even_when_nothing_matches(make: Make, tmp_path: Path) -> None:
    nothing = parsed("none", "Select * From Cars Where speed < 0 and id > 0")
    loop = FixedLoop({"Cars": {"asc:Cars": selection([nothing], CARS)}})
    make(loop, [source(CARS, cars(), "Cars", None)], SinkSpec(str(tmp_path / "out"))).run()
    table = pyarrow.dataset.dataset(str(tmp_path / "out" / "stream=Cars")).to_table()
    assert len(table) == 0
    assert table.column_names == [*CARS.names, "query_ids"]
