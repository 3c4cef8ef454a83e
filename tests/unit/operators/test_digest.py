"""Machine code of kernels is filed under what they were compiled from."""

from __future__ import annotations

from pathlib import Path

from backend.operators.digest import package_digest


def test_modules_of_folders_within_count(tmp_path: Path) -> None:
    digests = set()
    for version in ("one", "another"):
        inner = tmp_path / version / "stores"
        inner.mkdir(parents=True)
        (inner.parent / "joins.py").write_text("the same")
        (inner / "kernels.py").write_text(version)
        digests.add(package_digest(tmp_path / version))
    assert len(digests) == 2
