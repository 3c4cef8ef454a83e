"""What the thesis says of windows and streams together (card A2)."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.model.schema import Schema
from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.job import NetworkJob, Schedule, StreamTime
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.to_stream import ToStreamOp
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.shards.making import make
from tests.oracles.network_windows import Row, bag_at
from tests.unit.network.collecting import CollectingNetwork
from tests.unit.network.elements import GAPS, block_of, elements_of, fields, stream, window

FIELDS = fields("bigint")
SOURCE = stream("s", FIELDS)


def to_stream(word: str, over: str) -> PlannedOperator:
    return PlannedOperator(f"{word} of {over}", ToStreamOp(word), (over,), FIELDS)  # type: ignore[arg-type]


WINDOWS = (
    window(WindowOp("range", 0), SOURCE, "now"),
    window(WindowOp("unbounded"), SOURCE, "all"),
    window(WindowOp("rows", 3), SOURCE, "rows"),
    window(WindowOp("range", 4, 3), SOURCE, "range"),
    window(WindowOp("partition", 1, 1, (0,)), SOURCE, "partition"),
)
STREAMS = (
    to_stream("rstream", "now"),
    *(to_stream(word, one.id) for one in WINDOWS for word in ("istream", "dstream")),
)
PLAN = NetworkPlan(
    (SOURCE, *WINDOWS, *STREAMS),
    {one.id: PlannedAnswer(one.id, one in STREAMS) for one in (*WINDOWS, *STREAMS)},
)


@settings(max_examples=30)
@given(st.lists(st.tuples(GAPS, st.integers(0, 2)), max_size=25), st.sampled_from([1, 4096]))
def test_windows_and_streams_undo_each_other(steps: list[tuple[int, int]], n_block: int) -> None:
    taus = np.cumsum([gap for gap, _ in steps], dtype=np.int64)
    tuples = [((value,), int(tau), 1) for (_, value), tau in zip(steps, taus, strict=True)]
    until = max([0, *taus.tolist()]) + 6
    clock = Clock(0, {"S": (0, taus)})
    regions = MemoryRegions()
    around = Surroundings(PLAN, regions, Strings(regions.scope("strings")), clock)
    operators = {one.id: make(one, around) for one in PLAN.operators if one.inputs}
    job = NetworkJob(
        PLAN,
        {"S": Schema(FIELDS)},
        {"S": StreamTime(None)},
        schedule=Schedule(block_tuples=n_block),
    )
    network = CollectingNetwork(job, [one.id for one in PLAN.operators], operators, around)
    blocks, _ = network.played({"s": block_of(tuples, FIELDS, range(len(tuples)))}, until)
    found = {query: elements_of(block) for query, block in blocks.items()}

    def at(query: str, tick: int) -> Counter[Row]:
        return Counter(row for row, tau, _ in found[query] if tau == tick)

    for tick in range(until):
        arrived = Counter(row for row, tau, _ in tuples if tau == tick)
        assert at("rstream of now", tick) == at("istream of all", tick) == arrived
        for one in WINDOWS:
            before = bag_at(found[one.id], tick - 1)
            came, went = at(f"istream of {one.id}", tick), at(f"dstream of {one.id}", tick)
            assert bag_at(found[one.id], tick) == before - went + came
            assert not came & went
