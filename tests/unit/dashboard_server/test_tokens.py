"""The bearer token: where it comes from and who may read its file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from dashboard.web.tokens import TokenRefused, find_token, find_viewer_token, token_path


def test_the_environment_wins(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    assert find_token(url, {"PLANWATCH_TOKEN": "correct-horse"}, tmp_path) == "correct-horse"
    assert list(tmp_path.iterdir()) == []


def test_a_short_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TokenRefused, match="at least 8"):
        find_token("sqlite:///x.db", {"PLANWATCH_TOKEN": "abc"}, tmp_path)


def test_a_generated_token_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    token = find_token(url, {}, tmp_path)
    file = tmp_path / "runs.db.token"
    assert len(token) >= 40
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert find_token(url, {}, tmp_path) == token


def test_a_file_others_could_read_is_replaced(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/runs.db"
    token = find_token(url, {}, tmp_path)
    file = tmp_path / "runs.db.token"
    file.chmod(0o644)
    fresh = find_token(url, {}, tmp_path)
    assert fresh != token
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("planted-token-of-somebody\n")
    target.chmod(0o600)
    os.symlink(target, tmp_path / "runs.db.token")
    assert find_token(f"sqlite:///{tmp_path}/runs.db", {}, tmp_path) != "planted-token-of-somebody"


def test_a_server_store_has_its_file_in_the_working_folder(tmp_path: Path) -> None:
    url = "postgresql+psycopg://me:secret@db/planwatch"
    path = token_path(url, tmp_path)
    assert path.parent == tmp_path / ".planwatch"
    assert "secret" not in path.name
    assert find_token(url, {}, tmp_path) == path.read_text().strip()


def test_a_place_that_cannot_be_written_gives_a_token_for_this_process(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    url = f"sqlite:///{tmp_path}/file/runs.db"
    assert find_token(url, {}, tmp_path) != find_token(url, {}, tmp_path)


def test_a_viewers_token_protects_what_is_open_to_others() -> None:
    given = {"PLANWATCH_VIEWER_TOKEN": "only-looking"}
    assert find_viewer_token(given, "may-turn-it", True) == "only-looking"
    assert find_viewer_token({}, "may-turn-it", False) == ""
    with pytest.raises(TokenRefused, match="protects nothing here"):
        find_viewer_token(given, "may-turn-it", False)
    with pytest.raises(TokenRefused, match="take another one"):
        find_viewer_token(given, "only-looking", True)
    with pytest.raises(TokenRefused, match="at least 8"):
        find_viewer_token({"PLANWATCH_VIEWER_TOKEN": "abc"}, "may-turn-it", True)
