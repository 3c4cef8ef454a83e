"""Steps of the gate: commands that run one after the other or side by side, and what they said."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PRINTING: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class Check:
    """One step, and what it runs."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """A step that has ended. status: of its process; None = not run."""

    name: str
    status: int | None
    seconds: float


def run_beside(root: Path, lists: Sequence[Sequence[Check]]) -> list[Done]:
    """Each list one after the other, the lists side by side; what a step said comes when it has
    ended. Within a list nothing follows a failed step."""
    with ThreadPoolExecutor(max_workers=max(1, len(lists))) as pool:
        parts = [pool.submit(_run_list, root, checks) for checks in lists]
        return [done for part in parts for done in part.result()]


def _run_list(root: Path, checks: Sequence[Check]) -> list[Done]:
    done: list[Done] = []
    for check in checks:
        failed = any(one.status for one in done)
        done.append(Done(check.name, None, 0.0) if failed else _run(root, check))
    return done


def _run(root: Path, check: Check) -> Done:
    since = time.monotonic()
    ran = subprocess.run(
        check.command,
        cwd=root,
        check=False,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with _PRINTING:
        print(f"\n=== {check.name}: {' '.join(check.command[1:])}\n{ran.stdout}", flush=True)
    return Done(check.name, ran.returncode, time.monotonic() - since)


def summary(steps: Sequence[Done]) -> str:
    """A line a step."""
    words = {None: "not run", 0: "ok"}
    lines = [
        f"  {words.get(done.status, 'FAILED'):8}{done.name:14}{done.seconds:7.1f} s"
        for done in steps
    ]
    return "\n".join(["\n=== summary", *lines])
