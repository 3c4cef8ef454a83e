"""What the processes of a bench take: processor time and memory of this one and all below it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
#: Arguments of the browser that is measured.
CHROMIUM: Final = ("--no-sandbox", "--disable-gpu", "--no-first-run")
_TICKS: Final = os.sysconf("SC_CLK_TCK")


def tree_cpu_s() -> float:
    """Seconds of processor time of this process and all below it, ended ones included."""
    return sum(map(cpu_s, tree(os.getpid())))


def memory_mib() -> dict[str, float]:
    """MiB of the driver, of Java and of its Python workers; what several share counts in parts."""
    by_kind = {"driver": 0.0, "Java": 0.0, "workers": 0.0}
    for process in tree(os.getpid()):
        with suppress(OSError):  # it has ended
            program = Path(f"/proc/{process}/cmdline").read_bytes().partition(b"\0")[0]
            is_java = program.endswith(b"java")
            kind = "driver" if process == os.getpid() else "Java" if is_java else "workers"
            by_kind[kind] += _share_kib(process) / 1024
    return by_kind


def told_memory() -> str:
    """The same, as a line."""
    by_kind = memory_mib()
    parts = ", ".join(f"{kind} {mib:.0f}" for kind, mib in by_kind.items())
    return f"MiB of memory: {parts}; together {sum(by_kind.values()):.0f}"


def _share_kib(process: int) -> int:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def tree(process: int) -> Sequence[int]:
    """A process and all below it."""
    processes, waiting = [], [process]
    while waiting:
        pid = waiting.pop()
        processes.append(pid)
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):  # the thread has ended
                waiting += map(int, children.read_text().split())
    return processes


def cpu_s(process: int) -> float:
    """Seconds of processor time of a process and its children that ended; 0.0 if it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended, and its time is its parent's
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


def address_of(process: subprocess.Popen[bytes], log: Path) -> str:
    """Where a dashboard that was started is, as it says. Raises RuntimeError when it ends."""
    while process.poll() is None:
        address = re.search(r"(http://[\d.:]+)/", log.read_text(encoding="utf-8"))
        if address:
            return address.group(1)
        time.sleep(0.05)
    raise RuntimeError(log.read_text(encoding="utf-8"))


@contextmanager
def replaying(recording: Path) -> Iterator[str]:
    """The address of a dashboard on a recording, until the block is left."""
    with TemporaryDirectory() as name:
        log = Path(name) / "said.txt"
        with log.open("w", encoding="utf-8") as output:
            process = subprocess.Popen(
                [sys.executable, "run.py", "replay", str(recording), "--port", "0"],
                cwd=ROOT,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            yield address_of(process, log)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
