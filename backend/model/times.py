"""Dates and moments written as text, read alike as constants of queries and as values of files."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Final

_DAY: Final = r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
_DATE: Final = re.compile(_DAY)
_MOMENT: Final = re.compile(
    _DAY + r"(?:[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?"
    r"\ ?(?:(Z)|([+-])([0-9]{2})(?::?([0-5][0-9]))?)?)?"
)


class TooFine(ValueError):
    """A moment that no timestamp is: it lies between two microseconds."""


def read_date(text: str) -> date:
    """The day that ``YYYY-MM-DD`` names. Raises ValueError."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return date(*map(int, match.groups()))


def read_moment(text: str) -> datetime:
    """The moment in UTC that ``YYYY-MM-DD HH:MM:SS.ffffff+HH:MM`` names, or its beginning: without
    an offset it is in UTC, a day begins at midnight. Raises ValueError: TooFine, or none at all."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(text)
    *parts, fraction, _, sign, hours, minutes = match.groups()
    if fraction is not None and fraction[6:].strip("0"):
        raise TooFine(text)
    micros = int((fraction or "")[:6].ljust(6, "0"))
    year, month, day, hour, minute, second = (int(part or 0) for part in parts)
    behind = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    zone = UTC if sign is None else timezone(-behind if sign == "-" else behind)
    try:
        return datetime(year, month, day, hour, minute, second, micros, zone).astimezone(UTC)
    except OverflowError:
        raise ValueError(text) from None
