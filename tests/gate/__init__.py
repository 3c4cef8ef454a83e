"""All checks of the project in one go, with what they need installed: ``run.py test``.

Static checks and house-keeping come first; when one of them fails, nothing else is run. Then all
tests run in rows, side by side, and what failed in them runs once more when the machine is quiet.
Runs inside the environment, which holds the pinned tools.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from backend.launch.doctor import CHROMIUM_VARIABLE, find_chromium
from tests.gate.quick import quick_rows
from tests.gate.rows import (
    LEFT_OUT,
    NO_BENCH,
    Outcome,
    Row,
    dealt_out,
    record_times,
    run_rows,
)
from tests.gate.steps import Check, Done, run_beside, summary
from tests.gate.tools import TOOLS, provide


def run_gate(root: Path, options: argparse.Namespace, pytest_arguments: Sequence[str]) -> int:
    """0 when everything holds. options: as of ``add_test``; with pytest_arguments: pytest alone,
    with these."""
    lacking = [text for tool in TOOLS if (text := provide(tool))]
    if lacking:
        print("The tests cannot run:", *lacking, sep="\n  ", file=sys.stderr)
        return 1
    os.environ[CHROMIUM_VARIABLE] = str(find_chromium())
    # each of the many processes that tests start would compile all modules for itself
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if pytest_arguments:
        command = [sys.executable, "-m", "pytest", *pytest_arguments]
        return subprocess.run(command, cwd=root, check=False).returncode
    if options.quick:
        rows, left = quick_rows(root)
        outcome = run_all(root, first_checks(), rows)
        print(f"{len(left)} test files that the change reaches were left out:", *left, sep="\n  ")
        return 1 if outcome is None else outcome.status
    outcome = run_all(root, first_checks(), dealt_out(root), NO_BENCH if options.all else LEFT_OUT)
    if options.record_times and outcome is not None:
        record_times(root, outcome)
    return 1 if outcome is None else outcome.status


def run_all(
    root: Path, first: Sequence[Sequence[Check]], rows: Sequence[Row], left_out: str = LEFT_OUT
) -> Outcome | None:
    """first: lists that run side by side, each one after the other; the rows follow when all of
    these hold, else None."""
    done = run_beside(root, first)
    if any(one.status for one in done):
        print(summary([*done, *(Done(row.name, None, 0.0) for row in rows)]), flush=True)
        return None
    outcome = run_rows(root, rows, left_out)
    print(summary([*done, *outcome.done]))
    print(outcome.text(), flush=True)
    return outcome


def first_checks() -> tuple[tuple[Check, ...], ...]:
    """Static checks and house-keeping; beside them what all rows need is made once."""
    python = sys.executable
    classes = "from pathlib import Path; from backend.hosts.spark.session.archive import prepare"
    return (
        (
            Check("lint", (python, "-m", "ruff", "check", ".")),
            Check("format", (python, "-m", "ruff", "format", "--check", ".")),
            Check("import rules", (str(Path(python).with_name("lint-imports")), "--no-cache")),
            Check("house-keeping", (python, "-m", "pytest", "-q", "tests/house")),
            Check("Java's classes", (python, "-c", f"{classes}; prepare(Path.cwd())")),
        ),
        (
            Check("types", (python, "-m", "mypy")),
            Check("kernels", (python, "-m", "backend.hosts.rehearsal")),
        ),
    )
