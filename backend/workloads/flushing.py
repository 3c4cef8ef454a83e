"""Has what was written reach the disk, for runs that are to survive a power cut."""

from __future__ import annotations

import os
from pathlib import Path


def flush(path: Path | str) -> None:
    """Return when a file, or the list of names of a folder, is on the disk. Raises OSError."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def flush_newest(folder: Path) -> None:
    """The same of a folder and of the file in it with the highest number, if it is there."""
    if not folder.is_dir():
        return
    numbered = [path for path in folder.iterdir() if path.name.isdecimal() and path.is_file()]
    for path in (*sorted(numbered, key=lambda file: int(file.name))[-1:], folder):
        flush(path)
