"""Reading checked values out of a TOML document; every refusal is one sentence with the file."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Final

from backend.cql.errors import did_you_mean, listed
from backend.workloads.text_values import read_number
from storage.vocabulary.names import LONGEST_NAME, name_problem

_POSITION: Final = re.compile(r"^(?P<what>.*?) \(at (?:line (?P<line>\d+), column \d+|.*)\)$", re.S)
#: What may be a number that is too long, and how many of them are looked at.
_LONG_NUMBER: Final = re.compile(r"\b[0-9][0-9_]{2000,}+")
_LOOKED_AT: Final = 20
_FINE_TIME: Final = re.compile(r"\d\d:\d\d:\d\d\.\d{6}(?P<finer>\d*[1-9])")
#: Bytes of a workload's name: ids of its runs have the time, too, and are names of folders.
_LONGEST_OF_RUN: Final = 200
#: Characters of what a workload is about: two lines of a page.
_LONGEST_ABOUT: Final = 240
_TWICE: Final = re.compile(r"^Cannot declare \((?P<path>.*?),?\) twice$")


class WorkloadError(ValueError):
    """A workload file that is refused: one sentence with the file, what is wrong, what is allowed.

    path: the file; line: its line where TOML knows it, else None.
    """

    def __init__(self, path: Path | str, message: str, line: int | None = None) -> None:
        self.path, self.message, self.line = Path(path), message, line
        place = str(path) if line is None else f"{path}, line {line}"
        super().__init__(f"{place}: {message}")


def read_toml(path: Path) -> dict[str, Any]:
    """The document at ``path``. Raises WorkloadError when it is missing, unreadable or no TOML."""
    try:
        text = path.read_text(encoding="utf-8")
        document: dict[str, Any] = _with_floats(tomllib.loads(text, parse_float=read_number))
        _check_times(path, text)
        return document
    except FileNotFoundError:
        raise WorkloadError(path, "there is no such workload file") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise WorkloadError(path, f"this workload file cannot be read: {reason}") from error
    except tomllib.TOMLDecodeError as error:
        raise _toml_error(path, error) from error
    except WorkloadError:
        raise
    except ValueError as error:  # what Python refuses to read as a number
        raise _number_error(path, error) from error
    except RecursionError:
        raise WorkloadError(path, "its lists and tables are nested too deeply") from None


def _with_floats(value: Any) -> Any:
    """A part of a document, numbers as floats but in rows, which are values of tuples."""
    if isinstance(value, dict):
        return {k: part if k == "rows" else _with_floats(part) for k, part in value.items()}
    if isinstance(value, list):
        return [_with_floats(part) for part in value]
    return float(value) if isinstance(value, Decimal) else value


def _check_times(path: Path, text: str) -> None:
    """Raises WorkloadError for a time that is finer than a microsecond, of which Python reads a
    part; one in a text or a comment is none."""
    for time in islice(_FINE_TIME.finditer(text), _LOOKED_AT):
        end = time.start("finer")
        before, after = text[:end], "0" * len(time["finer"]) + text[time.end() :]
        other = f"{before[:-1]}{'2' if before[-1] == '1' else '1'}"
        read = tomllib.loads(text)
        if tomllib.loads(before + after) == read != tomllib.loads(other + after):
            line, column = _line_and_column(text, time.start())
            what = f"the time at column {column} is finer than a microsecond"
            raise WorkloadError(path, f"{what}; write at most six decimals", line)


def _number_error(path: Path, error: ValueError) -> WorkloadError:
    """A whole number of thousands of digits: where it stands, Python does not say."""
    text, message = path.read_text(encoding="utf-8"), f"a whole number is too long: {error}"
    for number in islice(_LONG_NUMBER.finditer(text), _LOOKED_AT):
        try:
            tomllib.loads(text[: number.end()])
        except tomllib.TOMLDecodeError:
            continue  # it stands in a text
        except ValueError:
            line, column = _line_and_column(text, number.start())
            what = f"the whole number at column {column} has {len(number[0])} digits"
            return WorkloadError(path, f"{what}; whole numbers have at most 19", line)
    return WorkloadError(path, message)


def _line_and_column(text: str, place: int) -> tuple[int, int]:
    return text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)


def _toml_error(path: Path, error: tomllib.TOMLDecodeError) -> WorkloadError:
    match = _POSITION.match(str(error))
    what = match["what"] if match else str(error)
    line = int(match["line"]) if match and match["line"] else None
    if twice := _TWICE.match(what):
        *parents, name = (part.strip(" '\"") for part in twice["path"].split(","))
        what = (
            f"two streams are called {name!r}"
            if parents == ["streams"]
            else (f"the table [{'.'.join([*parents, name])}] is written twice")
        )
    elif what == "Cannot overwrite a value":
        what = "a name is given twice in the same table"
    else:
        what = f"this is not valid TOML: {what[0].lower()}{what[1:]}"
    return WorkloadError(path, what, line)


def kind_of(value: object) -> str:
    """The TOML kind of a value, with its article."""
    if isinstance(value, bool):
        return "true or false"
    kinds = {str: "a string", int: "an integer", float: "a float", list: "a list", dict: "a table"}
    return kinds.get(type(value), "a date or time")


class TomlTable:
    """One table of the document. ``where`` names it in messages, as in ``[streams.Flights]``."""

    def __init__(self, path: Path, where: str, values: Mapping[str, Any]) -> None:
        self.path, self.where, self.values = path, where, values

    def refuse(self, message: str) -> WorkloadError:
        """The error to raise about this table."""
        return WorkloadError(self.path, f"{self.where} {message}".strip())

    def only(self, allowed: Iterable[str], what: str = "key") -> None:
        """Raises WorkloadError when the table has a key that is not allowed."""
        allowed = list(allowed)
        for key in self.values:
            if key not in allowed:
                hint = did_you_mean(key, allowed) or f"; allowed: {listed(allowed, 'and')}"
                raise self.refuse(f"has an unknown {what} {key!r}{hint}")

    def table(self, key: str, where: str | None = None) -> TomlTable:
        """The table under ``key``, empty when absent."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.refuse(f"{key} must be a table, not {kind_of(value)}")
        return TomlTable(self.path, where or f"[{key}]", value)

    def texts(self, key: str) -> tuple[str, ...]:
        """The string, or the list of strings, under ``key``; none when absent."""
        value = self.values.get(key)
        if not isinstance(value, list):
            text = self.text(key)
            return () if text is None else (text,)
        if not all(isinstance(part, str) and part.strip() for part in value):
            raise self.refuse(f"{key} must be a string or a list of strings")
        return tuple(value)

    def rows(self, key: str) -> tuple[Any, ...]:
        """The tuples under ``key``, each a list or a table."""
        rows = self.values.get(key)
        if not isinstance(rows, list):
            raise self.refuse(f"needs {key} = [[…], …], one list or table a tuple")
        for number, row in enumerate(rows, start=1):
            if not isinstance(row, list | dict):
                raise self.refuse(
                    f"{key}: tuple {number} must be a list or a table, not {kind_of(row)}"
                )
        return tuple(rows)

    def option(self, key: str) -> str:
        """The value under ``key`` as Spark takes options: text, of lists and tables their JSON."""
        value = self.values[key]
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, list | dict):
            try:
                return json.dumps(value)
            except TypeError:
                raise self.refuse(f"{key} holds a date; write it as a string") from None
        return str(value)

    def text(self, key: str) -> str | None:
        """The non-empty string under ``key``, or None when absent."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.refuse(f"{key} must be a string, not {kind_of(value)}")
        if not value.strip():
            raise self.refuse(f"{key} is empty")
        return value

    def path_text(self, key: str) -> str | None:
        """The same, of a path."""
        value = self.text(key)
        if value is not None and "\0" in value:
            raise self.refuse(f"{key} holds U+0000, which no path does")
        return value


def workload_name(document: TomlTable) -> str:
    """What a workload file calls its workload, else the file's name. Raises WorkloadError, also for
    one that the folders of its runs cannot be called after."""
    name = document.text("name") or document.path.stem
    check_name(document, "name", name)
    n_bytes = len(name.encode())
    if n_bytes > _LONGEST_OF_RUN:
        message = f"has {n_bytes} bytes in UTF-8, and {_LONGEST_OF_RUN} at most fit a folder's name"
        raise document.refuse(f"name {name!r} {message}; write a shorter name = …")
    return name


def workload_about(document: TomlTable) -> str:
    """What a workload file says its queries are about, in one line; ''. Raises WorkloadError."""
    about = " ".join((document.text("about") or "").split())
    if len(about) > _LONGEST_ABOUT:
        raise document.refuse(f"about has {len(about)} characters; {_LONGEST_ABOUT} at most")
    return about


def check_name(table: TomlTable, what: str, name: str) -> None:
    """Raises WorkloadError for a name of a stream, a query … that cannot be one."""
    problem = name_problem(name)
    if problem is not None:
        shown = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"
        raise table.refuse(f"{what} {shown!r} {problem}")
