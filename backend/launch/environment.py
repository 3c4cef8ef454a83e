"""The virtual environment beside run.py: made once, pinned by hash, checked in milliseconds.

Standard library only: this runs before anything is installed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from backend.processes.progress import ProgressLine, follow

#: Room for the environment and for what pip unpacks on the way.
NEEDED_BYTES: Final = 3 * 1024**3
RUN: Final = "requirements.txt"
DEV: Final = "requirements-dev.txt"

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
#: Two pinned packages are published as source only; this builds them, without fetching more.
_BUILDER: Final = "setuptools"
_NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|name resolution|Name or service not known"
    r"|nodename nor servname|Network is unreachable|Connection refused|ConnectTimeout"
    r"|ReadTimeout|ProxyError|Max retries|connection broken",
    re.IGNORECASE,
)


class SetupFailed(RuntimeError):
    """The environment could not be made; the message is a sentence and a next step."""


class Environment:
    """The ``.venv`` in the folder ``root``, holding the packages of the requirements files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / ".venv"
        self.python = self.folder / "bin" / "python"

    @property
    def is_current(self) -> bool:
        """Whether this very process runs in it."""
        return Path(sys.prefix).resolve() == self.folder.resolve()

    def is_ready(self, *names: str) -> bool:
        """Whether it stands with exactly the packages of the named requirements files."""
        return self.python.exists() and all(self._is_stamped(name) for name in names)

    def ensure(self, *names: str) -> None:
        """Make it hold the packages of the named files. Raises SetupFailed."""
        if self.is_ready(*names):
            return
        with _one_at_a_time(self.root / ".planwatch" / "setup.lock"):
            if not self.is_ready(*names):
                self._build(names)

    def _build(self, names: tuple[str, ...]) -> None:
        _check_room(self.root)
        try:
            if not self._is_whole():
                self._make_folder()
            with ProgressLine("Setting up (once, takes a few minutes)") as line:
                for name in names:
                    if not self._is_stamped(name):
                        self._install(name, line)
        except OSError as error:
            raise SetupFailed(f"The environment could not be written: {error}.") from error

    def _is_whole(self) -> bool:
        """Whether the interpreter starts and finds its own packages and pip."""
        if not self.python.exists():
            return False
        answer = subprocess.run(
            [self.python, "-I", "-c", "import pip, sys; print(*sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=False,
        )
        return answer.returncode == 0 and self._minor() == tuple(answer.stdout.split())

    def _make_folder(self) -> None:
        if find_spec("ensurepip") is None:
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            raise SetupFailed(
                "This Python cannot make virtual environments: its module ensurepip is missing. "
                f"Type 'apt-get install python{version}-venv' (as root), then start again."
            )
        import venv  # these two only where they are used: a start must not pay for a set-up

        venv.EnvBuilder(with_pip=True, clear=True, symlinks=True).create(self.folder)

    def _install(self, name: str, line: ProgressLine) -> None:
        requirements = self.root / name
        text = requirements.read_text(encoding="utf-8")
        total = len(_PIN.findall(text))
        builder = re.search(rf"^{_BUILDER}==(?:.*\\\n)*.*\n", text, re.MULTILINE)
        if builder is not None:
            import tempfile

            with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as pinned:
                pinned.write(builder.group())
                pinned.flush()
                self._pip(Path(pinned.name), line, total=0)
        self._pip(requirements, line, total)
        self._stamp_of(name).write_text(self._fingerprint(name), encoding="utf-8")

    def _pip(self, requirements: Path, line: ProgressLine, total: int) -> None:
        command = [str(self.python), "-I", "-m", "pip", "install", "--require-hashes"]
        command += ["--no-build-isolation", "--progress-bar=off", "--retries=2"]
        command += ["--disable-pip-version-check", "--no-input", "-r", str(requirements)]
        status, output = follow(command, line, total, env={**os.environ, "PIP_USER": "0"})
        if status != 0:
            raise SetupFailed(explain_pip(output))

    def _is_stamped(self, name: str) -> bool:
        try:
            return self._stamp_of(name).read_text(encoding="utf-8") == self._fingerprint(name)
        except OSError:
            return False

    def _stamp_of(self, name: str) -> Path:
        return self.folder / f"installed-{name}"

    def _fingerprint(self, name: str) -> str:
        """What the packages were installed from, and the Python they were installed for."""
        pins = (self.root / name).read_text(encoding="utf-8")
        return f"# for Python {'.'.join(self._minor())}\n{pins}"

    def _minor(self) -> tuple[str, ...]:
        """The version the folder was made for, ('3', '11'); empty when there is none."""
        libraries = sorted(self.folder.glob("lib/python3.*"))
        return tuple(libraries[-1].name.removeprefix("python").split(".")) if libraries else ()


def explain_pip(output: str) -> str:
    """One sentence and a next step from what pip printed before it gave up."""
    if "No space left on device" in output:
        return "The disk is full: free about 3 GB, then start again; what was fetched is kept."
    if "DO NOT MATCH THE HASHES" in output:
        return (
            "A fetched package differs from the pinned one, so it was refused. Type "
            "'python3 -m pip cache purge' and start again; if it stays, your mirror is to blame."
        )
    if _NO_NETWORK.search(output):
        return (
            "The packages could not be fetched: no network, or none that reaches the package "
            "index. Connect (or set PIP_INDEX_URL to a mirror of yours) and start again; what was "
            "fetched is kept."
        )
    errors = [text for text in output.splitlines() if text.startswith("ERROR")]
    reason = errors[0].removeprefix("ERROR:").strip() if errors else "pip gave no reason"
    return f"pip failed: {reason}. Type 'python3 run.py doctor' to see what is missing."


def _check_room(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        raise SetupFailed(
            f"The disk is nearly full: {free / 1024**3:.1f} GB free at {folder}, the set-up needs "
            f"{NEEDED_BYTES / 1024**3:.0f}. Free some space, then start again."
        )


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """Hold the lock file: two first starts at once would install into each other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another start is setting up the environment; waiting for it.", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
