"""Numbers as text; modules/format.js writes the same. Unknown (None, NaN) is always '—'."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

Format: TypeAlias = Literal["int", "si", "pct", "f2", "f3", "ms", "bytes", "text"]
UNKNOWN: Final = "—"
THIN: Final = "\u2009"
_STEPS: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def with_mu(unit: str) -> str:
    """A unit with its microseconds written as people do."""
    return re.sub(r"\bus\b", "µs", unit)


def show(value: object, form: Format = "text") -> str:
    """The value in one of the forms.

    int '12 345' · si '12.3k' · pct 0.613 -> '61.3 %', 1 -> '100 %' · f2, f3 decimals ·
    ms '131 ms' or '1.31 s' · bytes '512 B', '64 KiB', '13.9 MiB'.
    """
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return UNKNOWN
    if form == "text" or isinstance(value, str | bool) or not isinstance(value, int | float):
        return str(value)
    return _number(float(value), form)


def decimals(value: float, n: int) -> str:
    """With n decimals, thousands apart: '12 345.67'."""
    return f"{value:z,.{n}f}".replace(",", THIN)


def _number(value: float, form: Format) -> str:
    if form == "int":
        return decimals(value, 0)
    if form == "si":
        return _si(value)
    if form == "pct":
        return f"{100 * value:z.{0 if value == 1 else 1}f}{THIN}%"
    if form == "ms":
        return f"{value / 1000:z.2f}{THIN}s" if abs(value) >= 1000 else f"{value:z.0f}{THIN}ms"
    if form == "bytes":
        return _bytes(value)
    return f"{value:z.{form[1]}f}"


_SIZES: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))


def _bytes(value: float) -> str:
    """Three digits, without zeros at the end."""
    size, unit = next((pair for pair in _SIZES if abs(value) * 1024 >= pair[0] * 999.5), _SIZES[-1])
    scaled = value / size
    digits = 0 if abs(scaled) >= 99.95 or size == 1 else 1 if abs(scaled) >= 9.995 else 2
    text = f"{scaled:z.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text}{THIN}{unit}"


def _si(value: float) -> str:
    for step, letter in _STEPS:
        if abs(value) >= step * 0.9995:
            scaled = value / step
            return f"{scaled:.0f}{letter}" if abs(scaled) >= 99.95 else f"{scaled:.1f}{letter}"
    return f"{value:z.0f}" if abs(value) >= 99.95 or value == int(value) else f"{value:z.1f}"


_SPANS: Final = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"))


def unit_for(value: float, unit: str) -> tuple[float, str]:
    """The unit in which a cost is shown, in units of its own: of µs, (1000, 'ms') from a ms on."""
    if with_mu(unit) != "µs":
        return 1.0, unit
    return next((span for span in _SPANS if abs(value) >= span[0] * 0.9995), _SPANS[-1])


def amount(value: float, unit: str) -> str:
    """A sum of costs with its unit: '4.3k visits', '98.8 ms'."""
    size, name = unit_for(value, unit)
    return f"{_si(value / size)} {name}"


def clock(time: float | None) -> str:
    """UTC time of day, '14:02:09'."""
    return UNKNOWN if time is None else datetime.fromtimestamp(time, UTC).strftime("%H:%M:%S")


def stamp(time: float | None) -> str:
    """UTC date and time, '2026-11-21 14:02:09'."""
    if time is None:
        return UNKNOWN
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S")


def instant(tick: float, tick_us: float | None) -> str:
    """A tick as UTC date and time, where ticks are times, of that length; else 'tick 1 200'."""
    return f"tick {show(tick, 'int')}" if tick_us is None else stamp(tick * tick_us / 1e6)


def age(seconds: float | None) -> str:
    """A duration in its largest sensible unit: '0.8 s', '42 s', '3 min', '2.5 h', '4 d'."""
    if seconds is None:
        return UNKNOWN
    for limit, size, unit, digits in (
        (9.95, 1, "s", 1),
        (99.5, 1, "s", 0),
        (5970, 60, "min", 0),
        (172800, 3600, "h", 1),
    ):
        if seconds < limit:
            return f"{max(0.0, seconds) / size:.{digits}f} {unit}"
    return f"{seconds / 86400:.0f} d"


def duration(seconds: float) -> str:
    """A span of time in its two largest units: '0.4 s', '42 s', '4 min 10 s', '2 h 5 min'."""
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    left, parts = round(seconds), []
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        n, left = divmod(left, size)
        parts.append(f"{n} {unit}" if n else "")
    first = next(i for i, part in enumerate(parts) if part)
    return " ".join(part for part in parts[first : first + 2] if part)
