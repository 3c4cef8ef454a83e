"""Why a run on Spark failed, in one sentence with the next step."""

from __future__ import annotations

import signal
import subprocess
from typing import Final

from pyspark.sql import SparkSession

from backend.hosts.contract import InputsFailed, cause
from backend.hosts.spark.run.runner import RunFailed
from storage.errors import StoreError

#: So long a Java that no longer answers may take to be gone.
GONE_WITHIN_S: Final = 2.0
_FULL: Final = "No space left on device"
_AGAIN: Final = "start the same command again to resume the run"


def java_of(session: SparkSession) -> subprocess.Popen[bytes] | None:
    """The process Spark runs in; None where another program started it."""
    java: subprocess.Popen[bytes] | None
    java = getattr(session.sparkContext._gateway, "proc", None)
    return java


def why_failed(error: Exception, java: subprocess.Popen[bytes] | None) -> tuple[str, bool]:
    """What ended the run, and whether it is something people meet: else it is a defect of ours."""
    end = None if java is None else _end_of(java)
    if end is not None:
        return f"Java died ({end}); {_AGAIN}", True
    known = isinstance(error, StoreError | RunFailed | InputsFailed)
    text = str(error) if known else cause(error)
    if _FULL in text:
        return f"the disk is full ({text}); free some space, {_AGAIN}", True
    return text, known or isinstance(error, OSError)


def _end_of(process: subprocess.Popen[bytes]) -> str | None:
    """How a process ended, None while it runs."""
    try:
        status = process.wait(timeout=GONE_WITHIN_S)
    except subprocess.TimeoutExpired:
        return None
    if status >= 0:
        return f"exit status {status}"
    name = signal.Signals(-status).name
    hint = ", as when memory is short" if -status == signal.SIGKILL else ""
    return f"killed by {name}{hint}"
