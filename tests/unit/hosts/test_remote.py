"""Workers on other machines: what must lie where they see it, and what travels to them."""

from __future__ import annotations

import os
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from backend.hosts.spark.run.tasks import here
from backend.hosts.spark.session.remote import is_remote
from backend.hosts.spark.session.shipping import (
    PYTHON,
    ROOT,
    shipped,
    workers_environment,
    workers_python,
)
from backend.hosts.spark.start.places import check_places, why_lost
from backend.launch.cli import main
from backend.model.schema import Schema
from backend.operators.network.shards.shard import Places
from backend.systems.contract import Refused
from backend.workloads.spec import (
    SinkSpec,
    SourceSpec,
    StreamSpec,
    Workload,
    WorkloadError,
    load_workload,
)
from storage.vocabulary.records import Run

MASTER = "spark://there:7077"
SHARED = Path("/mnt/planwatch")


def of(source: SourceSpec, sink: str | None = None, rate: float | None = None) -> Workload:
    stream = StreamSpec("S", Schema.parse("a int"), source, rate=rate)
    return Workload("w", Path("w.toml"), (stream,), (), {}, SinkSpec(sink))


MEMORY = of(SourceSpec("memory", {}, rows=()))


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("none", False),
        ("local", False),
        ("local[*]", False),
        ("local[2,4]", False),
        ("spark://a:7077,b:7077", True),
        ("yarn", True),
        ("k8s://https://a:443", True),
    ],
)
def test_masters_of_other_machines_are_told_from_local_ones(master: str, expected: bool) -> None:
    assert is_remote(master) == expected


@pytest.mark.parametrize(
    "workload",
    [
        MEMORY,
        replace(MEMORY, sink=SinkSpec("/mnt/planwatch/out")),
        replace(MEMORY, sink=SinkSpec("s3a://bucket/out")),
        of(SourceSpec("csv", {"path": "/data/a.csv"})),  # read by the driver
        of(SourceSpec("orc", {"path": "/mnt/planwatch/in"})),
        of(SourceSpec("orc", {"path": "file:///mnt/planwatch/in"})),
        of(SourceSpec("orc", {"path": "/data/in"}), rate=5.0),  # read at once, by the driver
        of(SourceSpec("orc", {"path": "hdfs://there/in"})),
    ],
)
def test_what_workers_can_see_is_accepted(workload: Workload) -> None:
    check_places(MASTER, workload, SHARED)


def test_on_this_machine_everything_is_seen() -> None:
    check_places("local[2]", of(SourceSpec("orc", {"path": "/data/in"}), "/data/out"), None)


@pytest.mark.parametrize(
    ("workload", "shared", "words"),
    [
        (MEMORY, None, "--master: the workers of spark://there:7077 may be on other machines"),
        (of(MEMORY.streams[0].source, "/data/out"), SHARED, "[sink] path: /data/out is on this"),
        (of(MEMORY.streams[0].source, "/mnt/planwatch/../out"), SHARED, "[sink] path"),
        (of(MEMORY.streams[0].source, "file:///data/out"), SHARED, "[sink] path"),
        (of(SourceSpec("orc", {"path": "/data/in"})), SHARED, "[streams.S] path: /data/in"),
    ],
)
def test_what_workers_cannot_see_is_refused(
    workload: Workload, shared: Path | None, words: str
) -> None:
    with pytest.raises(WorkloadError) as caught:
        check_places(MASTER, workload, shared)
    assert words in str(caught.value)
    assert "--shared" in str(caught.value)


def test_the_command_says_it_before_spark_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["packets", "--master", MASTER, "--store", "/nowhere/s.db"]) == 2
    assert "with --shared FOLDER" in capsys.readouterr().err


def test_the_example_of_the_page_is_accepted(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    path = tmp_path / "orders.toml"
    path.write_text(page.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    workload = load_workload(path)
    assert [query.name for query in workload.queries] == ["dear", "by_item"]
    check_places(MASTER, workload, SHARED)


@pytest.mark.parametrize(
    ("master", "asked", "expected"),
    [
        ("local[2]", {PYTHON: "/there/python"}, sys.executable),
        (MASTER, {}, f"python{sys.version_info.major}.{sys.version_info.minor}"),
        (MASTER, {PYTHON: "/there/python"}, "/there/python"),
    ],
)
def test_workers_run_a_python_of_our_version_or_the_one_asked_for(
    master: str, asked: Mapping[str, str], expected: str
) -> None:
    assert workers_python(master, asked) == expected


def test_code_travels_with_its_times_beside_archives_that_were_asked_for(tmp_path: Path) -> None:
    asked = {PYTHON: "/there/python", "spark.archives": "mine.zip#mine"}
    settings = shipped(MASTER, asked, tmp_path)
    mine, code = settings["spark.archives"].split(",")
    assert mine == "mine.zip#mine"
    archive, _, folder = code.partition("#")
    assert folder == "planwatch-code"
    with tarfile.open(archive) as found:
        times = {one.name: one.mtime for one in found.getmembers()}
    own = "backend/hosts/spark/run/tasks.py"
    # numba knows what it compiled by the time of its source
    assert times[own] == os.stat(ROOT / own).st_mtime
    assert "storage/vocabulary/records.py" in times
    assert "backend/cql/grammar.lark" in times
    assert shipped("local[2]", asked, tmp_path) == {}


@pytest.mark.parametrize(
    ("master", "path"),
    [("local[2]", str(ROOT)), (MASTER, "planwatch-code:planwatch-packages")],
)
def test_workers_find_the_code(master: str, path: str) -> None:
    told = {"spark.executorEnv.PYTHONPATH": path, "spark.executorEnv.TZ": "UTC"}
    assert workers_environment(master) == told


def test_arenas_are_in_the_folder_of_the_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/own/blockmgr-1,/own/blockmgr-2")
    places = Places("/mnt/state", "planwatch-arenas/run")
    assert here(places).arenas == "/own/blockmgr-1/planwatch-arenas/run"
    assert here(replace(places, arenas="/tmp/run")).arenas == "/tmp/run"


def test_what_keeps_a_run_from_going_on_is_said(tmp_path: Path) -> None:
    runs, elsewhere = tmp_path / "runs", tmp_path / "elsewhere"
    settings = {"master": "local[2]", "runs": str(runs)}
    run = Run("r1", "w", "ended", 1.0, settings, 1, "host", "0.1")
    assert why_lost(run, runs / "r1") == f"its folder {runs / 'r1'} is gone"
    (runs / "r1" / "spool").mkdir(parents=True)
    assert why_lost(run, runs / "r1") is None
    with pytest.raises(Refused, match=f"r1 of this workload is kept in {runs}; .* --fresh"):
        why_lost(run, elsewhere / "r1")
    (runs / "r1" / "spool" / f"S-{0:012d}.parquet").touch()
    assert why_lost(run, runs / "r1") == "its tuples were left by an older version"
    assert "without Spark" in str(why_lost(replace(run, settings={"master": "none"}), runs / "r1"))
