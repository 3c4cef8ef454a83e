"""Tests in rows that run side by side; what fails there runs once more, alone.

A row is one pytest process with a cache of its own, by which pytest itself knows what failed. Who
passes the second time is FLAKY: named and counted, and forgiven up to MOST_FLAKY.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from tests.gate import times
from tests.gate.steps import Done

#: More first failures than these are no accident: none of them runs again.
MOST_RERUN: Final = 15
#: More of them than these fail the gate.
MOST_FLAKY: Final = 5
#: What rows leave behind, below the root.
FOLDER: Final = ".planwatch/gate"
#: What each test file took as last recorded: ``run.py test --record-times``.
TIMES: Final = "tests/gate/times.json"
_UNKNOWN_S: Final = 2.0
#: As a marker expression of pytest: all but these.
LEFT_OUT: Final = "not (bench or slow)"
NO_BENCH: Final = "not bench"
#: Folders that share what is dear to start, Spark and PostgreSQL, and stay in one row.
_TOGETHER: Final = ("tests/spark/", "tests/contract/")
WEB: Final = "tests/web/"
HOUSE: Final = "tests/house/"
_PROGRESS_EVERY_S: Final = 60.0
_SHARE: Final = re.compile(r"\[\s*(\d+)%\]")
_DEAREST: Final = 10
#: pytest's status when all tests ran and some failed.
_FAILED: Final = 1


@dataclass(frozen=True, slots=True)
class Row:
    """Test files that one process runs, by path below the root."""

    name: str
    files: tuple[str, ...]


class Taken(NamedTuple):
    """What a test file took: of the processors, and beside all else that ran."""

    processor_s: float
    s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """All rows, when they have ended. twice: failed and failed again, or were not run again;
    flaky: failed, then passed; taken: what each file took."""

    done: list[Done]
    twice: list[str]
    flaky: list[str]
    taken: Mapping[str, Taken]

    @property
    def status(self) -> int:
        """0: all of it holds, for all that could be seen."""
        fell = any(done.status != 0 for done in self.done)
        return 1 if fell or self.twice or len(self.flaky) > MOST_FLAKY else 0

    def text(self) -> str:
        """The dearest files, those that failed, those that are not to be relied on."""
        dearest = sorted(self.taken.items(), key=lambda item: -item[1].processor_s)[:_DEAREST]
        total = sum(taken.processor_s for taken in self.taken.values())
        lines = [f"\nprocessor time: {total:.0f} s, the dearest files (beside it: seconds)"]
        lines += [f"  {took.processor_s:7.1f} {took.s:7.1f} s  {path}" for path, took in dearest]
        lines += [f"FAILED {name}" for name in self.twice]
        if self.flaky:
            lines.append(f"FLAKY {len(self.flaky)} (at most {MOST_FLAKY}):")
            lines += [f"FLAKY {name}" for name in self.flaky]
        return "\n".join(lines)


def dealt_out(root: Path) -> tuple[Row, ...]:
    """Every test file in one of four rows that take about as long, as far as is recorded."""
    recorded = recorded_times(root)
    paths = sorted(str(path.relative_to(root)) for path in root.glob("tests/**/test_*.py"))
    files = {path: seconds_of(recorded, path) for path in paths if not path.startswith(HOUSE)}
    web = {path: s for path, s in files.items() if path.startswith(WEB)}
    engines = [path for path in files if path.startswith(_TOGETHER)]
    others = {path: s for path, s in files.items() if path not in web and path not in engines}
    first, second = _balanced({path: files[path] for path in engines}, others)
    left, right = _balanced({}, web)
    return (Row("engines", first), Row("others", second), Row("web a", left), Row("web b", right))


def recorded_times(root: Path) -> dict[str, Taken]:
    """By test file, as written down last."""
    recorded: dict[str, list[float]] = json.loads((root / TIMES).read_text())
    return {path: Taken(*taken) for path, taken in recorded.items()}


def seconds_of(recorded: Mapping[str, Taken], path: str) -> float:
    """Of a test file; a guess of one that is new."""
    return recorded[path].s if path in recorded else _UNKNOWN_S


def _balanced(
    given: Mapping[str, float], rest: Mapping[str, float]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Two halves; given is in the first. The dearest go first, each to the lighter half."""
    halves: tuple[list[str], list[str]] = (list(given), [])
    weights = [sum(given.values()), 0.0]
    for path in sorted(rest, key=lambda path: (-rest[path], path)):
        lighter = 0 if weights[0] < weights[1] else 1
        halves[lighter].append(path)
        weights[lighter] += rest[path]
    return tuple(sorted(halves[0])), tuple(sorted(halves[1]))


def run_rows(root: Path, rows: Sequence[Row], left_out: str = LEFT_OUT) -> Outcome:
    """All rows side by side, then what failed once more, row after row."""
    shutil.rmtree(root / FOLDER, ignore_errors=True)
    for row in rows:
        _folder(root, row).mkdir(parents=True)
    ended = threading.Event()
    teller = threading.Thread(target=_tell, args=(root, rows, ended), daemon=True)
    teller.start()
    with ThreadPoolExecutor(max_workers=max(1, len(rows))) as pool:
        done = dict(zip(rows, pool.map(lambda row: _run(root, row, left_out), rows), strict=True))
    ended.set()
    once = {row: _failed(root, row) for row in rows}
    again: dict[Row, Done] = {}
    if 0 < sum(map(len, once.values())) <= MOST_RERUN:
        for row in (row for row in rows if once[row]):
            again[row] = _run(root, row, left_out, "--lf", "--lfnf=none")
    twice = {row: _failed(root, row) for row in rows}
    for row in (row for row in again if not twice[row]):
        if done[row].status == _FAILED:  # anything else: it was not run to its end
            done[row] = replace(done[row], status=again[row].status)
    return Outcome(
        [*done.values(), *again.values()],
        sorted(name for row in rows for name in twice[row]),
        sorted(name for row in rows for name in once[row] - twice[row]),
        _taken(root, rows),
    )


def record_times(root: Path, outcome: Outcome) -> None:
    """Write down what each file took, by which the next rows are dealt out."""
    lines = [f"{json.dumps(path)}: {json.dumps(took)}" for path, took in outcome.taken.items()]
    (root / TIMES).write_text("{\n" + ",\n".join(sorted(lines)) + "\n}\n")


def _folder(root: Path, row: Row) -> Path:
    return root / FOLDER / row.name.replace(" ", "-")


def _run(root: Path, row: Row, left_out: str, *again: str) -> Done:
    """One go of a row; all it says is in its log, and on the screen when something failed."""
    folder, since = _folder(root, row), time.monotonic()
    name = f"{row.name}, again" if again else row.name
    log = folder / ("again.log" if again else "log")
    command = [sys.executable, "-m", "pytest", "-o", f"cache_dir={folder / 'cache'}"]
    command += ["-m", left_out, "--durations=15", "-p", times.__name__]
    command += again or (f"{times.OPTION}={folder / 'times.json'}",)
    command += row.files
    with log.open("w") as out:
        ran = subprocess.run(
            command,
            cwd=root,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    said = log.read_text(errors="replace")
    if ran.returncode == 0:
        said = said.rstrip().rpartition("\n")[2]
    print(f"\n=== {name}\n{said}", flush=True)
    return Done(name, ran.returncode, time.monotonic() - since)


def _failed(root: Path, row: Row) -> set[str]:
    """Names of the tests that failed in the last go, as pytest left them."""
    path = _folder(root, row) / "cache" / "v" / "cache" / "lastfailed"
    return set(json.loads(path.read_text())) if path.exists() else set()


def _taken(root: Path, rows: Sequence[Row]) -> dict[str, Taken]:
    taken: dict[str, Taken] = {}
    for row in rows:
        path = _folder(root, row) / "times.json"
        if path.exists():
            written = json.loads(path.read_text())
            taken |= {file: Taken(*both) for file, both in written.items()}
    return taken


def _tell(root: Path, rows: Sequence[Row], ended: threading.Event) -> None:
    """How far the rows are, once a minute."""
    for minutes in count(1):
        if ended.wait(_PROGRESS_EVERY_S):
            return
        shares = ", ".join(f"{row.name} {_share(root, row)} %" for row in rows)
        print(f"after {minutes} min: {shares}", flush=True)


def _share(root: Path, row: Row) -> str:
    log = _folder(root, row) / "log"
    said = log.read_text(errors="replace")[-2000:] if log.exists() else ""
    return next(reversed(_SHARE.findall(said)), "0")
