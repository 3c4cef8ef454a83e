"""The account of an input adds up: what was read is taken or kept aside, in any order of times."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.dataset as ds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.cql import parse_query
from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.model.events import SelectionPlan
from backend.model.schema import Attribute, Schema
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer, ShardGroup
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.selection.operator import SelectionOperator
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.shipping import shipped_plan
from backend.workloads.sources import MemorySource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from tests.loops import FixedLoop
from tests.oracles.input_manager import in_time

S = Schema.parse("at bigint, id bigint")
ID: tuple[Attribute, ...] = S.attributes[1:]
DISORDER = 2


def selection() -> SelectionOperator:
    constructs = build_constructs(
        [parse_query(name, f"Select * From S Where {where}", {"S": S}) for name, where in QUERIES],
        S,
    )
    plan = SelectionPlan(1, "early drop", constructs.attributes)
    return SelectionOperator(shipped_plan(constructs, plan, "resolved"), 0.5)


QUERIES = (("all", "id >= 0"), ("early", "at < 9 and id >= 3"))
SELECTION = {"S": {"asc": selection()}}


def network(query: str = "q") -> NetworkJob:
    """Answers with the stream itself: each tuple that it takes."""
    plan = NetworkPlan(
        (PlannedOperator("S", StreamInput("S", (1,)), (), ID),),
        {query: PlannedAnswer("S", True)},
        (ShardGroup(("S",), {}, "no key"),),
    )
    return NetworkJob(plan, {"S": S}, {"S": StreamTime("at", disorder=DISORDER)})


class Account(NamedTuple):
    """Ids by where the sink has them, and the counts that were told."""

    matched: set[int]
    answered: Mapping[str, set[int]]
    aside: set[int]
    n_tuples: int
    n_misfits: int
    n_missed: int
    per_query: Mapping[str, int]


def ran(times: Sequence[object], size: int, selects: bool, networks: Mapping[str, int]) -> Account:
    """networks: unit -> the batch it comes with."""
    rows = [[t, number] for number, t in enumerate(times)]
    jobs = {unit: network(unit) for unit in networks}

    def running(batch_id: int) -> dict[str, NetworkJob]:
        return {unit: jobs[unit] for unit, since in networks.items() if since <= batch_id}

    loop = FixedLoop(SELECTION if selects else {}, networks=running)
    stream = StreamSpec("S", S, SourceSpec("memory"), "at")
    with tempfile.TemporaryDirectory() as out:
        sink = SinkSpec(out)
        LocalHost(loop, [InputSource(stream, MemorySource(rows, S))], sink, size, once=True).run()
        folder = Path(out)
        assert not list(folder.rglob("_staging*"))
        answered = {unit: ids(folder / f"query={unit}") for unit in networks}
        found = ids(folder / "stream=S"), answered, aside(folder / "stream=S")
    return Account(
        *found,
        n_tuples=loop.total("S", "n_tuples"),
        n_misfits=loop.total("S", "n_misfits"),
        n_missed=loop.total("S", "n_missed"),
        per_query=loop.matched_by_query("asc") if selects else {},
    )


def ids(folder: Path) -> set[int]:
    """Of all tuples in a folder of the sink, each there once."""
    if not folder.exists():
        return set()
    found = ds.dataset(str(folder), format="parquet").to_table().column("id").to_pylist()
    assert len(found) == len(set(found))
    return set(found)


def aside(folder: Path) -> set[int]:
    """Of the tuples kept aside, each there once."""
    files = (folder / "_misfits").glob("*.json")
    raws = [json.loads(line)["raw"] for file in files for line in file.read_text().splitlines()]
    found = [row["id"] if isinstance(row, dict) else row[1] for row in map(json.loads, raws)]
    assert len(found) == len(set(found))
    return set(found)


TIMES = st.lists(st.one_of(st.integers(-1, 20), st.just("x")), max_size=40)


def expected(times: Sequence[object]) -> tuple[set[int], set[int]]:
    """Tuples that do not fit, and tuples that are late for who reads the stream from its start."""
    fitting = [number for number, t in enumerate(times) if isinstance(t, int)]
    _, late = in_time([t for t in times if isinstance(t, int)], StreamTime("at", disorder=DISORDER))
    return set(range(len(times))) - set(fitting), {fitting[place] for _, place in late}


@given(TIMES, st.integers(1, 50))
@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("selects", [True, False])
@pytest.mark.parametrize("windows", [True, False])
def test_what_was_read_is_taken_or_kept_aside(
    selects: bool, windows: bool, times: list[object], size: int
) -> None:
    unfit, late = expected(times)
    late = late if windows else set()
    found = ran(times, size, selects, {"q": 0} if windows else {})
    assert found.aside == (unfit if selects else unfit | late)
    assert found.n_misfits == len(found.aside)
    assert found.n_tuples + found.n_misfits == len(times)
    assert found.n_missed == (len(late) if selects else 0)
    assert not found.aside & found.matched
    assert found.per_query.get("all", 0) == (found.n_tuples if selects else 0)
    assert len(found.matched) == (found.n_tuples if selects else 0)
    if windows:
        assert found.answered["q"] == set(range(len(times))) - unfit - late


@given(TIMES, st.integers(1, 50), st.integers(0, 3))
@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("selects", [True, False])
def test_what_one_of_two_networks_takes_is_not_kept_aside(
    selects: bool, times: list[object], size: int, since: int
) -> None:
    unfit, late = expected(times)
    found = ran(times, size, selects, {"old": 0, "new": since})
    taken = found.answered["old"] | found.answered["new"]
    assert found.answered["old"] == set(range(len(times))) - unfit - late
    assert found.aside == (unfit if selects else set(range(len(times))) - taken)
    assert found.n_misfits == len(found.aside)
    assert found.n_tuples + found.n_misfits == len(times)
    assert found.n_missed == len(late) - len(found.aside - unfit)
