"""What Spark notes of the spool's files that it has taken, kept short.

It notes every file for ever and writes all notes again each time ten more batches have come: after
hours that is megabytes each time. Files of the spool are deleted once they were taken, and no name
comes again: of files that are gone no note is needed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from backend.workloads.flushing import flush

CHECKPOINT: Final = "checkpoint"
#: Batches from one writing of all notes to the next, as Spark has it.
COMPACTED_EVERY: Final = 10
_COMPACT: Final = ".compact"
#: Notes of the newest batches stay: a killed run asks for them again.
_KEPT_BATCHES: Final = 10


def forget_gone(checkpoint: Path, spool: Path) -> None:
    """Take notes of files that are gone from the newest notes of each source. To be called within a
    batch, when Spark neither reads nor writes them. Raises OSError."""
    for folder in checkpoint.glob("sources/*"):
        compacted = [path for path in folder.iterdir() if path.suffix == _COMPACT]
        newest = max(compacted, key=lambda path: int(path.stem), default=None)
        if newest is not None:
            _shorten(newest, spool)


def _shorten(notes: Path, spool: Path) -> None:
    version, *lines = notes.read_bytes().splitlines()
    there = {path.name for path in spool.iterdir()}
    kept = [line for line in lines if _is_needed(line, spool, there, int(notes.stem))]
    if len(kept) == len(lines):
        return
    hidden = notes.with_name(f".{notes.name}.short")
    hidden.write_bytes(b"\n".join([version, *kept]))
    flush(hidden)
    notes.with_name(f".{notes.name}.crc").unlink(missing_ok=True)  # Hadoop's, of what was there
    os.replace(hidden, notes)


def _is_needed(line: bytes, spool: Path, there: set[str], newest: int) -> bool:
    note = json.loads(line)
    path = Path(unquote(urlsplit(note["path"]).path))
    is_gone = path.parent == spool and path.name not in there
    return not is_gone or note["batchId"] > newest - _KEPT_BATCHES
