"""Messages of a broker as tuples: what fits, what does not, and what is missing."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from backend.hosts.spark.run.sources import parse_json
from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT

pytestmark = pytest.mark.spark

MESSAGES = [
    '{"a": 1, "b": "x", "at": "2013-01-01T10:00:00Z"}',
    '{"b": "y", "more": true}',
    '{"a": "one"}',
    "no JSON at all",
    None,
]


def test_json_messages_become_tuples(spark: SparkSession) -> None:
    schema = Schema.parse("a int, b string, at timestamp")
    frame = spark.createDataFrame(
        [(m and bytearray(m.encode()),) for m in MESSAGES], "value binary"
    )
    rows = parse_json(frame, schema).collect()
    assert [(row["a"], row["b"], row[CORRUPT]) for row in rows] == [
        (1, "x", None),
        (None, "y", None),
        (None, None, '{"a": "one"}'),
        (None, None, "no JSON at all"),
        (None, None, "a message without a value"),
    ]
    assert rows[0]["at"].year == 2013
