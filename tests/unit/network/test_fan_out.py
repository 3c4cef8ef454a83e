"""A join that comes to hundreds of times what came in: exact, in little memory and a short log."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from backend.model.schema import Attribute, Schema
from backend.operators import parts
from backend.operators.network.core.blocks import Block, concat, empty
from backend.operators.network.core.job import NetworkJob, Schedule, StreamTime
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer, ShardGroup
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.to_stream import ToStreamOp
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.relational import open_tick
from backend.operators.network.relational.netting import net
from backend.operators.network.shards import answers, homes
from backend.operators.network.shards.answers import Answer
from backend.operators.network.shards.shard import NetworkTask, Places, run_shard
from backend.operators.network.shards.shard_reports import ShardReport
from backend.operators.network.shards.timed import Arrived
from tests.oracles.network_operators import Element
from tests.unit.network.playing import FIELDS, block_of, elements_of, histories

COLUMNS = (Attribute("k", "bigint"), Attribute("v", "bigint"))
#: Ticks that a tuple is in its window after the one it came at.
SPAN = 150
TOGETHER = 1000


@pytest.fixture(autouse=True)
def _little(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (answers, parts):
        monkeypatch.setattr(module, "ROWS_TOGETHER", TOGETHER)
    monkeypatch.setattr(open_tick, "_LARGE", TOGETHER)


def joined_with_itself(is_stream: bool) -> NetworkJob:
    """All pairs of tuples in a window, or those that are new at each tick."""
    pairs = tuple(Attribute(f"{c.name}{i}", c.type) for i in (1, 2) for c in COLUMNS)
    window = WindowOp("range", SPAN)
    operators = (
        PlannedOperator("s", StreamInput("S", (0, 1)), (), COLUMNS, fifo=True),
        PlannedOperator("a", window, ("s",), COLUMNS, fifo=True),
        PlannedOperator("b", window, ("s",), COLUMNS, fifo=True),
        PlannedOperator("j", JoinOp((((0, 0), (1, 0)),)), ("a", "b"), pairs),
        PlannedOperator("i", ToStreamOp("istream"), ("j",), pairs),
    )[: 5 if is_stream else 4]
    group = ShardGroup(tuple(one.id for one in operators), {}, "one")
    plan = NetworkPlan(operators, {"q": PlannedAnswer(operators[-1].id, is_stream)}, (group,))
    schedule = Schedule(block_tuples=64)
    return NetworkJob(plan, {"S": Schema(COLUMNS)}, {"S": StreamTime(None)}, schedule=schedule)


class FanOut:
    """One shard over batches. ties: tuples that come at one tick."""

    def __init__(self, folder: Path, is_stream: bool = False, ties: int = 1) -> None:
        self.folder, self.job, self.ties = folder, joined_with_itself(is_stream), ties
        self.incarnation = self.batch = self.n = 0

    def step(self, n: int) -> ShardReport:
        places = Places(str(self.folder / "state"), str(self.folder / f"a{self.incarnation}"))
        version = places.log_of("u").keep_job(self.job)
        task = NetworkTask(
            "u", self.batch, self.job, version, frozenset(), str(self.folder / "sink"), "parquet"
        )
        numbers = np.arange(self.n, self.n + n)
        tuples = pa.table({"k": numbers * 0, "v": numbers})
        arrived = {"S": [Arrived(tuples, numbers // self.ties)]}
        report = run_shard(task, 0, places.shard("u", 0, 1), arrived, ())
        self.batch, self.n = self.batch + 1, self.n + n
        return report

    def answer(self) -> NDArray[np.int64]:
        """int64[k, 4]: pairs with τ and sign, in the order they are in the sink."""
        files = sorted(self.folder.glob("sink/query=q/_staging/*/matched-*.parquet"))
        files.sort(key=lambda path: int(path.parent.name))
        tables = [pq.read_table(path) for path in files]
        names = ("v1", "v2", "tau", "sign")
        columns = [np.concatenate([table[name].to_numpy() for table in tables]) for name in names]
        return np.stack(columns, axis=1).astype(np.int64)

    @property
    def log(self) -> Path:
        return self.folder / "state" / "u"


def expected(n: int, ties: int, is_stream: bool) -> NDArray[np.int64]:
    """By definition: each tick in order of the pairs."""
    one, other = (part.ravel() for part in np.indices((n, n)))
    come = np.maximum(one, other) // ties
    go = np.minimum(one, other) // ties + SPAN + 1
    news = np.stack([one, other, come, np.ones_like(one)], axis=1)
    olds = np.stack([one, other, go, -np.ones_like(one)], axis=1)
    meet = come < go
    found = news[meet] if is_stream else np.concatenate([news[meet], olds[meet]])
    found = found[found[:, 2] <= (n - 1) // ties]
    return found[np.lexsort((found[:, 1], found[:, 0], found[:, 2]))]


def test_results_are_exact_and_come_in_canonical_order(tmp_path: Path) -> None:
    run = FanOut(tmp_path)
    told = [run.step(n).network for n in (5, 500, 1)]
    wanted = expected(506, 1, is_stream=False)
    assert len(wanted) > 200 * TOGETHER
    assert run.answer().tolist() == wanted.tolist()
    assert sum(one.answers["q"] for one in told) == len(wanted)
    assert sum(one.net["q"] for one in told) == wanted[:, 3].sum()
    last = [[*one.values.values(), one.tau, one.sign] for one in told[1].recent["q"]]
    before = wanted[wanted[:, 2] < 505][-len(last) :]
    assert [[row[1], row[3], *row[4:]] for row in last] == before.tolist() != []


def test_memory_does_not_grow_with_the_results_of_a_batch(tmp_path: Path) -> None:
    peaks = []
    for n in (60, 600):
        run = FanOut(tmp_path / str(n))
        run.step(5)
        tracemalloc.start()
        told = run.step(n)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    n_results = told.network.answers["q"]
    assert n_results > 200 * TOGETHER
    assert peaks[1] < 16 * n_results, "it is less than the values of the results take"
    assert peaks[1] < 4 * peaks[0]


def test_a_large_tick_leaves_no_room_behind(tmp_path: Path) -> None:
    run = FanOut(tmp_path, is_stream=True, ties=120)
    sizes = [run.step(n).network.state_bytes for n in (120, 120, 1)]
    assert run.answer().tolist() == expected(241, 120, is_stream=True).tolist()
    assert 10 * TOGETHER < 120 * 120
    assert max(sizes) < 120 * 120 * 8


def test_the_log_is_as_short_as_what_it_takes_to_make_the_results_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty tuples a batch are few, but replaying them would make thousands of results."""
    monkeypatch.setattr(homes, "LOGGED_TUPLES", 100)
    run = FanOut(tmp_path)
    sizes = []
    for batch in range(24):
        run.incarnation = batch // 5  # killed now and then
        (how,) = run.step(20).network.attached
        assert how == "new" if batch == 0 else how == ("arena" if batch % 5 else "rebuilt")
        sizes.append(sum(path.stat().st_size for path in run.log.rglob("*") if path.is_file()))
        held = [len(list((run.log / kind).iterdir())) for kind in ("segments", "inputs")]
        assert batch < 6 or max(held) <= 3
    assert max(sizes[12:]) < 1.5 * max(sizes[6:12])
    assert run.answer().tolist() == expected(480, 1, is_stream=False).tolist()


@given(histories(FIELDS, 40), st.lists(st.integers(0, 40), max_size=5), st.booleans())
def test_an_answer_in_parts_is_the_answer(
    history: Sequence[Element], cuts: Sequence[int], is_stream: bool
) -> None:
    strings = Strings(MemoryRegions())
    whole = block_of(list(history), FIELDS, strings)
    given: list[Block] = [empty(FIELDS)]
    nets = None if is_stream else lambda block: net(block, FIELDS, strings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "ROWS_TOGETHER", 2)
        answer = Answer(given.append, nets, 3)
        places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
        for begin, end in pairwise(places):
            over = whole.tau[end] if end < len(whole) else whole.tau[-1]
            answer.take(whole.take(slice(begin, end)), int(over))
        answer.end()
    wanted = whole if is_stream else net(whole, FIELDS, strings)
    found = elements_of(concat(given), FIELDS, strings)
    assert found == elements_of(wanted, FIELDS, strings)
    assert (answer.n, answer.net) == (len(wanted), wanted.sign.sum())
    last = [] if answer.last is None else elements_of(answer.last, FIELDS, strings)
    assert last == found[-3:]
