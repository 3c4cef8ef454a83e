"""Workers on other machines, and whether these have the folder that all must have.

A worker reads the spool and writes redo log and sink under the paths the driver has, so the folder
of runs must be the same on every machine: a network disk, mounted at one place.
"""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: In place of Spark's master: everything in this process.
NO_MASTER: Final = "none"
#: Looks a core takes: a worker that is busy with one leaves the next to another.
_LOOKS: Final = 4


def is_remote(master: str) -> bool:
    """Whether workers may be on other machines, which have neither our files nor our packages."""
    return master != NO_MASTER and not master.startswith("local")


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
        unseen = looks.mapPartitions(_Look(mark)).collect()
    finally:
        for trace in folder.glob(f"{mark.name}*"):
            trace.unlink()
    return sorted(set(unseen))


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
