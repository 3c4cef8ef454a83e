"""The bearer token: from the environment, else generated and kept in a 0600 file."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from storage.tables.database import parse_url

LOGGER = logging.getLogger(__name__)
VARIABLE = "PLANWATCH_TOKEN"
VIEWER_VARIABLE = "PLANWATCH_VIEWER_TOKEN"
_BYTES = 32
_SHORTEST = 8


class TokenRefused(ValueError):
    """The token given is no protection; the message says what would be."""


def find_token(store_url: str, environ: Mapping[str, str], folder: Path | None = None) -> str:
    """PLANWATCH_TOKEN, else the token kept beside the store, else a new one kept there.

    folder: where ``.planwatch`` lies when the store is no file (default: the working folder).
    A place that cannot be written gives a token for this process only.
    Raises TokenRefused when PLANWATCH_TOKEN is shorter than 8 characters, NotAStore for an
    address that is none.
    """
    given = _given(environ, VARIABLE)
    if given:
        return given
    path = token_path(store_url, folder or Path.cwd())
    try:
        return _kept(path)
    except OSError as error:
        LOGGER.warning("The token is not kept for the next start: %s", error)
        return secrets.token_urlsafe(_BYTES)


def find_viewer_token(environ: Mapping[str, str], token: str, is_open: bool) -> str:
    """PLANWATCH_VIEWER_TOKEN, '' without one. token: the one that changes; is_open: others can
    connect. Raises TokenRefused where it would protect nothing."""
    given = _given(environ, VIEWER_VARIABLE)
    if given and not is_open:
        raise TokenRefused(
            f"{VIEWER_VARIABLE} protects nothing here: on this machine everybody may turn knobs. "
            "Open the dashboard to the network with --host, or leave it out."
        )
    if given and given == token:
        raise TokenRefused(f"{VIEWER_VARIABLE} is the token that changes things: take another one")
    return given


def _given(environ: Mapping[str, str], variable: str) -> str:
    """The token of a variable, '' without one. Raises TokenRefused for a short one."""
    given = environ.get(variable, "").strip()
    if given and len(given) < _SHORTEST:
        raise TokenRefused(f"{variable} is too short: at least {_SHORTEST} characters")
    return given


def token_path(store_url: str, folder: Path) -> Path:
    """The token's file: ``<store>.token``, or one in ``.planwatch`` for a database server."""
    address = parse_url(store_url)
    if address.get_backend_name() == "sqlite":
        return Path(f"{address.database}.token")
    digest = hashlib.sha256(str(address).encode()).hexdigest()[:16]
    return folder / ".planwatch" / f"{digest}.token"


def _kept(path: Path) -> str:
    """The token in the file; a missing one is made, one that others could read is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    token = _read_private(path)
    if token:
        return token
    path.unlink(missing_ok=True)
    token = secrets.token_urlsafe(_BYTES)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:  # another process made it in this very moment
        return _read_private(path) or token
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(token + "\n")
    return token


def _read_private(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return ""
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as file:
        mode = os.fstat(file.fileno()).st_mode
        if stat.S_IMODE(mode) & 0o077:
            LOGGER.warning("%s was readable by others: replaced by a new token", path)
            return ""
        return file.read().strip()
