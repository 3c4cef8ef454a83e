"""Array literals handed to the JVM whole: one node of a plan, however many elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from py4j.java_gateway import JavaObject
from pyspark.sql import Column, SparkSession


def long_array(session: SparkSession, values: NDArray[np.int64]) -> Column:
    """An ARRAY<BIGINT> literal; three calls into the JVM, not one an element."""
    gateway, jvm = session.sparkContext._gateway, session._jvm
    assert gateway is not None
    assert jvm is not None
    target = gateway.new_array(jvm.long, len(values))
    packed = bytearray(values.astype(">i8").tobytes())
    jvm.java.nio.ByteBuffer.wrap(packed).asLongBuffer().get(target)
    return _literal(session, target)


def text_array(session: SparkSession, values: Sequence[str]) -> Column:
    """An ARRAY<STRING> literal."""
    gateway, jvm = session.sparkContext._gateway, session._jvm
    assert gateway is not None
    assert jvm is not None
    target = gateway.new_array(jvm.java.lang.String, len(values))
    for place, value in enumerate(values):
        target[place] = value
    return _literal(session, target)


def _literal(session: SparkSession, array: JavaObject) -> Column:
    assert session._jvm is not None
    from pyspark.sql.classic.column import Column as ClassicColumn

    return ClassicColumn(session._jvm.org.apache.spark.sql.functions.lit(array))
