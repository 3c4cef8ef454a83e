"""What streams, relations, queries and workloads may be called, and the folders that bear names."""

from __future__ import annotations

from hashlib import sha256
from typing import Final
from urllib.parse import quote

#: Characters of a name.
LONGEST_NAME: Final = 100
#: Bytes of a name in the name of a folder or file. File systems take 255, with what stands before
#: and behind it.
LONGEST_IN_FOLDER: Final = 230
_DIGEST_DIGITS: Final = 16


def name_problem(name: str) -> str | None:
    """Why a name cannot stand in ids and in names of files and folders; None when it can."""
    if not name.strip():
        return "is empty"
    if len(name) > LONGEST_NAME:
        return f"is longer than {LONGEST_NAME} characters"
    if "/" in name or "\\" in name or name.strip(". ") == "":
        return "is a path; a name has no / and no \\, and is more than dots"
    if not name.isprintable():
        return "holds a character that cannot be printed"
    return None


def in_folder(name: str) -> str:
    """A name as names of folders and files have it: percent-encoded. One that is too long so is
    cut, and ends in a hyphen and 16 hex digits that tell it from others."""
    encoded, kept = quote(name, safe=""), len(name)
    if len(encoded) <= LONGEST_IN_FOLDER:
        return encoded
    while len(encoded) > LONGEST_IN_FOLDER - 1 - _DIGEST_DIGITS:
        kept -= 1
        encoded = quote(name[:kept], safe="")
    return f"{encoded}-{digest_of(name)}"


def answer_folder(query: str, since: int) -> str:
    """The folder of a query's answer, a column ``query`` to readers. since: the batch from which on
    the query runs: one that begins anew has an answer of its own."""
    return f"query={in_folder(query)}" + (f"@{since}" if since else "")


def digest_of(name: str) -> str:
    """16 hex digits that tell a name from others."""
    return sha256(name.encode()).hexdigest()[:_DIGEST_DIGITS]
