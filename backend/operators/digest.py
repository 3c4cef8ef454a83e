"""What tells the modules of a package from those of another version of it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def package_digest(folder: Path) -> str:
    """Of all modules in a folder and in folders within."""
    texts = (path.read_bytes() for path in sorted(folder.rglob("*.py")))
    return hashlib.sha256(b"".join(texts)).hexdigest()[:12]
