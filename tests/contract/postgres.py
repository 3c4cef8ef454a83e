"""A private PostgreSQL server for the contract tests, in a temporary directory."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

_PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)
_SETTINGS = (
    "listen_addresses=''",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=40",
    "shared_buffers=32MB",
)


class NoPostgres(Exception):
    """PostgreSQL's server programs are not installed."""


class Server:
    """A running server; each database() is new and empty: a schema of its own."""

    def __init__(self, socket_folder: str, control: Callable[[str, Sequence[str]], None]) -> None:
        self._folder, self._control = socket_folder, control
        self._count = 0

    def start(self) -> None:
        """Start it; it is there when this returns."""
        options = " ".join([f"-k {self._folder}", *(f"-c {setting}" for setting in _SETTINGS)])
        self._control("start", ["-w", "-o", options, "-l", f"{self._folder}/log"])

    def stop(self) -> None:
        """Break off whatever its clients do; what was committed stays."""
        self._control("stop", ["-m", "fast", "-w"])

    def database(self) -> str:
        """The URL of a new, empty store."""
        self._count += 1
        name = f"store_{self._count}"
        with psycopg.connect(
            host=self._folder, user="planwatch", dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
        options = f"-csearch_path%3D{name}"
        return f"postgresql://planwatch@/postgres?host={self._folder}&options={options}"


def programs() -> Path:
    """The folder of pg_ctl and initdb. Raises NoPostgres."""
    found = shutil.which("pg_ctl")
    if found:
        return Path(found).resolve().parent
    for place in _PLACES:
        for folder in sorted(Path("/").glob(place[1:]), reverse=True):
            if (folder / "pg_ctl").exists():
                return folder
    raise NoPostgres(
        "the store's contract is tested against a real PostgreSQL server, and none is installed: "
        "`apt-get install postgresql` (macOS: `brew install postgresql`), then run the tests again"
    )


@contextmanager
def server() -> Iterator[Server]:
    """Start a server of its own, reachable through a socket only; stop it at the end."""
    folder = programs()
    home = tempfile.mkdtemp(prefix="pw-pg-", dir="/tmp")  # a socket's path must be short
    data = f"{home}/data"
    as_user = _unprivileged(home)
    try:
        _run(
            [folder / "initdb", "-D", data, "-U", "planwatch", "-A", "trust", "-N", "-E", "UTF8"],
            as_user,
        )
        running = Server(
            home, lambda verb, more: _run([folder / "pg_ctl", "-D", data, *more, verb], as_user)
        )
        running.start()
        try:
            yield running
        finally:
            running.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _unprivileged(home: str) -> dict[str, Any]:
    """Whom to run the server as, which refuses to be root: root picks a plain user."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    os.chown(home, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _run(command: list[Any], as_user: dict[str, Any]) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd="/",
        env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "LANG": "C"},
        timeout=120,
        check=False,
        text=True,
        **as_user,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip()}")
