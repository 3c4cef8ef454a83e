"""Getting our Python code to where Spark's workers run it, on this machine or another."""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import sys
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from pyspark import cloudpickle

from backend.hosts.spark.session.remote import is_remote

log = logging.getLogger(__name__)
ROOT: Final = Path(__file__).resolve().parents[4]
PACKAGE: Final = "backend"
#: Our packages that workers import, and those of others; folders they are unpacked as.
_OURS: Final = (PACKAGE, "storage")
_OTHERS: Final = ("numpy", "numba", "llvmlite", "pyarrow", "lark", "google-re2")
_CODE: Final = "planwatch-code"
_PACKAGES: Final = "planwatch-packages"
#: Beside source: machine code of numba's, found where the sources keep their times.
_SUFFIXES: Final = frozenset({".py", ".lark", ".toml", ".nbi", ".nbc"})
#: Spark's settings of what is unpacked in a worker's folder, and of a Python with all packages.
ARCHIVES: Final = "spark.archives"
PYTHON: Final = "spark.pyspark.python"


def workers_python(master: str, asked: Mapping[str, str]) -> str:
    """The Python of the workers: this one on this machine; elsewhere the one that was asked for, or
    one of the same version from the PATH. asked: Spark's settings."""
    if not is_remote(master):
        return sys.executable
    return asked.get(PYTHON) or f"python{sys.version_info.major}.{sys.version_info.minor}"


def shipped(master: str, asked: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """Settings by which Spark unpacks our code on other machines and, unless they have a Python of
    their own with all packages, these. scratch: where archives are made."""
    if not is_remote(master):
        return {}
    archives = [asked[ARCHIVES]] if asked.get(ARCHIVES) else []
    archives.append(f"{_code(scratch)}#{_CODE}")
    if PYTHON not in asked:
        archives.append(f"{_packages(scratch)}#{_PACKAGES}")
    return {ARCHIVES: ",".join(archives)}


def workers_environment(master: str) -> dict[str, str]:
    """Settings by which workers can import the backend, and whose clock is UTC.

    On this machine from where it is, so that compiled kernels are kept beside their modules;
    elsewhere from a worker's folder, where the archives are unpacked.
    """
    python_path = os.pathsep.join((_CODE, _PACKAGES)) if is_remote(master) else str(ROOT)
    return {"spark.executorEnv.PYTHONPATH": python_path, "spark.executorEnv.TZ": "UTC"}


def _code(scratch: Path) -> Path:
    """An archive of our code as it is now."""
    paths = (path for name in _OURS for path in sorted((ROOT / name).rglob("*")))
    files = ((path, path.relative_to(ROOT)) for path in paths if path.suffix in _SUFFIXES)
    return _archive(scratch / "cache" / f"{_CODE}.tar.gz", files)


def _packages(scratch: Path) -> Path:
    """An archive of packages as they are installed here, made once for each choice of versions."""
    pins = [f"{name}-{distribution(name).version}" for name in _OTHERS]
    versions = " ".join([*pins, platform.python_version(), platform.platform()])
    digest = hashlib.sha256(versions.encode()).hexdigest()[:12]
    archive = scratch / "cache" / f"{_PACKAGES}-{digest}.tar.gz"
    if not archive.exists():
        log.info("packing %s for workers on other machines (once)", ", ".join(pins))
        _archive(archive, (file for name in _OTHERS for file in _installed(name)))
    return archive


def _installed(name: str) -> Iterator[tuple[Path, Path]]:
    """The files of a package, and what they are called below the folder of packages."""
    for path in distribution(name).files or ():
        if not {"..", "tests", "__pycache__"} & set(path.parts):
            yield Path(str(path.locate())), Path(path)


def _archive(archive: Path, files: Iterable[tuple[Path, Path]]) -> Path:
    """Make an archive, which appears whole. files: where each is, and its name in it."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    hidden = archive.with_name(f".{os.getpid()}-{archive.name}")
    with tarfile.open(hidden, "w:gz", compresslevel=1) as target:
        for path, name in files:
            target.add(path, str(name), recursive=False)
    return hidden.replace(archive)


def ship_module(module: ModuleType) -> None:
    """Send a module's functions whole, when workers cannot import it by its name."""
    if module.__name__.partition(".")[0] != PACKAGE:
        register: Any = cloudpickle.register_pickle_by_value
        register(module)
