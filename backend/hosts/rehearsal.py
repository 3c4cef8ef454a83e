"""Every kernel of operator networks compiled before a query needs it.

numba compiles a kernel at its first call and keeps the machine code beside the module. All of them
take a minute and more, once a machine: a process of its own does that from the first start on.
Afterwards a process loads them in seconds, which workers do before the first batch.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pyarrow as pa

from backend.cql import parse_query
from backend.model.schema import Schema, ValidTimes
from backend.operators.digest import package_digest
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.shards.homes import MemoryShard
from backend.operators.network.shards.shard import NetworkTask, run_shard
from backend.operators.network.shards.timed import Arrived
from backend.processes.children import LIFELINE, hold_lifeline
from backend.systems.cores import BringsOperators, CoreKind
from backend.systems.registry import CORES
from backend.systems.stream.compiling import compile_queries

log = logging.getLogger(__name__)
#: A process that takes longer is ended.
WITHIN_S: Final = 600
ROOT: Final = Path(__file__).resolve().parents[2]
_NETWORK: Final = ROOT / "backend" / "operators" / "network"
_SCHEMA: Final = Schema(
    Schema.parse("k bigint, x double, s string, t bigint").attributes,
    key=("k", "t"),
    valid=ValidTimes("t", key="s", type="bigint"),
)
#: Of tuples with two times between which they are valid.
_VALID: Final = Schema(
    Schema.parse("k bigint, x double, s string, t bigint, u bigint").attributes,
    valid=ValidTimes("t", "u", type="bigint"),
)
_SCHEMAS: Final = {**dict.fromkeys(("A", "B", "C"), _SCHEMA), "V": _VALID}
_TICK_US: Final = 1_000_000
#: Together they use every operator, and every kernel of each.
_QUERIES: Final = {
    "groups": "Select k, Count(*) As n, Sum(k) As i, Avg(x) As f, Min(s) As l, Max(x) As h, "
    "Count(Distinct s) As d From A [Range 3 Seconds] Group By k",
    "groups by parts": "Select s, Count(*) As n, Max(k) As m From A [Partition By k Rows 2] "
    "Group By s",
    "all": "Select Rstream(k) From A [Now]",
    "two": "Select Istream(A.k, B.x) From A [Rows 9], B [Range 5 Seconds Slide 2 Seconds] "
    "Where A.k = B.k",
    "three": "Select Dstream(A.k) From A [Range 2 Seconds], B [Range 2 Seconds], C [Rows 3] "
    "Where A.k = B.k And B.k = C.k",
    "bags": "Select P.k, Q.x From (Select k From A [Partition By s Rows 1]) As P, "
    "(Select Distinct k, x From B [Range 2 Seconds]) As Q Where P.k = Q.k",
    "sets": "(Select k From A [Range 2 Seconds] Except Select k From B [Range 2 Seconds]) "
    "Intersect Select k From C [Rows 5]",
    "runs": "Select k, Valid(A) From A (k) [Range 3 Seconds] Where Valid(A) > 1",
    "others": "Select k From A [Range 1 Second] Where k not in (Select k From B [Rows 2])",
}
#: For cores that bring operators of their own: joins along keys, and runs of valid times.
_BROUGHT: Final = {
    "along keys": "Select A.k, C.x From A [Range 3 Seconds], B [Range 3 Seconds], C [Rows 50] "
    "Where A.k = B.k And B.k = C.k And A.t = B.t And B.t = C.t",
    "runs": "Select k, Valid(V) From V (k) [Range 3 Seconds] Where Valid(V) > 1",
}
#: Of each job.
_BATCHES: Final = 2
_TUPLES: Final = 600


def rehearse() -> None:
    """Call every kernel, compiled or found compiled."""
    jobs = _jobs()
    home = MemoryShard(lambda version: jobs[int(version)])
    for batch in range(_BATCHES * len(jobs)):
        version, first = batch // _BATCHES, batch * _TUPLES
        job = jobs[version]
        arrived = {
            name: [Arrived(_tuples(first + n).select(_SCHEMAS[name].names))]
            for n, name in enumerate(job.streams)
        }
        task = NetworkTask("rehearsal", batch, job, str(version), frozenset(), "", "parquet")
        run_shard(task, 0, home, arrived, ())


def _jobs() -> list[NetworkJob]:
    """The queries as planned, then as each core tunes them; operators that cores bring last."""
    jobs = _tuned(_QUERIES, [core for core in CORES if not isinstance(core, BringsOperators)])
    for core in CORES:
        if isinstance(core, BringsOperators):
            jobs += _tuned(_BROUGHT, [core])
    return jobs


def _tuned(texts: Mapping[str, str], kinds: Sequence[CoreKind]) -> list[NetworkJob]:
    queries = [parse_query(name, text, _SCHEMAS) for name, text in texts.items()]
    since = dict.fromkeys(texts, 0)
    plan = compile_queries(queries, since=since, tick_us=_TICK_US, kinds=kinds)
    job = NetworkJob(plan, _SCHEMAS, dict.fromkeys(_SCHEMAS, StreamTime("t")))
    tunings = [tuning for core in kinds for tuning in core.rehearsals(plan)]
    return [job, *map(job.executed, tunings)]


def _tuples(first: int) -> pa.Table:
    """Some, of keys most of which come again soon, in order of time, NULL among them."""
    numbers = range(first, first + _TUPLES)
    return pa.table(
        {
            "k": pa.array([n * 7 % 100 if n % 50 else n for n in numbers], pa.int64()),
            "x": pa.array([n % 13 / 4 if n % 11 else None for n in numbers], pa.float64()),
            "s": pa.array([f"s{n % 17}" if n % 19 else None for n in numbers], pa.string()),
            "t": pa.array([n // 40 for n in numbers], pa.int64()),
            "u": pa.array([n // 40 + n % 3 + 1 for n in numbers], pa.int64()),
        }
    )


def _mark() -> Path:
    """Stands beside the machine code when all kernels of this version are compiled."""
    version_words = f"{package_digest(_NETWORK)}-numba-{version('numba')}"
    return _NETWORK / "__pycache__" / f"rehearsed-{version_words}"


def compiled() -> threading.Thread:
    """Compile all kernels in a process of its own, unless they are: a thread that waits for it."""
    thread = threading.Thread(target=_compile, daemon=True)
    thread.start()
    return thread


def _compile() -> None:
    if _mark().exists():
        return
    command = [sys.executable, "-m", "backend.hosts.rehearsal"]
    quiet, env = subprocess.DEVNULL, {**os.environ, LIFELINE: "1"}
    try:
        with subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, env=env
        ) as process:
            _wait(process)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("kernels are compiled in the first batches: %s", error)


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Raises subprocess.SubprocessError when it fails, or takes too long and is ended."""
    try:
        status = process.wait(WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    if status:
        raise subprocess.CalledProcessError(status, process.args)


def main() -> None:
    """What the process does; it gives way to others, and ends with the one that started it."""
    hold_lifeline()
    os.nice(10)
    rehearse()
    with suppress(OSError):
        _mark().parent.mkdir(exist_ok=True)
        _mark().touch()


if __name__ == "__main__":
    main()
