"""Getting our Python code to where Spark's workers run it, on this machine or another."""

from __future__ import annotations

import threading
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from pyspark import cloudpickle
from pyspark.sql import SparkSession

PACKAGE: Final = Path(__file__).resolve().parents[2]
_ARCHIVE: Final = "planwatch_backend.zip"
_SHIPPING: Final = threading.Lock()


def is_local(session: SparkSession) -> bool:
    """Whether workers are processes of this machine, which have this one's files and packages."""
    return str(session.sparkContext.master).startswith("local")


def ship_code(session: SparkSession) -> None:
    """Make the backend importable in the workers of this session; once is enough.

    On this machine from where it is, so that compiled kernels are kept beside their modules.
    """
    context = session.sparkContext
    if is_local(session):
        context.environment["PYTHONPATH"] = str(PACKAGE.parent)
        return
    with _SHIPPING:  # the runs of a workload start side by side
        _ship_archive(session)


def _ship_archive(session: SparkSession) -> None:
    context = session.sparkContext
    if any(name.endswith(_ARCHIVE) for name in context.listFiles):
        return
    # served from where it is for as long as the session lives
    archive = Path(str(session.conf.get("spark.local.dir"))) / _ARCHIVE
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w") as target:
        for path in sorted(PACKAGE.rglob("*.py")):
            target.write(path, path.relative_to(PACKAGE.parent))
    context.addPyFile(str(archive))


def ship_module(module: ModuleType) -> None:
    """Send a module's functions whole, when workers cannot import it by its name."""
    if module.__name__.partition(".")[0] != PACKAGE.name:
        register: Any = cloudpickle.register_pickle_by_value
        register(module)
