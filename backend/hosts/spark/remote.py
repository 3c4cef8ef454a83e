"""Workers on other machines: what must lie where all of them see it, and whether they do.

A worker reads the spool and writes redo log and sink under the paths the driver has, so the folder
of runs must be the same on every machine: a network disk, mounted at one place.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from backend.workloads.files import FILE_FORMATS
from backend.workloads.sources import is_replayed
from backend.workloads.spec import StreamSpec, Workload, WorkloadError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: In place of Spark's master: everything in this process.
NO_MASTER: Final = "none"
#: Looks a core takes: a worker that is busy with one leaves the next to another.
_LOOKS: Final = 4


def is_remote(master: str) -> bool:
    """Whether workers may be on other machines, which have neither our files nor our packages."""
    return master != NO_MASTER and not master.startswith("local")


def check_places(master: str, workload: Workload, shared: Path | None) -> None:
    """Whether workers of the master can see what they need. shared: the folder that all machines
    have. Raises WorkloadError."""
    if not is_remote(master):
        return
    if shared is None:
        raise WorkloadError(
            "--master",
            f"the workers of {master} may be on other machines, which read the spool and write "
            "state and sink: name a folder that all of them have under the same path, with "
            "--shared FOLDER",
        )
    sink = workload.sink.path
    if sink is not None and not _is_seen(sink, shared):
        raise WorkloadError("[sink] path", _unseen(sink, master, shared, "write"))
    for stream in workload.streams:
        path = _read_by_workers(stream)
        if path is not None and not _is_seen(path, shared):
            raise WorkloadError(
                f"[streams.{stream.name}] path", _unseen(path, master, shared, "read")
            )


def _read_by_workers(stream: StreamSpec) -> str | None:
    """The path of files that Spark reads; other files are read here."""
    is_theirs = stream.source.format in FILE_FORMATS and not is_replayed(stream)
    return stream.source.options.get("path") if is_theirs else None


def _is_seen(path: str, shared: Path) -> bool:
    """A URL, or below the shared folder."""
    return "://" in path or Path(os.path.abspath(path)).is_relative_to(os.path.abspath(shared))


def _unseen(path: str, master: str, shared: Path, verb: str) -> str:
    return (
        f"{path} is on this machine, and the workers of {master}, which {verb} there, may be on "
        f"others; allowed: a path below {shared} (--shared), or a URL"
    )


def unseen_by_workers(session: SparkSession, folder: Path) -> list[str]:
    """Have workers on other machines look for a file that is written now, and write one beside it:
    for each machine where that does not work a sentence that says so."""
    context = session.sparkContext
    if not is_remote(str(context.master)):
        return []
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / f".seen-{uuid.uuid4().hex}"
    mark.touch()
    try:
        n_looks = _LOOKS * context.defaultParallelism
        looks = context.range(n_looks, numSlices=n_looks)
        told = looks.mapPartitions(_Look(mark)).collect()
    finally:
        for found in folder.glob(f"{mark.name}*"):
            found.unlink()
    return sorted(set(told))


class _Look:
    """What a worker does to find out."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __call__(self, numbers: Iterable[int]) -> Iterator[str]:
        folder = self._mark.parent
        where = f"workers on {socket.gethostname()}"
        if not self._mark.exists():
            yield f"{where} do not see {folder}: --shared must name a folder that all machines have"
            return
        try:
            self._mark.with_name(f"{self._mark.name}-{uuid.uuid4().hex}").touch()
        except OSError as error:
            yield f"{where} may not write to {folder}, which is shared ({error.strerror})"
