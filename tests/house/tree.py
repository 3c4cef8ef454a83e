"""The project's own text files, as the docs tests see them."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Written elsewhere and carried along as they are.
VENDORED = "assets/vendor/"
BINARY = {".png", ".db", ".parquet", ".ico", ".woff2", ".gz", ".xz"}


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that is, or would be, committed, relative to the root."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return tuple(Path(name) for name in sorted(set(listed.splitlines())) if (ROOT / name).is_file())


def texts(*suffixes: str) -> dict[Path, str]:
    """Path -> content of our own text files, of all kinds or of the given suffixes."""
    return {
        path: (ROOT / path).read_text(encoding="utf-8")
        for path in project_files()
        if path.suffix not in BINARY
        and not path.as_posix().startswith(VENDORED)
        and (not suffixes or path.suffix in suffixes)
    }


def markdown() -> dict[Path, str]:
    """The documents."""
    return texts(".md")
