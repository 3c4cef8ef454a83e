"""Addresses of stores: a plain path and the address of the same path are the same file."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from backend.launch.cli import _folder_of
from dashboard.web.tokens import token_path
from storage.store import NotAStore, open_engine_writer, open_reader
from storage.tables.database import describe, parse_url
from tests.contract.store_builders import begin

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("folder", ["job%2Fx", "a?b", "a#b", "a b%20c", "user:x@y"])
def test_a_url_is_taken_letter_by_letter(tmp_path: Path, folder: str) -> None:
    path = tmp_path / folder / "p.db"
    with open_engine_writer(f"sqlite:///{path}") as writer:
        begin(writer)
    assert path.exists()
    assert list(tmp_path.iterdir()) == [path.parent]
    assert parse_url(f"sqlite:///{path}") == parse_url(str(path))
    assert token_path(f"sqlite:///{path}", tmp_path) == Path(f"{path}.token")
    assert _folder_of(f"sqlite:///{path}") == _folder_of(str(path)) == path.parent


def test_a_copy_of_the_program_keeps_its_store_in_its_folder(tmp_path: Path) -> None:
    copy = tmp_path / "team%2Fpw?1"
    for name in ("__init__.py", "launch", "workloads"):
        whole = shutil.copytree if (ROOT / "backend" / name).is_dir() else shutil.copy
        (copy / "backend").mkdir(parents=True, exist_ok=True)
        whole(ROOT / "backend" / name, copy / "backend" / name)
    code = "from backend.launch.options import DEFAULT_STORE; print(DEFAULT_STORE)"
    done = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True)
    assert describe(parse_url(done.stdout.strip())) == f"{copy}/.planwatch/planwatch.db"


@pytest.mark.parametrize("address", ["sqlite://", "sqlite:///", "sqlite:///:memory:"])
def test_an_address_without_a_file_is_refused(address: str) -> None:
    with pytest.raises(NotAStore, match="is not supported; allowed: a file path"):
        open_reader(address)
