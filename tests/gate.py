"""All checks of the project in one go, with what they need installed: ``run.py test``.

Runs inside the environment, which holds the pinned tools.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backend.launch.doctor import CHROMIUM_VARIABLE, find_chromium, find_git, find_postgres

#: How long a package manager may take.
INSTALL_WITHIN_S: Final = 600
_WEB: Final = Path(__file__).parent / "web"
_PLAYWRIGHT: Final = (sys.executable, "-m", "playwright", "install", "chromium")


@dataclass(frozen=True, slots=True)
class Tool:
    """A program the tests drive. package: Debian's name for it. other: another way to get it."""

    name: str
    find: Callable[[], Path | None]
    package: str
    other: tuple[str, ...] = ()


TOOLS: Final = (
    Tool("Chromium", find_chromium, "chromium", _PLAYWRIGHT),
    Tool("PostgreSQL's server", find_postgres, "postgresql"),
    Tool("git", find_git, "git"),
)


@dataclass(frozen=True, slots=True)
class Check:
    """One step of the gate. beside: runs while the step before it does; after: the step that it
    waits for, '' = none but those before all that run side by side."""

    name: str
    command: tuple[str, ...]
    beside: bool = False
    after: str = ""


def checks() -> tuple[Check, ...]:
    """The steps, cheap ones first; all of them run, whatever the earlier ones say."""
    python = sys.executable
    lint_imports = str(Path(python).with_name("lint-imports"))
    return (
        Check("lint", (python, "-m", "ruff", "check", ".")),
        Check("format", (python, "-m", "ruff", "format", "--check", ".")),
        Check("types", (python, "-m", "mypy")),
        Check("kernels", (python, "-m", "backend.hosts.rehearsal"), beside=True),
        Check("import rules", (lint_imports, "--no-cache")),
        *_tests(),
    )


def _tests() -> tuple[Check, ...]:
    """All tests but benches and slow ones, in three rows that take about as long; each starts
    engines and browsers, and waits for them half of its time."""
    pytest = (sys.executable, "-m", "pytest", "--durations=15", "-m", "not (bench or slow)")
    pages = tuple(f"tests/web/{path.name}" for path in sorted(_WEB.glob("test_page_*.py")))
    axe = "tests/web/test_accessibility.py"
    engine = ("tests/spark", "tests/contract", "tests/systems")
    return (
        Check("unit tests", (*pytest, "tests", *_ignored("tests/web", *engine))),
        Check("engine tests", (*pytest, *engine), beside=True),
        Check("web tests", (*pytest, "tests/web", *_ignored(axe, *pages)), beside=True),
        Check("accessibility", (*pytest, axe), beside=True, after="web tests"),
        Check("page tests", (*pytest, *pages), beside=True, after="engine tests"),
    )


def _ignored(*paths: str) -> list[str]:
    return [f"--ignore={path}" for path in paths]


def run_gate(root: Path, pytest_arguments: Sequence[str]) -> int:
    """0 when everything holds. With arguments: pytest alone, with these."""
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
    return _run_all(root, checks())


def provide(tool: Tool) -> str:
    """'' once the tool is here, installed if need be; else what is missing and what to type."""
    if tool.find() is not None:
        return ""
    ways: list[tuple[str, ...]] = []
    if os.geteuid() == 0 and shutil.which("apt-get"):
        install = ("apt-get", "install", "-y", "--no-install-recommends", tool.package)
        ways += [install, ("apt-get", "update"), install]
    if tool.other:
        ways.append(tool.other)
    for command in ways:
        print(f"{tool.name} is missing; trying: {' '.join(command)}", flush=True)
        if _runs(command) and tool.find() is not None:
            return ""
    return f"{tool.name} is missing. Type 'apt-get install {tool.package}' as root, then again."


def _runs(command: Sequence[str]) -> bool:
    """Whether an installer succeeded; what it prints is shown only when it did not."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command,
            env=quiet,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"  {error}", flush=True)
        return False
    if done.returncode != 0:
        print(*(done.stdout + done.stderr).splitlines()[-5:], sep="\n  ", flush=True)
    return done.returncode == 0


@dataclass(frozen=True, slots=True)
class Done:
    """A step that has ended."""

    name: str
    status: int
    seconds: float


def _run_all(root: Path, steps: Sequence[Check]) -> int:
    results: list[Done] = []
    for together in _groups(steps):
        results += _run_group(root, together)
    print("\n=== summary")
    for done in results:
        word = "ok" if done.status == 0 else "FAILED"
        print(f"  {word:8}{done.name:14}{done.seconds:7.1f} s", flush=True)
    return 1 if any(done.status for done in results) else 0


def _groups(steps: Sequence[Check]) -> list[list[Check]]:
    """Steps that run side by side."""
    groups: list[list[Check]] = []
    for step in steps:
        if step.beside and groups:
            groups[-1].append(step)
        else:
            groups.append([step])
    return groups


def _run_group(root: Path, steps: Sequence[Check]) -> list[Done]:
    """The first row says what it does while it does it, the others when they have ended."""
    first, *others = _rows(steps)
    with ThreadPoolExecutor(max_workers=len(steps)) as pool:
        waiting = [pool.submit(_run_quietly, root, row) for row in others]
        results = [_run_aloud(root, step) for step in first]
        for future in waiting:
            for step, done, said in future.result():
                _announce(step)
                print(said, flush=True)
                results.append(done)
    return results


def _rows(steps: Sequence[Check]) -> list[list[Check]]:
    """Steps that run one after the other."""
    rows: list[list[Check]] = []
    for step in steps:
        row = next((row for row in rows if row[-1].name == step.after), None)
        if row is None:
            rows.append([step])
        else:
            row.append(step)
    return rows


def _run_aloud(root: Path, step: Check) -> Done:
    _announce(step)
    since = time.monotonic()
    status = subprocess.run(step.command, cwd=root, check=False).returncode
    return Done(step.name, status, time.monotonic() - since)


def _run_quietly(root: Path, row: Sequence[Check]) -> list[tuple[Check, Done, str]]:
    results = []
    for step in row:
        since = time.monotonic()
        ran = subprocess.run(
            step.command,
            cwd=root,
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        done = Done(step.name, ran.returncode, time.monotonic() - since)
        results.append((step, done, ran.stdout))
    return results


def _announce(step: Check) -> None:
    print(f"\n=== {step.name}: {' '.join(step.command[1:])}", flush=True)
