"""Valid times and lengths as people read them, by the unit they are counted in."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from dashboard.components.formats import THIN, UNKNOWN, duration, show

_US = 1_000_000


def time_text(value: float | None, unit: str, dated: bool = False) -> str:
    """An instant. unit: us and days since 1970, '' = a whole number; dated: with its day."""
    if value is None:
        return UNKNOWN
    if unit == "days":
        return (date(1970, 1, 1) + timedelta(days=value)).isoformat()
    if unit != "us":
        return show(value, "int")
    moment = datetime.fromtimestamp(value // _US, UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S" if dated else "%H:%M:%S")


def span_text(start: float | None, end: float | None, unit: str) -> str:
    """An interval, with its day where it begins."""
    if start is None or end is None:
        return UNKNOWN
    same_day = unit != "us" or start // (86_400 * _US) == end // (86_400 * _US)
    return f"{time_text(start, unit, dated=True)} – {time_text(end, unit, dated=not same_day)}"


def length_text(value: float | None, unit: str) -> str:
    """A length."""
    if value is None:
        return UNKNOWN
    if unit == "us":
        return duration(value / _US) if value else f"0{THIN}s"
    return f"{show(value, 'int')} days" if unit == "days" else show(value, "int")
