"""Records that are refused before anything of them is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from storage.errors import BadRecord
from storage.writer import EngineWriter
from tests.contract.store_builders import decision, plan, record


@pytest.mark.parametrize("field", ["lhs", "rhs", "predicted_old", "predicted_new"])
def test_no_plan_is_changed_for_a_number_that_is_none(writer: EngineWriter, field: str) -> None:
    changes: dict[str, Any] = {field: float("nan")}
    odd = replace(decision(1, 0), verdict="switched", **changes)
    with pytest.raises(BadRecord, match=r"decision 1 of .* switched by a number that is none"):
        writer.write_batch(replace(record(0), decisions=(odd,), plans=(plan(1, 0),)))
