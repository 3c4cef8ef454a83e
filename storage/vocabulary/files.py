"""What became of the files of a stream: the matrix that tells it, a row for each of some files."""

from __future__ import annotations

from typing import Final

#: Kind of the matrix; its name is this, a colon and the stream's.
FILES: Final = "files"
#: Columns: tuples taken, None of a file that waits; misfits among them; 1 of a file that cannot be
#: read, or not to its end.
COLUMNS: Final = ("tuples", "misfits", "refused")
