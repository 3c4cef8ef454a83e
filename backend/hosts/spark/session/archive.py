"""Java's classes, laid out once so that later starts need not load them one by one.

Spark loads some twenty thousand classes before its first batch. Java can write those a run has
loaded into an archive and map it into memory from then on (class data sharing): ADR 8.
Standard library only at import: the launcher asks whether there is an archive.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from backend.hosts.spark.session.java import JavaFound, JavaMissing, find_java
from backend.processes.children import LIFELINE
from backend.processes.progress import ProgressLine, follow

#: Set in the one run whose classes are written to the archive this names.
RECORDING: Final = "PLANWATCH_RECORD_CLASSES"
#: A first start is over by then, and has the cores to itself.
SETTLED_S: Final = 30.0
#: An archive that is not done after so long never will be.
LEFT_S: Final = 3600.0
#: Two streams: queries of one bitmap word and of several, whose kernels differ.
_TRAINING: Final = """\
[streams.Many]
schema = "a1 int, a2 int, a3 double, a4 string"
source = { format = "memory", rows = [[1, 2, 0.5, "x"], [70, 3, 1.5, "y"]] }
[streams.Training]
schema = "a1 int, a2 int, a3 int, a4 int"
rate = 20000
[streams.Training.source]
format = "drift"
seed = 1
phases = [{ distribution = "uniform", n_tuples = 40000, selective = ["a1"] },
          { distribution = "bell", n_tuples = 40000, selective = ["a3"] }]
[knobs]
lambda_tuples = 4000
at_end = "stop"
[queries]
low = "Select * From Training Where a1 < 10 and a2 < 50 and a3 = 7"
high = "Select * From Training Where a1 > 90 and a4 >= 20"
far = "Select * From Training Where a2 between 3 and 5 and a3 <> 9 or a4 is null"
"""


_MANY: Final = "".join(
    f"many{i} = \"Select * From Many Where a1 = {i} and a2 < 9 and a3 > 0.1 or a4 = 'y'\"\n"
    for i in range(130)
)


def archive_of(java: JavaFound) -> Path | None:
    """Where the archive of this Java and this Spark belongs; None when that cannot be written."""
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        return None
    folder = Path(sys.prefix)
    name = f"classes-spark-{spark}-java-{java.version}.jsa"
    return folder / "share" / "planwatch" / name if os.access(folder, os.W_OK) else None


def java_options(java: JavaFound) -> str:
    """Options for Spark's driver: use the archive, write it, or nothing when there is none.

    An archive that does not fit (another class path) is passed over by Java, without a word.
    """
    recording = os.environ.get(RECORDING)
    if recording:
        return f"-XX:ArchiveClassesAtExit={recording} -Xlog:cds=off -Xlog:cds+dynamic=off"
    archive = archive_of(java)
    if archive is None or not archive.exists():
        return ""
    return f"-XX:SharedArchiveFile={archive} -Xshare:auto -Xlog:cds=off -Xlog:cds+dynamic=off"


def prepare(root: Path) -> bool:
    """Make the archive unless there is one; whether there is one now. root: the project's folder.

    Costs a minute once. Without an archive everything works, only the start takes longer.
    """
    archive = _wanted()
    if archive is None or archive.exists():
        return archive is not None
    with (
        ProgressLine("Preparing Java (once, takes about a minute)") as line,
        _recording(root, archive) as (command, env),
    ):
        follow(command, line, 0, env)
    return archive.exists()


def prepare_beside(root: Path) -> None:
    """The same while others work, from a while after the start on: in a process that gives way to
    all others and ends with this one. Returns at once."""
    archive = _wanted()
    if archive is not None and not archive.exists():
        threading.Thread(target=_prepare_beside, args=(root, archive), daemon=True).start()


def _prepare_beside(root: Path, archive: Path) -> None:
    time.sleep(SETTLED_S)
    with suppress(OSError), _recording(root, archive) as (command, env):
        quiet = subprocess.DEVNULL
        with subprocess.Popen(
            ["nice", "-n", "19", *command],
            stdin=subprocess.PIPE,  # its lifeline
            stdout=quiet,
            stderr=quiet,
            start_new_session=True,
            env={**env, LIFELINE: "1"},
        ) as process:
            process.wait()


def _wanted() -> Path | None:
    """Where the archive of the Java that is found belongs; None where there can be none."""
    try:
        return archive_of(find_java())
    except JavaMissing:
        return None


@contextmanager
def _recording(root: Path, archive: Path) -> Iterator[tuple[list[str], dict[str, str]]]:
    """A command, and its environment, that runs a small workload to its end and has Java write down
    the classes it used; they are the archive when the block is left."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    for left in archive.parent.glob(f".{archive.name}.*"):  # by a process that was killed
        if time.time() - left.stat().st_mtime > LEFT_S:
            left.unlink(missing_ok=True)
    scratch = archive.with_name(f".{archive.name}.{os.getpid()}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        workload = folder / "training.toml"
        workload.write_text(_TRAINING + _MANY, encoding="utf-8")
        command = [sys.executable, str(root / "run.py"), "backend", str(workload)]
        command += ["--store", str(folder / "training.db")]
        settings = {RECORDING: str(scratch), "PLANWATCH_NO_ENVIRONMENT": "1"}
        yield command, {**os.environ, **settings}
    if scratch.exists():
        scratch.replace(archive)
