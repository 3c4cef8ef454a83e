"""SysStream: which samples become tuples, and that nothing happens when nobody listens."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from backend.engine.listening import Listening
from backend.operators.contract import BatchResult
from backend.systems.stream.sysstream import SYS_ARRIVING, sys_tuples
from storage.vocabulary.records import Entity, Sample

ENTITIES = {
    "a": Entity("a", "operator", "A", query="q", unit_id="u"),
    "b": Entity("b", "queue", "B", unit_id="u"),
    "own": Entity("own", "operator", "Own", unit_id="self"),
}


def test_known_values_of_known_entities_but_its_own_become_tuples() -> None:
    samples = [
        Sample("a", "selectivity", 0.5),
        Sample("b", "size_tuples", 3),
        Sample("b", "in_per_s", None),
        Sample("own", "size_tuples", 9),
        Sample("gone", "size_tuples", 9),
    ]
    table = sys_tuples(samples, ENTITIES, "self", 60)
    assert table.column_names == list(SYS_ARRIVING.names)
    when = datetime(1970, 1, 1, 0, 1, tzinfo=UTC)
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        ("q", "a", "operator", "selectivity", 0.5, when),
        ("", "b", "queue", "size_tuples", 3.0, when),
    ]
    assert sys_tuples([], ENTITIES, "self", 0).num_rows == 0


def test_nobody_listens() -> None:
    def entities() -> Mapping[str, Entity]:
        pytest.fail("entities are looked up for nobody")

    listening = Listening()
    result = BatchResult(0, {}, {})
    assert listening.joined(result) is result
    listening.recorded([Sample("a", "selectivity", 0.5)], entities, 1.0)
