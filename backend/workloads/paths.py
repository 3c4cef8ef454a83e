"""The files that a path, a folder or a pattern stands for, and how they are named to people."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from backend.model.schema import Schema

#: What stands for NULL in names of folders.
NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
#: A letter of a pattern that stands for itself.
_ITSELF: Final = re.compile(r"\[([*?[])\]")


def shown(path: Path) -> str:
    """A path in words: a name that is not UTF-8 with \\xNN for such bytes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def is_utf8(path: Path) -> bool:
    """Whether all names of a path are."""
    return not any("\ud800" <= letter <= "\udfff" for letter in str(path))


def plain(path: str) -> str:
    """A path that is no pattern, with its letters as they are in names."""
    return _ITSELF.sub(r"\1", path)


def is_pattern(path: str) -> bool:
    """Whether letters of a path stand for others."""
    return has_magic(_ITSELF.sub("", path))


def pattern_beside(folder: Path, path: str) -> str:
    """A path of a file in ``folder`` made absolute: a pattern where nothing of that name is there.

    Letters of patterns stand for themselves in the folder's own name, in a path that is there, and
    in folders at the beginning of a pattern that are there and do not match themselves.
    """
    given = Path(path)
    if path.startswith("~"):
        folder, given = Path(given.parts[0]).expanduser(), Path(*given.parts[1:])
    place, names = folder.absolute(), given.parts
    if given.is_absolute():
        place, names = Path(given.anchor), names[1:]
    if os.path.lexists(place / given):
        return escape(str(place / given))
    pattern = escape(str(place))
    for n, name in enumerate(names):
        place /= name
        if not os.path.lexists(place):
            return os.path.join(pattern, *names[n:])
        pattern = os.path.join(pattern, name if fnmatchcase(name, name) else escape(name))
    return pattern


def found_files(path: str) -> list[Path]:
    """The files at a path, by name: those a pattern matches; of folders those in them and in
    folders NAME=VALUE below, or the folder itself where it may not be looked into. Names that begin
    with . or _ are passed over, but where ``path`` itself has them."""
    roots = sorted(glob(path, recursive=True)) if is_pattern(path) else [plain(path)]
    files: list[Path] = []
    for root in map(Path, roots):
        files += _in_folder(root) if os.path.isdir(root) else [root] if _is_there(root) else []
    return list(dict.fromkeys(files))


def _in_folder(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except FileNotFoundError:  # it was there a moment ago
        return []
    except OSError:
        return [folder]
    files: list[Path] = []
    for entry in entries:
        if entry.name.startswith((".", "_")):
            continue
        if not os.path.isdir(entry):
            files.append(entry)
        elif "=" in entry.name:
            files += _in_folder(entry)
    return files


def _is_there(path: Path) -> bool:
    """Also of one that may not be looked at: whoever reads it is told why."""
    try:
        return path.exists()
    except OSError:
        return True


def told_by(path: Path, root: str, schema: Schema) -> dict[str, str | None]:
    """Attributes that folders NAME=VALUE between ``root`` and the file give a value to."""
    fixed = Path(root)
    while is_pattern(str(fixed)):
        fixed = fixed.parent
    folders = path.parent.parts[len(fixed.parts) :]
    values: dict[str, str | None] = {}
    for folder in folders:
        name, equals, value = folder.partition("=")
        attribute = schema.find(unquote(name))
        if equals and attribute is not None:
            values[attribute.name] = None if value == NO_VALUE else unquote(value)
    return values
