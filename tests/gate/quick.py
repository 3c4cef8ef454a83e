"""``run.py test --quick``: what to run before a commit, four minutes at most.

Static checks and house-keeping, the tests that the change reaches, nearest first, and beside them
what only a real Spark and a real browser tell: every system on one Spark, every page opened once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.gate.reach import changed, reached, within
from tests.gate.rows import HOUSE, WEB, Row, recorded_times, seconds_of

#: Recorded seconds of each of the two rows.
MOST_S: Final = 120.0
#: With Spark, and in the browser, whatever changed.
ALWAYS: Final = (
    "tests/spark/test_every_system.py",
    "tests/web/test_phone.py",
)
_SPARK: Final = "tests/spark/"


def quick_rows(root: Path) -> tuple[tuple[Row, ...], list[str]]:
    """The rows, and the test files that the change reaches and that are left out."""
    recorded = recorded_times(root)
    files = [path for path in reached(root, changed(root)) if not path.startswith(HOUSE)]
    seconds = {path: seconds_of(recorded, path) for path in (*files, *ALWAYS)}
    started = [path for path in files if path.startswith((WEB, _SPARK)) and path not in ALWAYS]
    pure = [path for path in files if path not in started and path not in ALWAYS]
    left = MOST_S - sum(seconds[path] for path in ALWAYS)
    rows = (
        Row("reached", tuple(within(pure, seconds, MOST_S))),
        Row("started", (*ALWAYS, *within(started, seconds, left))),
    )
    taken = {path for row in rows for path in row.files}
    return tuple(row for row in rows if row.files), [path for path in files if path not in taken]
