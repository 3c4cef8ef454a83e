"""Joins that keep less killed at random instants: they keep the same tuples and share of keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from backend.model.schema import Schema
from backend.operators.network.shards import homes
from backend.operators.network.shards.timed import Arrived
from backend.systems.contract import System, SystemUnit, UnitState
from backend.systems.registry import AMRI, STREAM
from backend.systems.retention.core import RetentionCore
from backend.systems.retention.knobs import RETENTIONS
from backend.systems.stream.unit import NetworkUnit
from storage.vocabulary.records import PlanVersion
from tests.core_kills import KilledUnit
from tests.unit.network.test_shard_kills import answers

N_BATCHES: Final = 40
SCHEMAS: Final = {name: Schema.parse("k int, name string, v int") for name in ("A", "B")}
TEXT: Final = "Select A.v, B.v As w From A [Rows 90], B [Range 120] Where A.name = B.name"


def arrived(batch: int) -> dict[str, list[Arrived]]:
    """There are many keys for a while, and few again, in bursts."""
    found = {}
    for place, name in enumerate(SCHEMAS):
        rng = np.random.default_rng([batch, place])
        n = 60 if 10 <= batch < 25 else 15
        keys = rng.integers(0, 40 if batch % 10 < 5 else 200, n)
        columns = {
            "k": pa.array(keys, pa.int32()),
            "name": pa.array([f"n{key}" for key in keys]),
            "v": pa.array(rng.integers(0, 1000, n), pa.int32()),
        }
        found[name] = [Arrived(pa.table(columns), _first(batch) + np.arange(n))]
    return found


def _first(batch: int) -> int:
    """The number of a batch's first tuple."""
    return sum(60 if 10 <= earlier < 25 else 15 for earlier in range(batch))


def core_of(unit: SystemUnit) -> RetentionCore:
    assert isinstance(unit, NetworkUnit)
    (core,) = (own for own in unit.cores if isinstance(own, RetentionCore))
    return core


def restore(unit: SystemUnit, known: Any) -> None:
    core_of(unit).restore(UnitState(PlanVersion(1, 0, "network", (), {}, "", ""), 0, known))


def check(
    folder: Path, patch: pytest.MonkeyPatch, system: System, seed: int, kills: int, rule: str
) -> None:
    patch.setattr(homes, "IMAGE_EVERY", 5)
    knobs = {"retention": rule, "retained_share": 0.8, "retained_bytes": 4500}
    unit = KilledUnit(
        system,
        TEXT,
        SCHEMAS,
        knobs,
        arrived,
        lambda one: dict(core_of(one).state()),
        restore,
        N_BATCHES,
    )
    held = set[Any]()
    alone, left = unit.alone(folder / "alone", lambda one: held.update(_held(one)))
    assert sum(alone.values()) > 100
    assert len(held) > 1, "the limit is met"
    assert unit.killed(folder / "killed", seed, kills) == left
    assert answers(folder / "killed") == alone


def _held(unit: SystemUnit) -> list[Any]:
    joins = core_of(unit).state()["retention"]["joins"].values()
    return [str((join["held"], join.get("ranked"))) for join in joins]


@pytest.mark.parametrize(
    ("system", "rule"),
    [(STREAM, "universe"), (AMRI, "universe"), (STREAM, "prob"), (AMRI, "life"), (STREAM, "rand")],
    ids=lambda own: own if isinstance(own, str) else own.name,
)
def test_kills_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: System, rule: str
) -> None:
    check(tmp_path, monkeypatch, system, 3, 8, rule)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rule", RETENTIONS[1:])
@pytest.mark.parametrize("system", [STREAM, AMRI], ids=lambda system: system.name)
def test_many_kills_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: System, rule: str, seed: int
) -> None:
    check(tmp_path, monkeypatch, system, seed, 30, rule)
