"""A shard's step: where its state comes from, what it refuses, what it tells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from lark import Token
from pyspark import cloudpickle

from backend.cql.nodes import At
from backend.hosts.networks import AHEAD_OF_SOME, rooms
from backend.model.functions import Function, Functions, Parameter
from backend.model.schema import Attribute, Schema
from backend.operators.contract import UnitResult
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer, ShardGroup
from backend.operators.network.core.reports import (
    AnswerElement,
    ClockReport,
    NetworkReport,
    OperatorCounts,
    QueueCurve,
)
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.aggregate import AggregateCall, AggregateOp
from backend.operators.network.kinds.distinct import DistinctOp
from backend.operators.network.kinds.inputs import RelationInput, StreamInput
from backend.operators.network.kinds.select_project import ProjectOp
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.shards import homes
from backend.operators.network.shards.clocks import Released
from backend.operators.network.shards.homes import Done, MemoryShard
from backend.operators.network.shards.redo_files import ipc, timed_of, with_times
from backend.operators.network.shards.redo_log import RedoSegment, StateDamaged, StateLost
from backend.operators.network.shards.shard import (
    NetworkTask,
    Places,
    ReshardingRefused,
    run_shard,
)
from backend.operators.network.shards.shard_reports import (
    RECENT_ELEMENTS,
    MergedShards,
    ShardReport,
    merged_network,
)
from backend.operators.network.shards.timed import Arrived, Timed
from tests.network_toys import make, sums_job


def tuples(batch: int, n: int = 20) -> dict[str, list[Arrived]]:
    first = batch * n
    numbers = np.arange(first, first + n)
    keys = [f"k{k % 3}" for k in numbers]
    table = pa.table({"at": numbers, "key": keys, "value": numbers % 5})
    return {"S": [Arrived(table, numbers)]}


class Run:
    """One shard over batches. incarnation: of its arenas."""

    def __init__(self, folder: Path, job: NetworkJob) -> None:
        self.folder, self.job, self.incarnation = folder, job, 0

    def step(self, batch: int) -> ShardReport:
        places = Places(str(self.folder / "state"), str(self.folder / f"a{self.incarnation}"))
        version = places.log_of("u").keep_job(self.job)
        task = NetworkTask("u", batch, self.job, version, frozenset(), "", "parquet", make)
        home = places.shard("u", 0, self.job.n_shards)
        return run_shard(task, 0, home, tuples(batch), frozenset())

    @property
    def log(self) -> Path:
        return self.folder / "state" / "u"


def how(report: ShardReport) -> str:
    (found,) = report.network.attached
    return found


def test_where_the_state_comes_from(tmp_path: Path) -> None:
    run = Run(tmp_path, sums_job(("S", True)))
    assert [how(run.step(batch)) for batch in range(3)] == ["new", "arena", "arena"]
    again = run.step(2)
    assert how(again) == "rebuilt"
    run.incarnation = 1
    assert how(run.step(3)) == "rebuilt"
    assert how(run.step(4)) == "arena"
    run.incarnation = 0
    assert how(run.step(5)) == "caught up"


def test_times_that_a_log_gives_back_can_be_written_to() -> None:
    """As those of a batch that has just come: kernels would be compiled anew for others."""
    tuples = pa.table({"a": [1, 2]})
    times = np.array([3, 4])
    again = timed_of(ipc(with_times(Timed(tuples, times, times))).to_pybytes())
    assert again.tuples.equals(tuples)
    assert [again.tau.tolist(), again.arrivals.tolist()] == [[3, 4], [3, 4]]
    assert again.tau.flags.writeable
    assert again.arrivals.flags.writeable


def test_images_make_old_segments_needless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes, "IMAGE_EVERY", 4)
    run = Run(tmp_path, sums_job(("S", True)))
    told = [run.step(batch).network.recent["S"][-1] for batch in range(14)]
    images = sorted(int(path.name) for path in (run.log / "images" / "0").iterdir())
    segments = sorted(int(path.name) for path in (run.log / "segments").iterdir())
    assert len(images) == 2
    assert segments == list(range(images[0] + 1, 14))
    assert len(list((run.log / "inputs").iterdir())) == 2
    run.incarnation = 1
    assert how(again := run.step(13)) == "rebuilt"
    assert again.network.recent["S"][-1] == told[13]


def test_jobs_that_nothing_names_any_more_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(homes, "IMAGE_EVERY", 3)
    jobs = [sums_job(("S", True)), sums_job(("S", True), ("S", False)), sums_job(("S", False))]
    run = Run(tmp_path, jobs[0])
    for batch in range(9):
        run.job = jobs[batch // 3]
        run.step(batch)
        run.incarnation += batch % 2  # also from the log
        assert len(list((run.log / "jobs").iterdir())) <= batch // 3 + 1
    for batch in range(9, 15):
        report = run.step(batch)
    assert len(list((run.log / "jobs").iterdir())) == 1
    run.incarnation += 1
    assert run.step(14).network.recent == report.network.recent


def test_relations_are_kept_once_and_functions_in_whatever_way_the_host_can(
    tmp_path: Path,
) -> None:
    relation = pa.table({"id": [1, 2, 3], "name": ["a", "b", None]})
    base = replace(sums_job(("S", True)), relations={"R": relation})
    short = Function("short", (Parameter("name", "string"),), lambda name: len(name) < 2)
    log = Places(str(tmp_path), "").log_of("u")
    with pytest.raises(Exception, match="lambda"):
        log.keep_job(replace(base, functions=Functions({"short": short})))
    jobs = [base, replace(base, n_shards=2), replace(base, functions=Functions({"short": short}))]
    versions = [log.keep_job(job, cloudpickle.dumps) for job in jobs]
    assert len(set(versions)) == 3
    assert log.keep_job(base, cloudpickle.dumps) == versions[0]
    assert len(list((tmp_path / "u" / "relations").iterdir())) == 1
    found = [Places(str(tmp_path), "").log_of("u").job(version) for version in versions]
    assert found[:2] == jobs[:2]
    assert found[2].functions.functions["short"].call("x")
    other = pa.table({"id": [4]})
    assert log.keep_job(replace(base, relations={"R": other}), cloudpickle.dumps) not in versions


def test_a_state_that_cannot_be_rebuilt_is_said_to_be_lost(tmp_path: Path) -> None:
    run = Run(tmp_path, sums_job(("S", True)))
    for batch in range(4):
        run.step(batch)
    (run.log / "segments" / "00000001").unlink()
    run.incarnation = 1
    with pytest.raises(
        StateLost, match=r"no image of shard 0 .* to go with its segments 2 to 3, .* --fresh"
    ):
        run.step(4)


def test_an_older_image_takes_the_place_of_a_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(homes, "IMAGE_EVERY", 4)
    run = Run(tmp_path, sums_job(("S", True)))
    told = [run.step(batch).network.recent["S"][-1] for batch in range(14)]
    images = sorted((run.log / "images" / "0").iterdir())
    assert len(images) == 2
    for keep in (20, 0):  # cut off in the midst, and nothing left of it
        with images[-1].open("r+b") as file:
            file.truncate(keep)
        run.incarnation += 1
        again = run.step(13)
        assert (how(again), again.network.recent["S"][-1]) == ("rebuilt", told[13])
        assert not images[-1].exists()
        images[-1].touch()


@pytest.mark.parametrize("folder", ["segments", "inputs", "jobs"])
def test_a_damaged_file_is_named_with_what_can_be_done(tmp_path: Path, folder: str) -> None:
    run = Run(tmp_path, sums_job(("S", True)))
    for batch in range(3):
        run.step(batch)
    run.incarnation = 1
    # a job that is at work is not read again
    job, run.job = run.job, sums_job(("S", True), ("T", True))
    path = max((run.log / folder).iterdir())
    whole = path.read_bytes()
    for damaged in (whole[:-9], whole[:30], b"", whole[:8] + b"?" + whole[9:]):
        path.write_bytes(damaged)
        said = rf"the state file {path} is damaged \(.+\): put the folder back .* --fresh"
        with pytest.raises(StateDamaged, match=said):
            run.step(3)
    path.write_bytes(whole)
    run.job = job
    assert how(run.step(3)) == "rebuilt"


def test_another_number_of_shards_is_refused(tmp_path: Path) -> None:
    run = Run(tmp_path, sums_job(("S", True), n_shards=2))
    run.step(0)
    run.job = replace(run.job, n_shards=3)
    with pytest.raises(ReshardingRefused, match=r"shards = 3 is refused: .* laid out for 2"):
        run.step(1)
    run.job = replace(run.job, n_shards=2)
    assert how(run.step(1)) == "rebuilt"


def test_a_unit_that_was_away_begins_anew(tmp_path: Path) -> None:
    run = Run(tmp_path, sums_job(("S", True)))
    run.step(0)
    assert how(run.step(2)) == "new"
    assert how(run.step(3)) == "arena"
    run.incarnation = 1
    assert how(run.step(4)) == "rebuilt"
    memory = MemoryShard(lambda version: run.job)
    task = NetworkTask("u", 0, run.job, "v", frozenset(), "", "parquet", make)
    for batch, expected in ((0, "new"), (1, "arena"), (3, "new")):
        found = run_shard(replace(task, batch_id=batch), 0, memory, tuples(batch), frozenset())
        assert how(found) == expected


def test_a_unit_that_began_anew_is_rebuilt_from_there_alone(tmp_path: Path) -> None:
    """Of its former life the log may hold a segment more than batches that count."""
    run, alone = (Run(tmp_path / name, sums_job(("S", True))) for name in ("run", "alone"))
    for batch in range(5):
        run.step(batch)
    (run.log / "inputs" / "00000004").unlink()  # killed between the two files of batch 4
    run.incarnation = 1
    assert how(run.step(5)) == how(alone.step(5)) == "new"
    assert run.step(6).network.recent == alone.step(6).network.recent
    run.incarnation = 2
    again = run.step(7)
    assert how(again) == "rebuilt"
    assert again.network.recent == alone.step(7).network.recent


def test_large_states_are_written_out_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(homes, "IMAGE_EVERY", 2)

    def written(unit: str, n_tuples: int, n_made: int = 0) -> list[int]:
        """The batches after which the state was written out."""
        home = Places(str(tmp_path / "state"), str(tmp_path / "arenas")).shard(unit, 0, 1)
        found = []
        for batch in range(13):
            with home.attached(batch, lambda *replayed: 0) as state:
                segment = RedoSegment("v", Released({}, {}), state.how == "new")
                home.done(batch, Done(segment, state.inputs, n_tuples, n_made))
            image = tmp_path / "state" / unit / "images" / "0" / f"{batch:08d}"
            found += [batch] if image.exists() else []
        return found

    assert written("small", homes.IMAGE_TUPLES - 1) == [1, 3, 5, 7, 9, 11]
    assert written("large", 2 * homes.IMAGE_TUPLES) == [5, 11]
    made = homes.MADE_PER_TUPLE * homes.LOGGED_TUPLES // 3
    assert written("fanning", 2 * homes.IMAGE_TUPLES, made + 1) == [2, 5, 8, 11]


def test_stored_relations_are_spread_by_key_and_read_once() -> None:
    name = (Attribute("name", "string"),)
    relation = pa.table({"id": [1, 2, 3, 4], "name": ["a", "b", "c", None]})
    operators = (
        PlannedOperator("R", RelationInput("R", (1,)), (), name),
        PlannedOperator("same", DistinctOp(), ("R",), name),
    )
    groups = (ShardGroup(("R", "same"), {"R": 0}, "by name"),)
    plan = NetworkPlan(operators, {"q": PlannedAnswer("same", False)}, groups)
    schema = Schema.parse("at bigint, key string, value bigint")
    base = sums_job(("S", True), n_shards=2)
    job = replace(base, plan=plan, schemas={"S": schema}, relations={"R": relation})

    found = []
    for shard in range(2):
        home = MemoryShard(lambda version: job)
        for batch in range(2):
            task = NetworkTask("u", batch, job, "v", frozenset(), "", "parquet")
            report = run_shard(task, shard, home, tuples(batch), frozenset())
            found += [one.values["name"] for one in report.network.recent.get("q", ())]
    assert len(found) == 4
    assert set(found) == {None, "a", "b", "c"}


def test_reports_of_shards_add_up() -> None:
    def report(shift: int) -> NetworkReport:
        elements = tuple(AnswerElement({"a": k}, 2 * k + shift, 1) for k in range(RECENT_ELEMENTS))
        curve = QueueCurve(np.array([1 + shift, 5]), np.array([3, 1]), 3, 7, 17)
        return NetworkReport(
            heartbeat=9,
            operators={"o": OperatorCounts(1, 2, 3, 4, 5, 6, {"probes": 1.5})},
            queues={"a>b.0": curve},
            answers={"q": 2},
            net={"q": -1},
            recent={"q": elements},
            attached={"arena": 1},
            state_bytes=10,
        )

    both = merged_network([report(0), report(1)])
    assert both.operators["o"] == OperatorCounts(2, 4, 6, 8, 10, 12, {"probes": 3.0})
    curve = both.queues["a>b.0"]
    assert curve.times.tolist() == [1, 2, 5]
    assert curve.tuples.tolist() == [3, 6, 2]
    assert (curve.high, curve.n_passed, curve.n_bytes) == (6, 14, 17)
    assert (both.answers, both.net, both.attached) == ({"q": 4}, {"q": -2}, {"arena": 2})
    assert both.state_bytes == 20
    taus = [one.tau for one in both.recent["q"]]
    assert taus == list(range(RECENT_ELEMENTS, 2 * RECENT_ELEMENTS))


def test_streams_ahead_of_others_have_less_room() -> None:
    def unit(pending: dict[str, int], **slowest: str) -> MergedShards:
        clocks = {frozenset(one): ClockReport(0, 9, frozenset(s)) for one, s in slowest.items()}
        report = NetworkReport(pending=pending, clocks=clocks)
        return MergedShards(UnitResult(0, 0, {}, report), {}, {})

    one = unit({"S": 5_000, "T": 30_000, "U": 10}, STU="U")
    other = unit({"S": 12_000, "V": 1}, SV="V")
    assert rooms({"one": one}) == {"S": 15_000, "T": 0}
    assert rooms({"one": one, "other": other}) == {"S": 8_000, "T": 0}
    assert rooms({"alone": unit({"S": 50_000}, S="S")}) == {}
    both = unit({"S": 30_000, "T": 5_000}, S="S", ST="T")
    assert rooms({"both": both}) == {"S": AHEAD_OF_SOME - 30_000}


def test_a_query_that_was_away_begins_with_empty_windows() -> None:
    """Also when nothing that keeps tuples ran meanwhile."""
    value, key = (Attribute("value", "bigint"),), (Attribute("key", "string"),)
    count = AggregateCall("count", None, False, "bigint")
    windowed = (
        PlannedOperator("v", StreamInput("S", (2,)), (), value),
        PlannedOperator("window", WindowOp("rows", 1000), ("v",), value, True),
        PlannedOperator("n", AggregateOp((), (count,)), ("window",), (Attribute("n", "bigint"),)),
    )
    other = (
        PlannedOperator("k", StreamInput("S", (1,)), (), key),
        PlannedOperator("now", ProjectOp((At(Token("NAME", "k"), 0, "string"),)), ("k",), key),
    )
    base = sums_job(("S", True), disorder=0)

    def job(*queries: str) -> NetworkJob:
        operators = tuple(one for q in queries for one in (windowed if q == "n" else other))
        answers = {q: PlannedAnswer(q, False) for q in queries}
        groups = (ShardGroup(tuple(one.id for one in operators), {}, "one shard"),)
        return replace(base, plan=NetworkPlan(operators, answers, groups))

    jobs = [job("n", "now"), job("now"), job("now", "n")]
    memory, counts = MemoryShard(lambda version: jobs[int(version)]), []
    for batch, asked in enumerate(jobs):
        task = NetworkTask("u", batch, asked, str(batch), frozenset(), "", "parquet")
        report = run_shard(task, 0, memory, tuples(batch), frozenset())
        counts += [one.values["n"] for one in report.network.recent.get("n", ())][-1:]
    assert counts == [19, 20]  # a batch's last tuple waits for the next
