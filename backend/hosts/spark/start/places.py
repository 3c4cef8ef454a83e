"""Where a run keeps what it needs, and whether all who need it can see it, before Spark starts."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path

from backend.hosts.agreement import (
    WHAT_TO_DO,
    Mark,
    check_agreement,
    check_order,
    check_state,
    spark_upcoming,
)
from backend.hosts.spark.session.remote import NO_MASTER, is_remote
from backend.operators.network.shards.shard import Places
from backend.systems.contract import Refused
from backend.workloads.files import FILE_FORMATS
from backend.workloads.paths import plain
from backend.workloads.replay import TAKEN
from backend.workloads.sources import file_record, is_replayed, reads_files
from backend.workloads.spec import StreamSpec, Workload, WorkloadError
from storage.reading.resume import LastState
from storage.vocabulary.records import Run


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


def why_lost(run: Run, folder: Path) -> str | None:
    """Why a run cannot go on with what should be in its folder; None: it is there.

    Raises Refused where it was kept somewhere else, and still is.
    """
    if run.settings.get("master") == NO_MASTER:
        return "it ran without Spark and kept no state"
    if folder.is_dir():
        is_old = any((folder / "spool").glob("*.parquet"))
        return "its tuples were left by an older version" if is_old else None
    known = run.settings.get("runs")
    if known and Path(known, run.id).is_dir():
        message = f"run {run.id} of this workload is kept in {known}"
        raise Refused(f"{message}; start as before, or start a new run with --fresh")
    return f"its folder {folder} is gone"


def check_whole(
    last: LastState, folder: Path, sink: str | None, streams: Collection[StreamSpec]
) -> None:
    """Whether what a run left in its folder, in its part of the sink and in the store belongs
    together. streams: those it reads. Raises Refused, and nothing was changed."""
    run_id, checkpoint, spool = last.run.id, folder / "checkpoint", folder / "spool"
    upcoming, mark = spark_upcoming(checkpoint), Mark.read(spool / TAKEN)
    stored = -1 if last.last_batch is None else last.last_batch
    newest = {"the store": stored} | ({} if mark is None else {f"the spool {spool}": mark.batch})
    check_agreement(run_id, f"the checkpoint {checkpoint}", upcoming, newest, sink)
    check_order(run_id, newest)
    if upcoming.batch:
        lost = [path for path in _counted_on(folder, streams) if not path.exists()]
        if lost:
            raise Refused(
                f"run {run_id} cannot be resumed: it is at batch {upcoming.batch}, and where it "
                f"was in its streams is not known without {lost[0]}; {WHAT_TO_DO}"
            )
    check_state(run_id, Places(str(folder / "state"), ""), mark, upcoming)


def _counted_on(folder: Path, streams: Collection[StreamSpec]) -> list[Path]:
    """Files that say up to where replayed streams were taken."""
    taken = folder / "spool" / TAKEN
    state = json.loads(taken.read_text()) if taken.exists() else {"through": {}}
    files = [taken] if any(map(is_replayed, streams)) else []
    read = [
        stream for stream in streams if reads_files(stream) and state["through"].get(stream.name)
    ]
    return [*files, *(file_record(stream, folder) for stream in read)]


def _read_by_workers(stream: StreamSpec) -> str | None:
    """The path of files that Spark reads; other files are read here."""
    is_theirs = stream.source.format in FILE_FORMATS and not is_replayed(stream)
    path = stream.source.options.get("path") if is_theirs else None
    return None if path is None else plain(path)


def _is_seen(path: str, shared: Path) -> bool:
    """A URL, or below the shared folder."""
    path = path.removeprefix("file://")
    return "://" in path or Path(os.path.abspath(path)).is_relative_to(os.path.abspath(shared))


def _unseen(path: str, master: str, shared: Path, verb: str) -> str:
    return (
        f"{path} is on this machine, and the workers of {master}, which {verb} there, may be on "
        f"others; allowed: a path below {shared} (--shared), or a URL"
    )
