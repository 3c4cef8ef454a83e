"""The Spark session as the product makes it."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from backend.hosts.spark.session.session import PRINTED
from bench.streams import called_by_stream


@pytest.mark.skipif(sys.platform != "linux", reason="the wait is that of Linux")
def test_what_java_answers_in_a_stream_comes_in_segments_smaller_than_its_buffer(
    spark: SparkSession,
) -> None:
    from py4j.clientserver import ClientServerConnection

    segments: list[int] = []

    def work() -> None:
        gateway, jvm = spark.sparkContext._gateway, spark._jvm
        assert gateway is not None
        assert jvm is not None
        connection = gateway._gateway_client.get_thread_connection()
        assert isinstance(connection, ClientServerConnection)
        assert len(jvm.java.lang.StringBuilder("x" * 20_000).toString()) == 20_000
        segments.append(connection.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG))

    called_by_stream(spark, work)
    assert segments
    assert segments[0] <= 4096


def test_what_java_and_its_workers_print_goes_to_a_file(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    def printing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        print("a worker's last words", file=sys.stderr, flush=True)
        return batches

    jvm = spark.sparkContext._jvm
    assert jvm is not None
    jvm.java.lang.System.err.println("said by Java")
    spark.range(1).mapInArrow(printing, "id long").collect()
    warehouse = spark.conf.get("spark.sql.warehouse.dir")
    assert warehouse is not None
    printed = Path(warehouse.removeprefix("file:")).parent / PRINTED
    limit = time.monotonic() + 20
    while "last words" not in printed.read_text() and time.monotonic() < limit:
        time.sleep(0.05)
    assert "said by Java" in printed.read_text()
    assert "a worker's last words" in printed.read_text()
    assert "said by Java" not in capfd.readouterr().err
