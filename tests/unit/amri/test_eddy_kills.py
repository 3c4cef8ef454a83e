"""Eddies killed at random instants, while partitions migrate, too: they go on as if left alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from backend.model.schema import Schema
from backend.operators.network.shards import homes
from backend.operators.network.shards.timed import Arrived
from backend.systems.amri.eddy import AdaptedEddy
from backend.systems.contract import SystemUnit
from backend.systems.registry import AMRI as SYSTEM
from backend.systems.registry import STREAM
from tests.core_kills import KilledUnit
from tests.unit.amri.running_eddies import core_of
from tests.unit.network.test_shard_kills import answers

N_BATCHES: Final = 40
#: Tuples of each stream in a batch, and in its window.
N_TUPLES, WINDOW = 50, 60
#: Columns are named by the streams that they join.
STREAMS: Final = {"A": "ab int, ac int, ad int, t int", "B": "ab int, bc int, bd int, t int"} | {
    "C": "ac int, bc int, cd int",
    "D": "ad int, bd int, cd int",
}
SCHEMAS: Final = {name: Schema.parse(text) for name, text in STREAMS.items()}
PAIRS: Final = ("ab", "ac", "ad", "bc", "bd", "cd")
TEXT: Final = (
    f"Select A.ab, A.ac, A.ad, B.bc From {', '.join(f'{s} [Rows {WINDOW}]' for s in STREAMS)} "
    f"Where {' and '.join('{0}.{2} = {1}.{2}'.format(*pair.upper(), pair) for pair in PAIRS)}"
)
#: Of attributes that are compared by order alone, and of some that are equal to others, too.
ORDERED: Final = f"{TEXT} and A.t <= B.t and A.ac < D.bd"
#: Nothing is equal: bands of rising numbers, each with a condition that few combinations fulfil.
BY_ORDER: Final = (
    f"Select A.ab, B.bc, C.cd From {', '.join(f'{s} [Rows 12]' for s in 'ABC')} "
    "Where A.t < B.t and A.ab > B.bd and B.bc >= C.cd and C.ac > A.ad"
)
SOON: Final = {
    "router": "greedy",
    "period_requests": 700,
    "trigger_requests": 1100,
    "index_bits": 6,
    "selection": "window",
    "min_gain": 0.0,
}
#: All that migrates does so in one batch, so that what is decided next does not depend on time.
AT_ONCE: Final[dict[str, object]] = {"migration": "all", "migration_us": 10_000_000}
#: What migrates takes several batches.
SPREAD: Final[dict[str, object]] = {"migration": "all", "migration_us": 1}
MIXED: Final = {"access": "portfolio", **AT_ONCE}
#: No turn comes: states are assessed when they are overdue, over several batches.
EARLY: Final = AT_ONCE | {"selection": "accumulated", "period_requests": 10**9}
_IDS: Final = ["at once", "spread", "mixed", "early"]


def arrived(batch: int) -> dict[str, list[Arrived]]:
    """Domains change every seventh batch; every third tuple tells of something all streams do."""
    names = (*PAIRS, "t")
    domains = np.random.default_rng(batch // 7).integers(3, 30, len(names))
    found = {}
    for place, (name, schema) in enumerate(SCHEMAS.items()):
        rng = np.random.default_rng([batch, place])
        about = rng.integers(0, 20, N_TUPLES)
        columns = {}
        for column in schema.names:
            domain = domains[names.index(column)]
            drawn = rng.integers(0, domain, N_TUPLES)
            told = about * 7 % domain
            columns[column] = pa.array(np.where(about % 3 > 0, drawn, told), pa.int32())
        numbers = np.arange(batch * N_TUPLES, (batch + 1) * N_TUPLES)
        found[name] = [Arrived(pa.table(columns), numbers)]
    return found


def eddies(unit: SystemUnit) -> list[AdaptedEddy]:
    return list(core_of(unit).values())


def kept(unit: SystemUnit) -> Any:
    """What is committed of each eddy."""
    return list(core_of(unit).state()["amri"].values())


def restore(unit: SystemUnit, known: Any) -> None:
    for eddy, own in zip(eddies(unit), known, strict=True):
        eddy.restore(own)


def asked(known: list[Any]) -> list[Any]:
    """Of what is committed, what does not depend on how fast partitions migrate."""
    (eddy,) = known
    requests = [[row[:3] for row in state["counts"][1]] for state in eddy["states"]]
    assessors = [state["assessor"] for state in eddy["states"]]
    names = ("orders", "fan_outs", "number", "schedule")
    return [*(eddy[name] for name in names), assessors, requests]


def unnumbered(known: list[Any]) -> list[Any]:
    """What is committed without the numbers of decisions, which their unit goes on with."""
    (eddy,) = known
    stretches, searches, routes = eddy["following"]
    return [
        eddy
        | {"following": [stretches, *([change[1:] for change in of] for of in (searches, routes))]}
    ]


def check(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    kills: int,
    of: dict[str, object],
    text: str = TEXT,
) -> None:
    monkeypatch.setattr(homes, "IMAGE_EVERY", 5)
    unit = KilledUnit(SYSTEM, text, SCHEMAS, SOON | of, arrived, kept, restore, N_BATCHES)
    seen, moving = set[tuple[int, ...]](), Counter[bool]()

    def watch(running: SystemUnit) -> None:
        (eddy,) = eddies(running)
        seen.update(state.bits for state in eddy.states)
        moving[any(state.migrating for state in eddy.states)] += 1

    alone, left = unit.alone(folder / "alone", watch)
    assert sum(alone.values()) > 1000
    assert len(seen) > 4
    known = unit.killed(folder / "killed", seed, kills)
    assert answers(folder / "killed") == alone
    assert asked(known) == asked(left)
    if of == SPREAD:
        assert moving[True] > N_BATCHES // 4
    else:
        assert unnumbered(known) == unnumbered(left)


@pytest.mark.parametrize("knobs", [AT_ONCE, SPREAD, MIXED, EARLY], ids=_IDS)
def test_kills_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knobs: dict[str, object]
) -> None:
    check(tmp_path, monkeypatch, 7, 15, knobs)


@pytest.mark.parametrize("text", [ORDERED, BY_ORDER], ids=["too", "alone"])
def test_kills_cost_nothing_where_attributes_are_compared_by_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    check(tmp_path, monkeypatch, 3, 10, AT_ONCE, text)


@pytest.mark.parametrize("access", ["bitmap", "hash", "portfolio"])
@pytest.mark.parametrize("text", [ORDERED, BY_ORDER], ids=["too", "alone"])
def test_answers_are_those_of_the_plain_join(tmp_path: Path, text: str, access: str) -> None:
    """While bits, routes and partitions change."""
    found = []
    for system, knobs in ((SYSTEM, SOON | AT_ONCE | {"access": access}), (STREAM, {})):
        unit = KilledUnit(system, text, SCHEMAS, knobs, arrived, lambda _: None, restore, 12)
        found.append(unit.alone(tmp_path / system.name, lambda _: None)[0])
    assert found[0] == found[1]
    assert sum(found[0].values()) > 1000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("knobs", [AT_ONCE, SPREAD, MIXED, EARLY], ids=_IDS)
@pytest.mark.parametrize("text", [TEXT, ORDERED, BY_ORDER], ids=["equal", "ordered", "by order"])
def test_more_kills_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, knobs: dict[str, object], text: str
) -> None:
    check(tmp_path, monkeypatch, seed, 30, knobs, text)
