"""What a unit knows is kept up to a bound, and what is beyond it is told."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, cast

import pytest

from backend.engine.planner import Place
from backend.engine.running import RunningUnit
from backend.systems.contract import MOST_STATE_BYTES, SystemUnit
from backend.systems.registry import STREAM
from storage.vocabulary.records import Json


class _Learns:
    """Knows so many letters."""

    n = 0

    def facts(self) -> Mapping[str, Json]:
        return {"x": "a" * self.n}


def running(unit: object) -> RunningUnit:
    place = Place(STREAM, "network", ("S",))
    return RunningUnit(place, cast(SystemUnit, unit), {}, 0)


def test_too_much_is_not_kept_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    learns = _Learns()
    unit, kept = running(learns), list[Any]()
    with caplog.at_level(logging.WARNING):
        for learns.n in (3, MOST_STATE_BYTES, 2 * MOST_STATE_BYTES, 4):
            found = unit.state()
            assert found is not None
            kept.append((json.loads(found.state), unit.kept_bytes))
    assert kept == [
        ({"x": "aaa"}, 11),
        ({}, MOST_STATE_BYTES + 8),
        ({}, 2 * MOST_STATE_BYTES + 8),
        ({"x": "aaaa"}, 12),
    ]
    (told,) = caplog.messages
    known = f"knows {MOST_STATE_BYTES + 8} bytes, at most {MOST_STATE_BYTES} are kept"
    assert told.endswith(f"{known}: a kill would lose them")


def test_a_unit_that_learns_nothing_keeps_nothing() -> None:
    unit = running(object())
    assert (unit.state(), unit.kept_bytes) == (None, None)
