"""Joins under k-constraints killed at random instants: same results, same k, same choices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from backend.model.schema import Schema
from backend.operators.network.core.job import StreamTime
from backend.operators.network.shards import homes
from backend.operators.network.shards.timed import Arrived
from backend.systems.contract import SystemUnit, UnitState
from backend.systems.kmon.core import KMonCore
from backend.systems.registry import KMON as SYSTEM
from backend.systems.stream.unit import NetworkUnit
from storage.vocabulary.records import PlanVersion
from tests.core_kills import KilledUnit
from tests.unit.network.test_shard_kills import answers

N_BATCHES: Final = 40
#: What a constraint costs in time decides nothing, so that choices are the same.
KNOBS: Final = {"window_arrivals": 60, "constraint_choice": "threshold"}
#: Packets on two links, and reports of cars.
LINKS: Final = {
    name: replace(Schema.parse("t bigint, pid int"), key=("pid",)) for name in ("C", "B")
}
PACKETS: Final = "Select C.pid From C [Range 200], B [Range 200] Where C.pid = B.pid"
CARS: Final = {"Car": Schema.parse("t bigint, cid int, sid int, xpos int")}
ROAD: Final = (
    "Select Distinct C.sid From (Select L.cid, L.sid From Car [Partition By cid Rows 1] As L, "
    "(Select Distinct cid From Car [Range 30]) As A Where L.cid = A.cid) As C, "
    "(Select cid From Car [Partition By cid Rows 3] Group By cid Having count(*) = 3 "
    "and count(Distinct xpos) = 1) As S Where C.cid = S.cid"
)


def _told(batch: int, n: int, **columns: Any) -> Arrived:
    types = {"t": pa.int64()}
    table = pa.table(
        {name: pa.array(v, types.get(name, pa.int32())) for name, v in columns.items()}
    )
    return Arrived(table, batch * n + np.arange(n))


def packets(batch: int) -> dict[str, list[Arrived]]:
    """Two of three packets of C come to B, within a latency that grows."""
    n, rng = 60, np.random.default_rng(batch)
    pid = batch * n + np.arange(n)
    t = pid.copy()
    late = np.sort(t + rng.integers(0, 5 + batch, n))
    return {
        "C": [_told(batch, n, t=t, pid=pid)],
        "B": [_told(batch, n, t=late, pid=np.where(rng.random(n) < 0.67, pid, -pid - 1))],
    }


def reports(batch: int) -> dict[str, list[Arrived]]:
    """Forty cars, some of which stop for a while."""
    n, rng = 80, np.random.default_rng(batch)
    cid = rng.permutation(np.arange(n) % 40)
    stops = np.random.default_rng(batch // 5).random(40) < 0.2
    t = batch * 40 + np.arange(n) // 2
    xpos = np.where(stops[cid], -batch // 5, t * 7 + cid)
    return {"Car": [_told(batch, n, t=t, cid=cid, sid=(cid + batch // 4) % 9, xpos=xpos)]}


def core_of(unit: SystemUnit) -> KMonCore:
    assert isinstance(unit, NetworkUnit)
    (core,) = (own for own in unit.cores if isinstance(own, KMonCore))
    return core


def kept(unit: SystemUnit) -> Any:
    return dict(core_of(unit).state())


def restore(unit: SystemUnit, known: Any) -> None:
    plan = PlanVersion(1, 0, "network", (), {}, "", "")
    core_of(unit).restore(UnitState(plan, 0, known))


TEXTS: Final = {"streams": (PACKETS, LINKS, packets), "relations": (ROAD, CARS, reports)}


def check(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, seed: int, kills: int) -> None:
    monkeypatch.setattr(homes, "IMAGE_EVERY", 5)
    text, schemas, arrived = TEXTS[name]
    time = StreamTime("t", disorder=60)
    unit = KilledUnit(SYSTEM, text, schemas, KNOBS, arrived, kept, restore, N_BATCHES, time)
    used = set[str]()
    alone, left = unit.alone(folder / "alone", lambda one: used.update(_used(one)))
    assert sum(alone.values()) > 100
    assert used
    known = unit.killed(folder / "killed", seed, kills)
    assert answers(folder / "killed") == alone
    assert _standings(known) == _standings(left)


def _used(unit: SystemUnit) -> set[str]:
    return {key for join in core_of(unit).values() for key in join.used}


def _standings(known: Any) -> list[Any]:
    """Of each join its constraints: whether they are used, k, since when."""
    return [join["standings"] for join in known["kmon"].values()]


@pytest.mark.parametrize("name", TEXTS)
def test_kills_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    check(tmp_path, monkeypatch, name, 3, 8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", TEXTS)
def test_more_kills_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, seed: int
) -> None:
    check(tmp_path, monkeypatch, name, seed, 30)
