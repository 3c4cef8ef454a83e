"""Programs that the tests drive: found, or installed where that is allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from backend.launch.doctor import find_chromium, find_git, find_postgres

#: How long a package manager may take.
INSTALL_WITHIN_S: Final = 600
_PLAYWRIGHT: Final = (sys.executable, "-m", "playwright", "install", "chromium-headless-shell")


@dataclass(frozen=True, slots=True)
class Tool:
    """A program the tests drive. package: Debian's name for it. other: another way to get it."""

    name: str
    find: Callable[[], Path | None]
    package: str
    other: tuple[str, ...] = ()


TOOLS: Final = (
    Tool("Chromium", find_chromium, "chromium-headless-shell", _PLAYWRIGHT),
    Tool("PostgreSQL's server", find_postgres, "postgresql"),
    Tool("git", find_git, "git"),
)


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
