"""What a run left in several places: what kills leave goes on, everything else is refused."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from backend.engine.resume import OutOfStep, check_step
from backend.hosts.agreement import Mark, Upcoming, check_agreement, check_state, spark_upcoming
from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.hosts.publish import FolderSink, SinkAhead, newest_batch
from backend.hosts.spark.start.places import check_whole
from backend.model.schema import Schema
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer, ShardGroup
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.shards.shard import Places
from backend.operators.parts import sink_schema
from backend.systems.contract import Refused
from backend.workloads.replay import TAKEN
from backend.workloads.sources import MemorySource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from storage.reading.resume import LastState
from storage.vocabulary.records import Run
from tests.loops import FixedLoop

S = Schema.parse("a int")
MEMORY = StreamSpec("S", S, SourceSpec("memory"))
#: Newest batch of each: Spark's offsets and commits, the sink, the store, the mark in the spool.
Traces = tuple[int, int, int, int, int]
N = 3


def left_by_kills(traces: Traces = (-1, -1, -1, -1, -1), batch: int = 0) -> Iterator[Traces]:
    """All that a process may leave behind that is killed between two steps of a batch; one without
    matches publishes nothing."""
    _, committed, sink, stored, marked = traces
    yield traces
    if batch == N:
        return
    for sink_after in {sink, batch}:
        yield (batch, committed, sink, stored, marked)
        yield (batch, committed, sink_after, stored, marked)
        yield (batch, committed, sink_after, batch, marked)
        yield (batch, committed, sink_after, batch, batch)
        yield from left_by_kills((batch, batch, sink_after, batch, batch), batch + 1)


def laid_out(folder: Path, traces: Traces) -> LastState:
    """A folder of a run with its sink."""
    shutil.rmtree(folder, ignore_errors=True)
    planned, committed, sink, stored, marked = traces
    for name, newest in (("offsets", planned), ("commits", committed)):
        (folder / "checkpoint" / name).mkdir(parents=True)
        for batch in range(newest + 1):
            (folder / "checkpoint" / name / str(batch)).touch()
    (folder / "out" / "stream=S").mkdir(parents=True)
    for batch in range(sink + 1):
        (folder / "out" / "stream=S" / f"batch-{batch:08d}-00000.parquet").touch()
    (folder / "spool").mkdir()
    if marked >= 0:
        (folder / "spool" / TAKEN).write_text(
            f'{{"batch": {marked}, "networks": [], "through": {{}}}}'
        )
    run = Run("r1", "w", "interrupted", 1.0, {}, 1, "host", "0.1")
    return LastState(run, None if stored < 0 else stored, (), (), (), {}, ())


def test_what_kills_leave_goes_on_and_nothing_else(tmp_path: Path) -> None:
    legitimate = set(left_by_kills())
    assert len(legitimate) > 15
    wrong = []
    for planned, committed, *others in product(range(-1, N), repeat=5):
        sink, stored, marked = others
        traces = (planned, committed, sink, stored, marked)
        if committed > planned:
            continue  # commits without a plan are of no use to Spark
        # Spark looks at the newest plan alone, and whether it was committed
        as_spark = (planned, committed if committed == planned else planned - 1, *others)
        last = laid_out(tmp_path / "r", traces)
        try:
            check_whole(last, tmp_path / "r", str(tmp_path / "r" / "out"), (MEMORY,))
            is_accepted = True
        except Refused:
            is_accepted = False
        if is_accepted != (as_spark in legitimate):
            wrong.append((traces, is_accepted))
    assert wrong == []


@pytest.mark.parametrize(
    ("traces", "said"),
    [
        ((-1, -1, 5, 5, 5), "checkpoint has no batch, 6 batches behind the store, which ends with"),
        ((4, 4, 5, 5, 5), "checkpoint ends with batch 4, 1 batch behind the store, which ends wi"),
        ((5, 5, 5, 3, 5), "the store ends with batch 3, 2 batches behind the checkpoint"),
        ((5, 5, 9, 5, 5), "checkpoint ends with batch 5, 4 batches behind the sink"),
        ((5, 5, 5, 5, 2), "spool ends with batch 2, 3 batches behind the checkpoint"),
    ],
)
def test_which_is_behind_is_said_and_by_how_much(traces: Traces, said: str, tmp_path: Path) -> None:
    last = laid_out(tmp_path, traces)
    with pytest.raises(Refused) as refused:
        check_whole(last, tmp_path, str(tmp_path / "out"), ())
    assert said in str(refused.value)
    assert "nothing was changed; put back what was removed or replaced, or begin" in str(
        refused.value
    )


def test_all_commits_removed_is_the_batch_in_flight_again(tmp_path: Path) -> None:
    last = laid_out(tmp_path, (5, 5, 5, 5, 5))
    assert spark_upcoming(tmp_path / "checkpoint") == Upcoming(6, False)
    shutil.rmtree(tmp_path / "checkpoint" / "commits")
    assert spark_upcoming(tmp_path / "checkpoint") == Upcoming(5, True)
    check_whole(last, tmp_path, str(tmp_path / "out"), ())


def test_a_place_in_the_streams_that_is_not_known_is_refused(tmp_path: Path) -> None:
    last = laid_out(tmp_path, (1, 1, 1, 1, 1))
    files = StreamSpec("F", S, SourceSpec("csv", {"path": str(tmp_path)}))
    check_whole(last, tmp_path, None, (MEMORY, files))
    taken = tmp_path / "spool" / TAKEN
    taken.write_text(taken.read_text().replace("{}", '{"F": 7, "S": 3}'))
    with pytest.raises(Refused, match=r"not known without .*/files-F.jsonl; nothing was changed"):
        check_whole(last, tmp_path, None, (MEMORY, files))
    taken.unlink()
    with pytest.raises(Refused, match=f"not known without {re.escape(str(taken))}"):
        check_whole(last, tmp_path, None, (MEMORY, files))


def test_the_sink_is_asked_in_all_its_folders(tmp_path: Path) -> None:
    assert newest_batch(str(tmp_path / "none")) == -1
    (tmp_path / "query=q" / "_misfits").mkdir(parents=True)
    (tmp_path / "stream=S" / "_staging" / "90").mkdir(parents=True)
    (tmp_path / "stream=S" / "batches-00000002-00000007.parquet").touch()
    assert newest_batch(str(tmp_path)) == 7
    (tmp_path / "query=q" / "_misfits" / "batch-00000008-00001.json").touch()
    assert newest_batch(str(tmp_path)) == 8


def test_a_sink_replaces_no_batch_when_it_has_later_ones(tmp_path: Path) -> None:
    def sink() -> FolderSink:
        return FolderSink(str(tmp_path), "parquet", sink_schema(S))

    for batch in (3, 4):
        sink().publish(batch, ())
        (tmp_path / f"batch-{batch:08d}-00000.parquet").touch()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(SinkAhead, match="has batch 4, so batch 3 cannot be published there"):
        sink().publish(3, ())
    assert sorted(tmp_path.iterdir()) == before


def test_a_batch_follows_the_last_one_or_is_it_again() -> None:
    for batch in (7, 8):
        check_step(batch, 7)
    for batch in (0, 6, 9):
        with pytest.raises(OutOfStep, match=f"batch {batch} cannot follow batch 7"):
            check_step(batch, 7)


def network() -> NetworkJob:
    plan = NetworkPlan(
        (PlannedOperator("S", StreamInput("S", (0,)), (), S.attributes),),
        {"ids": PlannedAnswer("S", True)},
        (ShardGroup(("S",), {}, "no key"),),
    )
    return NetworkJob(plan, {"S": S}, {"S": StreamTime("a")})


def run_local(folder: Path, first: int, n_batches: int) -> None:
    """Batches of ten tuples on the host of this process."""
    source = MemorySource([[a] for a in range(10 * (first + n_batches))], S)
    loop = FixedLoop({}, networks=lambda batch_id: {"u": network()})
    inputs = [InputSource(MEMORY, source, 10 * first)]
    sink = SinkSpec(str(folder / "out"))
    LocalHost(loop, inputs, sink, 10, once=True, first_batch=first, folder=folder / "r").run()


def files(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_the_host_in_this_process_refuses_a_state_that_is_gone_and_an_older_batch(
    tmp_path: Path,
) -> None:
    run_local(tmp_path, 0, 3)
    whole = tmp_path / "whole"
    shutil.copytree(tmp_path / "r", whole / "r")
    shutil.copytree(tmp_path / "out", whole / "out")
    run_local(whole, 3, 2)
    before = files(tmp_path / "out")
    with pytest.raises(Refused, match="the store has no batch, 3 batches behind the folder"):
        run_local(tmp_path, 0, 5)
    shutil.rmtree(tmp_path / "r" / "state")
    with pytest.raises(Refused, match=r"the state of unit u in .*/state is missing, and the last"):
        run_local(tmp_path, 3, 2)
    shutil.copytree(whole / "r" / "state", tmp_path / "r" / "state")
    (tmp_path / "r" / "mark.json").unlink()
    with pytest.raises(Refused, match="r has no batch, 3 batches behind the store"):
        run_local(tmp_path, 3, 2)
    with pytest.raises(Refused, match=r"the store has no batch, 3 batches behind the sink"):
        run_local(tmp_path, 0, 5)
    assert files(tmp_path / "out") == before


def test_a_state_is_whole_when_it_can_be_rebuilt(tmp_path: Path) -> None:
    run_local(tmp_path, 0, 4)
    places, mark = Places(str(tmp_path / "r" / "state"), ""), Mark(3, ("u",))
    check_state("r", places, mark, Upcoming(4, False))
    log = tmp_path / "r" / "state" / "u"
    arrays = [("x", np.zeros(1))]
    places.log_of("u").write_image(0, 1, "v", arrays)
    (log / "segments" / "00000001").unlink()
    check_state("r", places, mark, Upcoming(4, False))
    (log / "segments" / "00000002").rename(tmp_path / "kept")
    with pytest.raises(Refused, match=r"has no image of shard 0 to go with its segments from 3"):
        check_state("r", places, mark, Upcoming(4, False))
    places.log_of("u").write_image(0, 2, "v", arrays)
    check_state("r", places, mark, Upcoming(4, False))
    (log / "inputs" / "00000003").unlink()
    with pytest.raises(Refused, match=r"ends with batch 2, and the last batch is 3"):
        check_state("r", places, mark, Upcoming(4, False))


def test_a_network_that_was_new_in_the_batch_in_flight_needs_none_before(tmp_path: Path) -> None:
    run_local(tmp_path, 0, 1)
    places = Places(str(tmp_path / "r" / "state"), "")
    state = tmp_path / "r" / "state" / "u"
    for folder in ("segments", "inputs"):
        (state / folder / "00000000").rename(state / folder / "00000005")
    check_state("r", places, Mark(5, ("u",)), Upcoming(5, True))
    with pytest.raises(Refused, match="ends with batch 5, and the last batch is 4"):
        check_state("r", places, Mark(4, ("u",)), Upcoming(5, True))


def test_places_that_agree_are_let_be(tmp_path: Path) -> None:
    check_agreement("r", "the checkpoint", Upcoming(3, True), {"the store": 3}, None)
