"""Workload files: what they may say, and one sentence about each thing they may not."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.model.conditions import Comparison
from backend.model.knobs import KnobSpec
from backend.model.schema import Schema
from backend.workloads.spec import (
    SinkSpec,
    SourceSpec,
    WorkloadError,
    load_workload,
    shipped_workloads,
)

KNOBS = (
    KnobSpec("mu", "float", 0.1, "", "threshold", 0, 10),
    KnobSpec("trigger", "choice", "visits", "", "what", choices=("visits", "dropping ratio")),
)
CARS = """
[streams.Cars]
schema = "id int, speed double, plate string, day date"
source = { format = "memory", rows = [] }
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "my.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(folder: Path, text: str) -> str:
    path = write(folder, text)
    with pytest.raises(WorkloadError) as caught:
        load_workload(path, {}, KNOBS)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(str(path))


def test_everything_a_file_can_say(tmp_path: Path) -> None:
    (tmp_path / "cars.csv").write_text("id,speed\n1,2.5\n")
    text = """
name = "traffic"
[streams.Cars]
schema = "id int, speed double"
source = { format = "CSV", path = "cars.csv", header = true, maxFilesPerTrigger = 1, sep = "," }
timestamp = "ID"
rate = 20
[queries]
fast = "Select * From cars Where Speed > 30"
"an odd name!" = '''
Select *
From Cars'''
[knobs]
mu = 0.2
trigger = "visits"
[sink]
path = "out/matches"
format = "json"
"""
    workload = load_workload(write(tmp_path, text), {"mu": "0.5"}, KNOBS)
    assert (workload.name, workload.path) == ("traffic", tmp_path / "my.toml")
    (cars,) = workload.streams
    assert cars.schema == Schema.parse("id int, speed double")
    assert cars.source == SourceSpec(
        "csv",
        {
            "path": str(tmp_path / "cars.csv"),
            "header": "true",
            "maxFilesPerTrigger": "1",
            "sep": ",",
        },
    )
    assert (cars.timestamp, cars.rate) == ("id", 20.0)
    assert [q.name for q in workload.queries] == ["fast", "an odd name!"]
    assert workload.queries[0].condition == Comparison("speed", ">", 30.0)
    assert workload.queries[0].stream == "Cars"
    assert workload.knobs == {"mu": 0.5, "trigger": "visits"}
    assert workload.sink == SinkSpec(str(tmp_path / "out/matches"), "json")


def test_what_a_file_leaves_out(tmp_path: Path) -> None:
    workload = load_workload(write(tmp_path, CARS))
    assert workload.name == "my"
    assert workload.queries == ()
    assert workload.knobs == {}
    assert workload.sink == SinkSpec(None, "parquet")
    (cars,) = workload.streams
    assert (cars.timestamp, cars.rate, cars.source.rows) == (None, None, ())
    assert workload.schemas == {"Cars": cars.schema}


def test_overrides_come_over_the_files_knobs_unchecked_when_no_knobs_are_known(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, CARS + "[knobs]\nmu = 0.2\nlambda_tuples = 5\n")
    assert load_workload(path, {"mu": "0.3"}).knobs == {"mu": "0.3", "lambda_tuples": 5}


def test_memory_rows_are_kept_as_written(tmp_path: Path) -> None:
    text = CARS.replace("rows = []", "rows = [[1, 2.5, {}, 2013-01-31], { id = 2 }]")
    (cars,) = load_workload(write(tmp_path, text)).streams
    assert cars.source.rows is not None
    assert len(cars.source.rows) == 2
    assert cars.source.rows[1] == {"id": 2}


def test_options_of_any_spark_source_become_strings(tmp_path: Path) -> None:
    text = """
[streams.K]
schema = "id int"
source = { format = "kafka", subscribe = "cars", "kafka.bootstrap.servers" = "h:9092", n = 1.5 }
"""
    (stream,) = load_workload(write(tmp_path, text)).streams
    assert stream.source.format == "kafka"
    assert stream.source.options == {
        "subscribe": "cars",
        "kafka.bootstrap.servers": "h:9092",
        "n": "1.5",
    }


@pytest.mark.parametrize("path", ["data/*.csv", "data", "data/a.csv", "file:///nowhere/x.csv"])
def test_paths_may_be_files_folders_globs_and_urls(tmp_path: Path, path: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("1\n2\n")
    text = f'[streams.A]\nschema = "id int"\nsource = {{ format = "csv", path = "{path}" }}\n'
    (stream,) = load_workload(write(tmp_path, text)).streams
    expected = path if "://" in path else str(tmp_path / path)
    assert stream.source.options["path"] == expected


def test_a_missing_unreadable_or_invalid_file(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="there is no such workload file"):
        load_workload(tmp_path / "none.toml")
    with pytest.raises(WorkloadError, match="cannot be read: Is a directory"):
        load_workload(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(WorkloadError, match="it is not UTF-8 text"):
        load_workload(tmp_path / "latin.toml")
    assert refused(tmp_path, "[streams") == (
        ": this is not valid TOML: expected ']' at the end of a table declaration"
    )
    assert ", line 2: this is not valid TOML:" in refused(tmp_path, "a = 1\nb = = 2\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CARS + CARS, ", line 6: two streams are called 'Cars'"),
        (CARS + CARS.replace("Cars", "cars"), "'Cars' and 'cars', which differ only by case"),
        (CARS + '[queries]\nq = "x"\nq = "y"\n', ", line 7: a name is given twice in the same"),
        (CARS + "[knobs]\n[knobs]\n", ", line 6: the table [knobs] is written twice"),
        ("", "there is no [streams.NAME] table; a workload needs a stream"),
        ("streams = 5", "streams must be a table, not an integer"),
        ("[streams]\nCars = 5", "[streams] Cars must be a table [streams.Cars], not an integer"),
        (CARS + "[querys]\n", "has an unknown table or key 'querys'; did you mean 'queries'?"),
        (CARS + "[zzz]\n", "allowed: name, about, durable, functions, streams, relations,"),
        (CARS + "rates = 5", "[streams.Cars] has an unknown key 'rates'; did you mean 'rate'?"),
    ],
)
def test_the_frame_of_a_file(tmp_path: Path, text: str, message: str) -> None:
    assert message in refused(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("id int", "id integr", "schema: attribute 'id' has unknown type 'integr'; allowed: big"),
        ("id int", "id int, ID int", "schema: attribute 'ID' appears twice"),
        ('schema = "id int, speed double, plate string, day date"', "", "has no schema; write sch"),
        ('"id int, speed double, plate string, day date"', "5", "schema must be a string, not an"),
        ('source = { format = "memory", rows = [] }', "", "has no source; write source = {"),
        ('{ format = "memory", rows = [] }', '"csv"', "source must be a table, not a string"),
        ('format = "memory", ', "", "source has no format; write format"),
        ('"memory", rows = []', '"memory"', "source needs rows = [[…], …]"),
        ("rows = []", "rows = [5]", "rows: tuple 1 must be a list or a table, not an integer"),
        ("rows = []", "rows = [], path = 'x'", "source has an unknown key 'path'; allowed: format"),
        ('"memory", rows = []', '"csv"', 'source has no path; write path = "file-or-folder"'),
        ('"memory", rows = []', '"csv", path = 5', "path must be a string, not an integer"),
        ('"memory", rows = []', '"csv", path = "no.csv"', "source path: there is no file"),
        ('"memory", rows = []', '"csv", path = "no*.csv"', "source path: there is no file"),
        ('"memory", rows = []', '"flights"', "schema: flights has no column 'id'"),
        ('"memory", rows = []', '"drift", phases = []', "phases must be a list of tables"),
        ('"memory", rows = []', '"drift", seed = -1', "seed must be a whole number of 0 or more"),
        ("[streams", 'rate = "5"\n[streams', "has an unknown table or key 'rate'"),
    ],
)
def test_the_stream_tables(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in CARS
    assert message in refused(tmp_path, CARS.replace(old, new))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("timestamp = 'sped'", "timestamp: the schema has no column 'sped'; did you mean 'speed'?"),
        ("timestamp = 'xyz'", "no column 'xyz'; it has id, speed, plate and day"),
        ("timestamp = 'plate'", "'plate' is a string column; it must be int, bigint, date or time"),
        ("timestamp = ''", "timestamp is empty"),
        ("rate = '5'", "rate must be a number of tuples per second, not a string"),
        ("rate = true", "rate must be a number of tuples per second, not true or false"),
        ("rate = -1", "rate = -1 is not allowed; 0 (as fast as possible) or more"),
        ("rate = inf", "rate = inf is not allowed"),
        ("rate = 2013-01-01", "not a date or time"),
        (
            "[queries]\nq = 5",
            "[queries] query 'q' must be CQL text in a string, or { text, system }",
        ),
        ("[queries]\nq = { text = 5 }", "query 'q' must be CQL text in a string, or"),
        (
            "[queries]\nq = { system = 'asc' }",
            "query 'q' has no text; its keys are text and system",
        ),
        ("[queries]\nq = { text = 'x', at = '' }", "query 'q' has at; its keys are text and"),
        ("[queries]\n'' = 'x'", "[queries] query '' is empty"),
        ("[knobs]\nmuu = 1", "[knobs] has an unknown knob 'muu'; did you mean 'mu'?"),
        ("[knobs]\n'x/mux' = 1", "unknown knob 'x/mux'; did you mean 'mu'?"),
        ("[knobs]\nzzzz = 1", "[knobs] has an unknown knob 'zzzz'; knobs are mu and trigger"),
        ("[knobs]\nmu = 1" + "0" * 400, "0000… refused: allowed 0..10"),
        ("rate = 1" + "0" * 400, "0 is not allowed; 0 (as fast as possible) or more"),
        ("[knobs]\nmu = 11", "[knobs] mu = 11 refused: allowed 0..10"),
        ("[knobs]\nmu = [1]", "[knobs] mu must be a number, a word or true/false, not a list"),
        ("[sink]\nformat = 'parket'", "format 'parket' is unknown; did you mean 'parquet'?"),
        (
            "[sink]\nfolder = 'x'",
            "[sink] has an unknown key 'folder'; allowed: path, format, compact and accuracy",
        ),
        ("[sink]\ncompact = 'no'", "[sink] compact must be true or false, not a string"),
        ("[sink]\naccuracy = 1", "[sink] accuracy must be true or false, not an integer"),
    ],
)
def test_the_other_tables(tmp_path: Path, line: str, message: str) -> None:
    assert message in refused(tmp_path, CARS + line)


@pytest.mark.parametrize("name", ["../evil", "a/b", "c:\\\\d", "..", ". .", "x" * 101, "a\\u0000b"])
@pytest.mark.parametrize(
    "text",
    [
        'name = "NAME"' + CARS,
        CARS + '[queries]\n"NAME" = "Select * From Cars"',
        CARS.replace("streams.Cars", 'streams."NAME"'),
    ],
    ids=["workload", "query", "stream"],
)
def test_a_name_is_no_path(tmp_path: Path, text: str, name: str) -> None:
    said = refused(tmp_path, text.replace("NAME", name))
    assert re.search(r"(name|query|stream) '.*' (is a path|is longer|holds a character)", said)


@pytest.mark.parametrize("name", ["_arrival", "_corrupt_record", "query_ids", "Query_IDs", "_r1"])
def test_columns_of_the_system_are_no_attributes(tmp_path: Path, name: str) -> None:
    said = refused(tmp_path, CARS.replace("speed double", f"{name} double"))
    assert said.startswith(f": [streams.Cars] schema: {name!r} is reserved; ")


@pytest.mark.parametrize("nots", [400, 100_000])
def test_a_query_nested_too_deeply_is_refused_with_its_place(tmp_path: Path, nots: int) -> None:
    query = "Select * From Cars Where " + "not " * nots + "id = 1"
    said = refused(tmp_path, CARS + f"[queries]\nq = '{query}'")
    assert re.fullmatch(r": query 'q', line 1, column 8\d\d: nested deeper than 200 levels", said)


def test_a_list_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    assert "nested too deeply" in refused(tmp_path, "x = " + "[" * 5000 + "]" * 5000)


def test_a_refused_query_is_named_with_the_place_in_its_text(tmp_path: Path) -> None:
    message = refused(
        tmp_path, CARS + "[queries]\n'my q' = '''\nSelect * From Cars\nWhere sped > 5'''\n"
    )
    assert message == (
        ": query 'my q', line 2, column 7: unknown attribute 'sped'; did you mean 'speed'?"
    )


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("id,sped", "has no column 'speed'; its header reads id, sped"),
        ("id;speed", "has no column 'id'"),
    ],
)
def test_a_csv_header_must_fit_the_schema(tmp_path: Path, header: str, message: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "_SUCCESS").touch()
    (tmp_path / "data" / "cars.csv").write_text(f"{header}\n1,2\n")
    text = """
[streams.Cars]
schema = "id int, speed double"
source = { format = "csv", path = "data", header = true }
"""
    assert message in refused(tmp_path, text)
    load_workload(write(tmp_path, text.replace("header = true", "header = false")))


def test_columns_of_files_are_found_by_name_and_a_header_is_no_tuple(tmp_path: Path) -> None:
    (tmp_path / "cars.csv").write_text("x,Speed,ID\n1,2,3\n")
    text = """
[streams.Cars]
schema = "id int, speed double"
source = { format = "csv", path = "cars.csv", header = true }
"""
    assert load_workload(write(tmp_path, text)).streams
    by_position = text.replace("header = true", 'header = true, comment = "#"')
    assert load_workload(write(tmp_path, by_position)).streams
    by_position = text.replace("header = true", "header = true, ignoreLeadingWhiteSpace = true")
    assert "has 3 columns and the schema 2" in refused(tmp_path, by_position)
    (tmp_path / "cars.csv").write_text("speed,id\n1,2\n")
    message = "has the schema's columns in another order; its header reads speed, id"
    assert message in refused(tmp_path, by_position)
    (tmp_path / "cars.csv").write_text("id,speed\n1,2\n")
    headless = text.replace("header = true", "header = false")
    assert "cars.csv begins with a header; write header = true" in refused(tmp_path, headless)


def test_a_parquet_file_has_the_columns_of_the_schema(tmp_path: Path) -> None:
    pq.write_table(pa.table({"ID": [1], "sped": [2.0]}), tmp_path / "cars.parquet")
    text = """
[streams.Cars]
schema = "id int, speed double"
source = { format = "parquet", path = "cars.parquet" }
"""
    message = refused(tmp_path, text)
    assert "has no column 'speed'; it has ID, sped; did you mean 'sped'?" in message


def test_a_csv_header_that_fits(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "cars.csv.gz", "wt") as file:
        file.write("ID;'a b'\n")
    text = """
[streams.Cars]
schema = "id int, ab double"
source = { format = "csv", path = "*.gz", header = "true", sep = ";", quote = "'" }
"""
    assert "has no column 'ab'; its header reads ID, a b" in refused(tmp_path, text)
    with gzip.open(tmp_path / "cars.csv.gz", "wt") as file:
        file.write("ID;'ab'\n")
    assert load_workload(write(tmp_path, text)).streams


def test_built_in_streams_may_leave_out_or_narrow_their_schema(tmp_path: Path) -> None:
    text = '[streams.F]\nsource = { format = "flights" }\n'
    (stream,) = load_workload(write(tmp_path, text)).streams
    assert len(stream.schema.attributes) == 25
    text += 'schema = "origin string, dep_delay int"\n'
    (stream,) = load_workload(write(tmp_path, text)).streams
    assert stream.schema.names == ("origin", "dep_delay")
    message = refused(tmp_path, text.replace("dep_delay int", "dep_delay bigint"))
    assert "schema: 'dep_delay' must read 'dep_delay int'" in message


def test_the_shipped_workloads_load() -> None:
    shipped = shipped_workloads()
    n_queries = {
        **{"amri": 4, "cals": 5, "drift": 50, "flights": 50},
        "joins": 2,
        "kmon": 4,
        "linear_road": 10,
        "mixed": 26,
        **{"recurring": 22, "sensors": 3, "stream": 11, "temporal": 7},
    }
    n_streams = {"amri": 6, "joins": 6, "kmon": 5, "mixed": 3, "packets": 2, "recurring": 6}
    n_streams |= {"cals": 4, "sensors": 4, "stream": 2, "temporal": 3}
    assert {*n_queries, *n_streams, "correlated", "flight_filters"} == set(shipped)
    for name, path in shipped.items():
        workload = load_workload(path)
        assert len(workload.queries) == n_queries.get(name, 1)
        assert len(workload.streams) == n_streams.get(name, 1)
        assert len({s.tick_us for s in workload.streams if s.timestamp}) <= 1, "several: refused"


@pytest.mark.parametrize("number", ["9" * 5000, "1_0" * 3000])
def test_a_number_that_is_too_long_is_refused_by_its_place(tmp_path: Path, number: str) -> None:
    text = f"# {'1' * 5000}\nname = '{'2' * 6000}'\nrows = [[1,\n  {number}]]\n"
    message = refused(tmp_path, text + CARS)
    said = f", line 4: the whole number at column 3 has {len(number)} digits"
    assert message == f"{said}; whole numbers have at most 19"


def test_files_are_taken_again_where_we_read_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    text = "[streams.S]\nschema = 'id int'\nsource = {{ format = 'csv', path = 'a.csv', {} }}\n"
    (one,) = load_workload(write(tmp_path, text.format("header = true, retake = true"))).streams
    assert one.source.options["retake"] == "true"
    assert "retake must be true or false" in refused(tmp_path, text.format("retake = 'yes'"))
    by_spark = refused(tmp_path, text.format("retake = true, comment = '#'"))
    assert "retake needs files that are not read by Spark; leave it out" in by_spark
