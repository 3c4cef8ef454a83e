"""Readers of CSV and JSON as docs/workloads.md has them, one character and one value at a time.

A tuple is a dict by attribute; one that does not fit is its raw text.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any, TypeAlias

from backend.model.schema import Schema

#: Values by attribute, or the raw text of a misfit.
Read: TypeAlias = dict[str, Any] | str
RANGES = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
DIGITS = frozenset("0123456789")


class NoValue(Exception):
    """Text that says no value of the type."""


def read_csv(data: bytes, schema: Schema, header: bool) -> list[Read]:
    """All tuples of a file. Raises NoValue when the header lacks an attribute."""
    text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")  # a character a byte
    if text and text[-1] not in "\r\n":
        text += "\n"
    names = [name.lower() for name in schema.names]
    columns: list[str] | None = None if header else names
    found: list[Read] = []
    at = 0
    while at < len(text):
        if text[at] in "\r\n":
            at += 1
            continue
        fields, end = _record(text, at)
        if columns is None:
            if fields is None:
                raise NoValue("header")
            columns = [_bytes(value or "").strip().lower() for value, _ in fields]
            if any(columns.count(name) != 1 for name in names):
                raise NoValue("columns")
        else:
            found.append(_tuple(fields, text[at:end], schema, columns))
        at = end
    return found


def _record(text: str, at: int) -> tuple[list[tuple[str, bool]] | None, int]:
    """The fields of a record, whether each is quoted, and where it ends; None for one that is not
    well formed, which ends with its line."""
    fields: list[tuple[str, bool]] = []
    here = at
    while True:
        if text[here] == '"':
            value, here = "", here + 1
            while here < len(text):
                if text[here : here + 2] == '""':
                    value, here = value + '"', here + 2
                elif text[here] == '"':
                    break
                else:
                    value, here = value + text[here], here + 1
            here += 1
            if here > len(text) - 1 or text[here] not in ",\r\n":
                return None, _line_end(text, at)
            fields.append((value, True))
        else:
            start = here
            while text[here] not in ",\r\n":
                here += 1
            fields.append((text[start:here], False))
        if text[here] != ",":
            return fields, _past(text, here)
        here += 1


def _line_end(text: str, at: int) -> int:
    while text[at] not in "\r\n":
        at += 1
    return _past(text, at)


def _past(text: str, at: int) -> int:
    return at + (2 if text[at : at + 2] == "\r\n" else 1)


def _bytes(text: str) -> str:
    """Bytes that were held as characters, as text. Raises NoValue."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeDecodeError:
        raise NoValue(text) from None


def _tuple(
    fields: list[tuple[str, bool]] | None, raw: str, schema: Schema, columns: list[str]
) -> Read:
    shown = raw.rstrip("\r\n").encode("latin-1").decode("utf-8", "backslashreplace")
    if fields is None or len(fields) != len(columns):
        return shown
    values: dict[str, Any] = {}
    for attribute in schema.attributes:
        text, is_quoted = fields[columns.index(attribute.name.lower())]
        try:
            if text == "" and not is_quoted:
                values[attribute.name] = None
            else:
                values[attribute.name] = value_of(_bytes(text), attribute.type)
        except NoValue:
            return shown
    return values


def value_of(text: str, type_name: str) -> Any:
    """The value a text says. Raises NoValue."""
    if type_name == "string":
        return text
    text = text.strip(" \t")
    if text == "":
        return None
    if type_name in RANGES:
        return _whole(text, RANGES[type_name])
    if type_name in ("float", "double"):
        return _real(text, 128 if type_name == "float" else 1024)
    if type_name == "boolean":
        if text.lower() not in ("true", "false"):
            raise NoValue(text)
        return text.lower() == "true"
    return _day(text) if type_name == "date" else _moment(text)


def _whole(text: str, bits: int) -> int:
    digits = text[1:] if text[0] in "+-" else text
    if not digits or not set(digits) <= DIGITS:
        raise NoValue(text)
    value = 0
    for digit in digits:
        value = value * 10 + "0123456789".index(digit)
    value = -value if text[0] == "-" else value
    if not -(1 << bits) <= value < 1 << bits:
        raise NoValue(text)
    return value


def _real(text: str, largest_power: int) -> float:
    sign, rest = (text[0], text[1:]) if text[0] in "+-" else ("+", text)
    if rest.lower() in ("inf", "infinity", "nan"):
        return float(text)
    mantissa, e, power = rest.lower().partition("e")
    whole, _, part = mantissa.partition(".")
    exponent = _whole(power, 20) if e else 0
    if not (whole + part) or not set(whole + part) <= DIGITS or (e and not power):
        raise NoValue(text)
    if mantissa.count(".") > 1:
        raise NoValue(text)
    exact = Fraction(int(whole + part)) * Fraction(10) ** (exponent - len(part))
    half_step = Fraction(2) ** (largest_power - (25 if largest_power == 128 else 54))
    if exact >= Fraction(2) ** largest_power - half_step:
        raise NoValue(text)
    value = exact.numerator / exact.denominator
    return -value if sign == "-" else value


def _day(text: str) -> date:
    parts = text.split("-")
    if [len(p) for p in parts][:1] != [4] or len(parts) != 3:
        raise NoValue(text)
    if (
        not all(1 <= len(p) <= 4 and set(p) <= DIGITS for p in parts)
        or max(len(p) for p in parts[1:]) > 2
    ):
        raise NoValue(text)
    try:
        return date(*(int(p) for p in parts))
    except ValueError:
        raise NoValue(text) from None


def _moment(text: str) -> datetime:
    day, separator, rest = (
        (text[:k], text[k], text[k + 1 :])
        if (k := next((i for i, c in enumerate(text) if c in "T "), -1)) >= 0
        else (text, "", "")
    )
    start = datetime.combine(_day(day), datetime.min.time(), UTC)
    if not separator:
        return start
    clock, offset = _clock_and_offset(rest)
    parts = clock.split(":")
    seconds, dot, fraction = parts[2].partition(".") if len(parts) == 3 else ("00", "", "")
    numbers = [*parts[:2], seconds]
    sizes = [len(n) for n in numbers]
    if len(parts) not in (2, 3) or sizes[0] not in (1, 2) or sizes[1:] != [2, 2]:
        raise NoValue(text)
    if not all(set(n) <= DIGITS for n in numbers) or (dot and not fraction):
        raise NoValue(text)
    if not set(fraction) <= DIGITS or fraction[6:].strip("0"):
        raise NoValue(text)
    hours, minutes, secs = map(int, numbers)
    if hours > 23 or minutes > 59 or secs > 59:
        raise NoValue(text)
    micros = int(fraction[:6].ljust(6, "0"))
    try:
        return start + timedelta(0, secs, micros, 0, minutes, hours) - offset
    except OverflowError:
        raise NoValue(text) from None


def _clock_and_offset(rest: str) -> tuple[str, timedelta]:
    for k, character in enumerate(rest):
        if character in "Z+-":
            clock, zone = rest[:k].removesuffix(" "), rest[k:]
            break
    else:
        return rest, timedelta(0)
    if zone == "Z":
        return clock, timedelta(0)
    digits = zone[1:].replace(":", "") if zone[3:4] == ":" else zone[1:]
    if len(digits) not in (2, 4) or not set(digits) <= DIGITS or zone[3:] == ":":
        raise NoValue(rest)
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    if offset >= timedelta(hours=24):
        raise NoValue(rest)
    return clock, -offset if zone[0] == "-" else offset


def read_json(data: bytes, schema: Schema) -> list[Read]:
    """All tuples of a file with an object a line."""
    found: list[Read] = []
    for line in data.removeprefix(b"\xef\xbb\xbf").replace(b"\r", b"\n").split(b"\n"):
        if not line.strip():
            continue
        try:
            found.append(_of_object(line, schema))
        except (NoValue, ValueError, RecursionError):
            found.append(line.decode("utf-8", "backslashreplace"))
    return found


def _no_number(text: str) -> Any:
    raise NoValue(text)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise NoValue("a key twice")
    return dict(pairs)


def _of_object(line: bytes, schema: Schema) -> dict[str, Any]:
    told = json.loads(
        line.decode("utf-8"),
        object_pairs_hook=_pairs,
        parse_float=Fraction,
        parse_constant=_no_number,
    )
    if not isinstance(told, dict):
        raise NoValue("no object")
    lower = {key.lower(): value for key, value in told.items()}
    if len(lower) < len(told) or not any(a.name.lower() in lower for a in schema.attributes):
        raise NoValue("keys")
    return {a.name: json_value(lower.get(a.name.lower()), a.type) for a in schema.attributes}


def json_value(value: Any, type_name: str) -> Any:
    """A JSON value as a type has it. Raises NoValue."""
    if value is None:
        return None
    is_number = type(value) in (int, float, Fraction)
    if type_name in RANGES and is_number:
        if value != value or value in (float("inf"), float("-inf")) or value != int(value):
            raise NoValue(value)
        return _whole(str(int(value)), RANGES[type_name])
    if type_name in ("float", "double"):
        if isinstance(value, int | Fraction) and is_number:
            power, lost = (128, 25) if type_name == "float" else (1024, 54)
            limit = Fraction(2) ** power - Fraction(2) ** (power - lost)
            if not -limit < Fraction(value) < limit:
                raise NoValue(value)
            return float(value)
        if is_number or value in ("NaN", "Infinity", "-Infinity"):
            return float(value)
    if type_name == "boolean" and isinstance(value, bool):
        return value
    if isinstance(value, str) and type_name in ("string", "date", "timestamp"):
        if any(0xD800 <= ord(c) < 0xE000 for c in value):
            raise NoValue(value)
        return value_of(value, type_name)
    raise NoValue(value)
