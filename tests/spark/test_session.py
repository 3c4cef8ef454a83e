"""The Spark session as the product makes it."""

from __future__ import annotations

import socket
import sys

import pytest
from pyspark.sql import SparkSession

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
