"""What tests of the feeder share: a small source, its speed, and waiting."""

from __future__ import annotations

import time
from collections.abc import Callable

import pyarrow as pa

from backend.model.schema import Schema
from backend.workloads.replay import ArrowTableSource

SCHEMA = Schema.parse("id int, name string")


class Speed:
    """Rate and end as a person would turn them while the feeder runs."""

    def __init__(self, rate: float, at_end: str = "stop") -> None:
        self.rate, self.at_end = rate, at_end


def numbers(n: int) -> ArrowTableSource:
    return ArrowTableSource(pa.table({"id": range(n), "name": [f"n{i}" for i in range(n)]}), SCHEMA)


def wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
