"""Redo logs of the version in which all streams of a network had one time: taken up, or refused."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.plan import ShardGroup
from backend.operators.network.shards.redo_files import facts_of, head_of
from backend.operators.network.shards.redo_log import StateLost
from backend.operators.network.shards.shard import NetworkTask, Places, run_shard
from backend.operators.network.shards.shard_reports import ShardReport
from tests.network_toys import make, sums_job
from tests.unit.network.test_shard import tuples


def step(folder: Path, job: NetworkJob, batch: int, incarnation: int) -> ShardReport:
    places = Places(str(folder / "state"), str(folder / f"a{incarnation}"))
    version = places.log_of("u").keep_job(job)
    task = NetworkTask("u", batch, job, version, frozenset(), "", "parquet", make)
    return run_shard(task, 0, places.shard("u", 0, 1), tuples(batch), frozenset())


def write_as_before(log: Path) -> None:
    """Its files as the version before wrote them."""
    for path in [*(log / "segments").iterdir(), *(log / "inputs").iterdir()]:
        source = io.BytesIO(path.read_bytes())
        head = facts_of(source)
        facts = head["facts"]
        path.write_bytes(head_of({**head, "facts": _as_before(facts)}) + source.read())


def _as_before(facts: dict[str, Any]) -> dict[str, Any]:
    clocks = facts.pop("clocks")
    for clock in clocks:
        names = clock.pop("streams")
        for name, number in clock.pop("n_released", {}).items():
            facts["streams"][name]["n_released"] = number
        for name, number in clock.pop("first", {}).items():
            facts.setdefault("first", {})[name] = number
        assert len(names) == 1
        facts |= clock
    return facts


def test_a_run_whose_queries_read_one_stream_each_goes_on(tmp_path: Path) -> None:
    job = sums_job(("S", True))
    told = [step(tmp_path / "whole", job, batch, 0) for batch in range(5)]
    for batch in range(3):
        step(tmp_path, job, batch, 0)
    write_as_before(tmp_path / "state" / "u")
    for batch in (3, 4):
        report = step(tmp_path, job, batch, 1)
        assert report.network.recent == told[batch].network.recent
        assert report.network.heartbeat == told[batch].network.heartbeat
    assert report.network.recent


def test_a_run_whose_operators_are_others_by_now_is_refused(tmp_path: Path) -> None:
    apart = sums_job(("S", True), ("T", True))
    operators = tuple(id for group in apart.plan.groups for id in group.operators)
    group = ShardGroup(operators, {}, "one shard")
    job = replace(apart, plan=replace(apart.plan, groups=(group,)))
    step(tmp_path, job, 0, 0)
    log = tmp_path / "state" / "u"
    for path in (log / "segments").iterdir():
        head = facts_of(source := io.BytesIO(path.read_bytes()))
        (clock,) = head["facts"].pop("clocks")
        head["facts"] |= {
            name: clock[name] for name in ("begin", "heartbeat", "has_begun", "first")
        }
        path.write_bytes(head_of(head) + source.read())
    with pytest.raises(
        StateLost, match=r"earlier version, in which all streams had one time: .*--fresh"
    ):
        step(tmp_path, job, 1, 1)
