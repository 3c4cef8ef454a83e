"""The Spark session: its settings, each with its reason."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from backend.hosts.spark.session.archive import RECORDING, java_options
from backend.hosts.spark.session.java import find_java
from backend.hosts.spark.session.remote import is_remote
from backend.hosts.spark.session.shipping import shipped, workers_environment, workers_python
from storage.exchange.liveness import process_exists

log = logging.getLogger(__name__)
#: A deep expression tree needs stack where the query is planned.
STACK = "-Xss8m"
#: Java's quick compiler alone. The other one takes half of the processor time of small batches, and
#: two thirds of a start's, to no end where workers read the tuples.
QUICK = "-XX:TieredStopAtLevel=1"
#: A collector of one thread. The default one takes more heap from the machine where its pauses are
#: long, as they are on a busy one, needed or not, and has 60 MB of tables beside it.
SERIAL = "-XX:+UseSerialGC"
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
#: Java writes the archive of its classes when it ends; a slow disk takes a while over it.
WRITTEN_WITHIN_S = 300
#: Java answers through a buffer of twice so many bytes.
SEGMENT_BYTES = 4096
#: A Unix socket's name has at most so many bytes (macOS; Linux takes a few more).
SOCKET_NAME_BYTES = 103
#: Of which so many tell one socket from another: ``/.<uuid>.sock``.
_OWN_BYTES = 43
#: How the folder of a session's sockets begins, before the number of its process.
_SOCKETS = "planwatch-sockets-"
#: Attempts at a task before its batch fails.
TASK_ATTEMPTS = 4
#: The module that forks workers.
DAEMON = "backend.hosts.spark.start.daemon"
DRIVER_OPTIONS = "spark.driver.extraJavaOptions"
LOGGING = Path(__file__).with_name("log4j2.properties")
#: What Spark says of errors, in the scratch folder.
LOG = "spark.log"
#: What Java and its Python workers print, beside it; begun anew when it is larger than this.
PRINTED = "printed.log"
PRINTED_BYTES = 1 << 22
SETTINGS = {
    # one job a batch, no replanning between stages: an adaptive plan costs and changes nothing here
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    # partitions of a union are those of its parts, one after the other: shards are such parts
    "spark.sql.unionOutputPartitioning": "false",
    # a value that does not fit is kept aside and counted, never an exception in mid-batch
    "spark.sql.ansi.enabled": "false",
    # every column of a CSV line is parsed, so that a misfit shows whatever the plan reads
    "spark.sql.csv.parser.columnPruning.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "10",
    # where nothing has come it looks again after that
    "spark.sql.streaming.pollingDelay": "200ms",
    # a log of files taken is written again and again: older copies go after a minute, not ten
    "spark.sql.streaming.fileSource.log.cleanupDelay": "1min",
    # generated methods beyond the JIT's limit would run interpreted
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # a task's files go to their place at once: the staging folder is ours to publish or to discard
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    # no marker files beside what people read
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # files of a batch are looked up at once: a job for more than 32 of them took most of a second
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    # a small batch is one task, however many files it comes in; of a large one each core gets some
    "spark.sql.files.openCostInBytes": "65536",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.maxPartitionBytes": "4m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
}


def build_session(
    master: str,
    name: str,
    scratch: Path,
    conf: Mapping[str, str] | None = None,
    is_quick: bool = False,
) -> SparkSession:
    """A session on ``master``; ``scratch`` takes the warehouse, spill files and Spark's log.

    conf: settings that come before ours; options for the driver's Java are added to ours. is_quick:
    no tuples come through Java.

    Raises backend.hosts.spark.session.java.JavaMissing when no Java of a fitting version is found.
    """
    java = find_java()
    os.environ["JAVA_HOME"] = str(java.home)
    own = dict(conf or {})
    os.environ["PYSPARK_PYTHON"] = workers_python(master, own)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["TZ"] = "UTC"
    time.tzset()
    if not is_remote(master):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    scratch.mkdir(parents=True, exist_ok=True)
    builder = SparkSession.builder.master(patient(master)).appName(name)
    builder = builder.config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
    builder = builder.config("spark.local.dir", str(scratch / "local"))
    own |= {**workers_environment(master), **shipped(master, own, scratch)}
    driver = [STACK, java_options(java), *_logging(scratch)]
    driver.append(quick_options(own.pop(DRIVER_OPTIONS, ""), is_quick))
    builder = builder.config(DRIVER_OPTIONS, " ".join(filter(None, driver)))
    for key, value in {**SETTINGS, **_here(master), **own}.items():
        if key != "spark.driver.bindAddress" or not is_remote(master):
            builder = builder.config(key, value)
    on_interrupt = signal.getsignal(signal.SIGINT)
    session = builder.getOrCreate()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, on_interrupt)  # Spark's own would break into running batches
    _take_answers_at_once(session)
    _end_quietly(session)
    _keep_printed(session, scratch / PRINTED)
    return session


def quick_options(given: str, is_quick: bool) -> str:
    """Options for Java that were given, behind those for one through which no tuples come. It takes
    one collector only: ours gives way."""
    ours = [QUICK, *[SERIAL] * (not _COLLECTOR.search(given))] * is_quick
    return " ".join(filter(None, [*ours, given]))


def _keep_printed(session: SparkSession, path: Path) -> None:
    """Have Java write to a file what it, and workers on this machine, print: a worker that is cut
    off at a run's end prints a traceback, which tells people of nothing that went wrong."""
    if path.exists() and path.stat().st_size > PRINTED_BYTES:
        path.unlink(missing_ok=True)
    java = session.sparkContext._jvm
    if java is not None:
        stream = java.java.io.FileOutputStream(str(path), True)
        java.java.lang.System.setErr(java.java.io.PrintStream(stream, True))


def _logging(scratch: Path) -> tuple[str, ...]:
    """Options that have Java write to Spark's log what it would print."""
    properties = {"log4j2.configurationFile": LOGGING.as_uri(), "planwatch.log": scratch / LOG}
    return tuple(f'"-D{name}={value}"' for name, value in properties.items())


def _here(master: str) -> dict[str, str]:
    """Settings for workers on this machine."""
    return {} if is_remote(master) else {"spark.python.daemon.module": DAEMON, **_sockets(master)}


def _sockets(master: str) -> dict[str, str]:
    """Settings that have Java and workers on this machine talk over Unix sockets, in a folder none
    but the user may enter: over TCP each task waits 40 ms for an acknowledgement. None where the
    folder's name leaves no room for a socket's."""
    if not master.startswith("local"):
        return {}
    _remove_left_behind()
    folder = tempfile.mkdtemp(prefix=f"{_SOCKETS}{os.getpid()}-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if len(os.fsencode(folder)) + _OWN_BYTES > SOCKET_NAME_BYTES:
        return {}
    own = "spark.python.unix.domain.socket"
    return {f"{own}.enabled": "true", f"{own}.dir": folder}


def _remove_left_behind() -> None:
    """Folders of sockets whose process was killed; those of others are theirs to remove."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_SOCKETS}*-*"):
        pid = folder.name.removeprefix(_SOCKETS).partition("-")[0]
        with suppress(OverflowError):
            if pid.isdecimal() and not process_exists(int(pid)):
                shutil.rmtree(folder, ignore_errors=True)


def patient(master: str) -> str:
    """The master; a local one repeats a task whose worker was killed, as clusters do."""
    local = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    return master if local is None else f"local[{local[1] or 1},{TASK_ATTEMPTS}]"


def _take_answers_at_once(session: SparkSession) -> None:
    """Java sends the last part of an answer once the parts before it are acknowledged (py4j issue
    516), and a single segment is acknowledged after 40 ms: ask for segments so small that a full
    buffer is two of them. Holds for the calls of Spark's streams, where batches run."""
    gateway = session.sparkContext._gateway
    if sys.platform == "linux" and gateway is not None:
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]  # pyspark's is
        server: socket.socket = gateway._callback_server.server_socket
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT_BYTES)


def hush(session: SparkSession) -> None:
    """Let Spark say nothing more: what a stop breaks off is no error."""
    with suppress(Py4JError, OSError):  # Java may be gone already
        session.sparkContext.setLogLevel("OFF")


def _end_quietly(session: SparkSession) -> None:
    """When Java dies, who waits for its counters finds a closed connection: nobody needs to read
    how, the run says what happened."""
    server = session.sparkContext._accumulatorServer

    def note(*_: object) -> None:
        log.info("Spark's connection for counters broke off")

    setattr(server, "handle_error", note)  # noqa: B010 - it has no types


def close_session(session: SparkSession) -> None:
    """Stop Spark; in the run that prepares Java's classes, wait until they are written down."""
    gateway = session.sparkContext._gateway
    hush(session)
    try:
        session.stop()
    except (OSError, Py4JError) as error:
        log.info("Spark was gone before it could be stopped: %s", type(error).__name__)
    java = getattr(gateway, "proc", None)
    if RECORDING in os.environ and java is not None:
        java.stdin.close()
        java.wait(timeout=WRITTEN_WITHIN_S)
