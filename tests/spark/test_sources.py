"""What Spark reads: messages of a broker as tuples, and files whatever their names are."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from backend.hosts.spark.run.sources import native, parse_json, read_at_once
from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT
from backend.workloads.paths import pattern_beside
from backend.workloads.spec import SourceSpec, StreamSpec

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


ODD = ["u*y", "u[x]", "u?y", "u{a,b}y", "u\\y", "u[", "[a]*{", "u%20y"]


@pytest.mark.parametrize("name", ODD)
def test_letters_of_patterns_in_names_stand_for_themselves(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """Of folders above the workload, and of files that are there; one that Spark alone reads."""
    texts = {name: "right", "uZZy": "wrong", "ux": "wrong", "uZy": "wrong", "ua": "wrong"}
    for folder, text in texts.items():
        for file in (name, "uZZy.txt", "ux.txt"):
            path = tmp_path / folder / "in" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text} {file == name}\n")
    for given, expected in (
        (f"in/{name}", ["right True"]),
        ("in/uZZ*.txt", ["right False"]),
        ("in", ["right False", "right False", "right True"]),
    ):
        source = SourceSpec("csv", {"path": pattern_beside(tmp_path / name, given), "comment": "#"})
        stream = StreamSpec("S", Schema.parse("value string"), source, rate=0.0)
        read = read_at_once(spark, stream).slice(0, 9)
        assert sorted(read.column("value").to_pylist()) == expected
        frame = native(spark, stream)
        writer = frame.writeStream.trigger(availableNow=True).format("memory").queryName("odd")
        writer.start().awaitTermination()
        assert sorted(row["value"] for row in spark.table("odd").collect()) == expected
