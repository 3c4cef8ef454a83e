"""How files of a redo log are laid out: facts as JSON, then tables as they lie in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from backend.operators.network.shards.timed import Timed

#: Columns beside a stream's own; no attribute begins with an underscore.
_TAU: Final = "_tau"
_ARRIVAL: Final = "_arrival"


def head_of(facts: Mapping[str, Any]) -> bytes:
    """What a file begins with: its facts, as JSON."""
    content = json.dumps(facts).encode()
    return len(content).to_bytes(8, "little") + content


def facts_of(source: Any) -> dict[str, Any]:
    """The facts that a file begins with; what comes behind them is left."""
    length = int.from_bytes(source.read(8), "little")
    facts: dict[str, Any] = json.loads(exactly(source, length))
    return facts


def exactly(source: Any, n_bytes: int) -> bytes:
    """So many bytes. Raises EOFError where there are fewer."""
    data: bytes = source.read(n_bytes)
    if len(data) != n_bytes:
        raise EOFError(f"it ends {n_bytes - len(data)} bytes early")
    return data


def with_times(timed: Timed) -> pa.Table:
    """Tuples with their times and numbers as columns."""
    table = timed.tuples.append_column(_TAU, pa.array(timed.tau))
    return table.append_column(_ARRIVAL, pa.array(timed.arrivals))


def write_ipc(out: Any, table: pa.Table) -> None:
    """As it lies in memory: to compress it would take longer than to write it."""
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)


def ipc(table: pa.Table) -> pa.Buffer:
    """A table as it is written."""
    out = pa.BufferOutputStream()
    write_ipc(out, table)
    return out.getvalue()


def ipc_bytes(table: pa.Table) -> int:
    """How many there will be; nothing is copied."""
    out = pa.MockOutputStream()
    write_ipc(out, table)
    n_bytes: int = out.size()
    return n_bytes


def timed_of(data: bytes) -> Timed:
    """Tuples that were written with their times and numbers."""
    table = pa.ipc.open_stream(data).read_all()
    # Written to, as those of a batch that has just come: kernels are compiled for such ones.
    tau, arrivals = (np.array(table.column(name).to_numpy()) for name in (_TAU, _ARRIVAL))
    return Timed(table.drop_columns([_TAU, _ARRIVAL]), tau, arrivals)
