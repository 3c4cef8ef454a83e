"""Two folders change places in one step, so that nobody sees anything between before and after."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Final

_HERE: Final = -100  # AT_FDCWD: paths as they are
_SWAP: Final = 2  # RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS


def swap(path: Path, other: Path) -> None:
    """Each gets the other's name. Raises OSError, also where the file system cannot do it."""
    library = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(path), os.fsencode(other)
    name = "renamex_np" if sys.platform == "darwin" else "renameat2"
    if not hasattr(library, name):
        raise OSError(f"{name} is not there")
    if sys.platform == "darwin":
        status = library.renamex_np(first, second, _SWAP)
    else:
        status = library.renameat2(_HERE, first, _HERE, second, _SWAP)
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(path))
