"""Spark's daemon of Python workers on this machine, which forks them with all they need loaded.

Spark's own daemon forks them bare. Each then imports pyspark out of an archive, which compiles it
anew, and pandas, pyarrow, numba and our operators: seconds of processor time a worker, when a run
starts and whenever one was lost. Here that is done once, before the first fork, and workers share
the memory. A process that forks should have no threads but its own: numpy's library for linear
algebra is told to start none.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

#: Of the pyspark that is installed, whose modules are compiled, there is an archive of its sources.
ARCHIVE = "pyspark.zip"


def prepare() -> None:
    """Load what workers need, the machine code of the kernels included."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path[:] = [place for place in sys.path if Path(place).name != ARCHIVE]
    import numpy as np
    import pandas  # noqa: F401 - pyarrow imports it at its first array
    import pyspark.worker  # noqa: F401 - so that a worker need not

    from backend.hosts.spark.start.warming import match_some

    match_some()
    os.register_at_fork(after_in_child=np.random.seed)  # or functions would draw alike
    gc.collect()
    gc.freeze()


def main() -> None:
    """Fork workers until Java closes the standard input."""
    prepare()
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
