"""What this machine has, what it lacks and what to type for it. Standard library only."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from backend.hosts.spark.session.java import JavaMissing, find_java
from backend.launch.environment import DEV, NEEDED_BYTES, RUN, Environment
from backend.launch.ports import DEFAULT_PORT, PortRefused, bound_port

#: Names the browser for the web tests when it is not where it is looked for.
CHROMIUM_VARIABLE: Final = "PLANWATCH_CHROMIUM"
#: What a store may want to grow by while a demo runs.
ROOM_TO_RUN_BYTES: Final = 512 * 1024**2

_CHROMIUMS: Final = (
    *("chromium-headless-shell", "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable"),
)
_DOWNLOADED: Final = (
    ".cache/ms-playwright/chromium-*/chrome-linux*/chrome",
    "Library/Caches/ms-playwright/chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)
_SERVER_FOLDERS: Final = (
    "usr/lib/postgresql/*/bin",
    "opt/homebrew/opt/postgresql*/bin",
    "usr/local/opt/postgresql*/bin",
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One line of the report. state: 'missing' fails it, 'note' does not. step: what to type."""

    name: str
    state: Literal["ok", "note", "missing"]
    text: str
    step: str = ""


def examine(
    environment: Environment, host: str, port: int | None, store: Iterable[Diagnosis] = ()
) -> int:
    """Print the report; 1 when something is missing that a start needs, else 0.

    store: what whoever may open the store found out about it.
    """
    findings = [*look_around(environment, host, port), *store]
    for finding in findings:
        print(f"  {finding.state:8} {finding.name:12} {finding.text}")
        if finding.step:
            print(f"{'':24}-> {finding.step}")
    missing = [finding.name for finding in findings if finding.state == "missing"]
    print(f"Missing: {', '.join(missing)}." if missing else "Nothing is missing.")
    return 1 if missing else 0


def look_around(environment: Environment, host: str, port: int | None) -> Iterator[Diagnosis]:
    """All findings about the machine, in the order a start meets them."""
    yield Diagnosis("Python", "ok", f"{sys.version.split()[0]} at {sys.executable}")
    yield _environment(environment)
    yield _disk(environment)
    yield _java(environment)
    yield _port(host, port)
    yield from _for_tests(environment)


def _environment(environment: Environment) -> Diagnosis:
    if environment.is_ready(RUN):
        return Diagnosis("environment", "ok", f"{environment.folder}, as pinned in {RUN}")
    if find_spec("ensurepip") is None:
        step = f"apt-get install python{sys.version_info.major}.{sys.version_info.minor}-venv"
        return Diagnosis("environment", "missing", "this Python cannot make one", step)
    what = "out of date" if environment.python.exists() else "not made yet"
    return Diagnosis("environment", "note", what, "python3 run.py   (makes it first)")


def _disk(environment: Environment) -> Diagnosis:
    needed = ROOM_TO_RUN_BYTES if environment.is_ready(RUN) else NEEDED_BYTES
    free = shutil.disk_usage(environment.root).free
    text = f"{free / 1024**3:.1f} GB free at {environment.root}"
    if free >= needed:
        return Diagnosis("disk", "ok", text)
    return Diagnosis("disk", "missing", text, f"free {(needed - free) / 1024**3:.1f} GB more")


def _java(environment: Environment) -> Diagnosis:
    try:
        java = find_java()
    except JavaMissing as error:
        if environment.is_current:
            return Diagnosis("Java", "missing", str(error))
        return Diagnosis("Java", "note", "none on this machine; one comes with the environment")
    return Diagnosis("Java", "ok", f"{java.version} from {java.source}, {java.home}")


def _port(host: str, port: int | None) -> Diagnosis:
    number = DEFAULT_PORT if port is None else port
    try:
        free = bound_port(host, number) is not None
    except (OSError, PortRefused) as error:
        return Diagnosis("port", "missing", f"{host}:{number}: {error}", "--host and --port")
    if free:
        return Diagnosis("port", "ok", f"{host}:{number} is free")
    if port is None:
        return Diagnosis(
            "port", "note", f"{host}:{number} is taken; the next free one will be used"
        )
    return Diagnosis("port", "missing", f"{host}:{number} is taken", "--port with another number")


def _for_tests(environment: Environment) -> Iterator[Diagnosis]:
    """What 'run.py test' needs besides; it installs these itself where it may."""
    ready = environment.is_ready(DEV)
    yield Diagnosis(
        "test pins", "ok" if ready else "note", "as pinned" if ready else "not installed"
    )
    for name, path in (
        ("Chromium", find_chromium()),
        ("PostgreSQL", find_postgres()),
        ("git", find_git()),
    ):
        if path is None:
            yield Diagnosis(name, "note", "not here; only the tests use it", "python3 run.py test")
        else:
            yield Diagnosis(name, "ok", str(path))


def find_chromium() -> Path | None:
    """A Chromium or Chrome: the one named by PLANWATCH_CHROMIUM, installed, or downloaded."""
    named = os.environ.get(CHROMIUM_VARIABLE)
    if named:
        return Path(named) if os.access(named, os.X_OK) else None
    for name in _CHROMIUMS:
        command = shutil.which(name)
        if command is not None:
            return Path(command)
    app = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
    downloaded = (path for pattern in _DOWNLOADED for path in sorted(Path.home().glob(pattern)))
    return next((path for path in (app, *downloaded) if os.access(path, os.X_OK)), None)


def find_postgres() -> Path | None:
    """The folder of PostgreSQL's server programs (initdb, postgres), the newest one."""
    installed = [path for pattern in _SERVER_FOLDERS for path in sorted(Path("/").glob(pattern))]
    on_path = shutil.which("initdb")
    candidates = installed[::-1] + ([] if on_path is None else [Path(on_path).resolve().parent])
    for folder in candidates:
        if all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres")):
            return folder
    return None


def find_git() -> Path | None:
    """The git command."""
    git = shutil.which("git")
    return None if git is None else Path(git)
