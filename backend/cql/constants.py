"""Typed constants: a literal of a CQL text as a value of an attribute's type, exactly."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Final

from backend.cql.nodes import Constant
from backend.model import conditions
from backend.model.schema import FLOAT_TYPES, INTEGER_TYPES, Attribute
from backend.model.times import TooFine, read_date, read_moment

_EXAMPLES: Final = {
    "string": "a string such as 'JFK'",
    "boolean": "true or false",
    "date": "a date such as DATE '2013-01-31'",
    "timestamp": "a timestamp such as TIMESTAMP '2013-01-31 18:30:00'",
}


class ConstantError(ValueError):
    """A literal that is not a value of the attribute's type; the message says what is."""


def constant_for(literal: Constant, attribute: Attribute) -> conditions.Constant:
    """The literal as a constant to compare ``attribute`` with.

    Integer attributes keep fractions (5.5 is compared exactly) and make 5.0 the integer 5; floating
    attributes get the nearest float, except that an integer no float equals stays an integer.
    Timestamps are UTC; an offset is converted away.
    Raises ConstantError.
    """
    if literal.kind == "null":
        raise ConstantError("a comparison with NULL is never true; use IS NULL or IS NOT NULL")
    convert = _CONVERTERS.get(attribute.type)
    value = convert(literal, attribute) if convert else None
    if value is None:
        raise ConstantError(_misfit(literal, attribute))
    return value


def _misfit(literal: Constant, attribute: Attribute) -> str:
    wanted = _EXAMPLES.get(attribute.type, "a number")
    shown = f"'{literal.text}'" if literal.kind == "string" else literal.text
    article = "an" if attribute.type == "int" else "a"
    return (
        f"{attribute.name} is {article} {attribute.type} attribute and {shown} is a {literal.kind};"
        f" expected {wanted}"
    )


def _integer(literal: Constant, attribute: Attribute) -> int | float | None:
    if literal.kind != "number":
        return None
    exact = _decimal(literal)
    if exact == exact.to_integral_value():
        return int(exact)
    approximate = float(exact)
    if approximate.is_integer():
        raise ConstantError(
            f"{literal.text} has more digits than a 64-bit floating-point number keeps"
        )
    return approximate


def _float(literal: Constant, attribute: Attribute) -> int | float | None:
    if literal.kind != "number":
        return None
    exact = _decimal(literal)
    is_integer = literal.text.lstrip("-").isdecimal()
    return int(exact) if is_integer and float(exact) != exact else float(exact)


def _decimal(literal: Constant) -> Decimal:
    try:
        exact = Decimal(literal.text)
        finite = abs(float(exact)) <= 1.7976931348623157e308
    except (InvalidOperation, OverflowError):
        finite = False
    if not finite or exact.adjusted() > 308:
        raise ConstantError(f"the number {literal.text} is too large; allowed: up to 1.8e308")
    return exact


def _string(literal: Constant, attribute: Attribute) -> str | None:
    return literal.text if literal.kind == "string" else None


def _boolean(literal: Constant, attribute: Attribute) -> bool | None:
    return literal.text == "true" if literal.kind == "boolean" else None


def _date(literal: Constant, attribute: Attribute) -> date | None:
    if literal.kind in ("string", "date"):
        return _read_date(literal)
    if literal.kind != "timestamp":
        return None
    moment = _read_timestamp(literal)
    if moment.time() != datetime.min.time():
        raise ConstantError(f"{attribute.name} is a date attribute; write a DATE without a time")
    return moment.date()


def _timestamp(literal: Constant, attribute: Attribute) -> datetime | None:
    if literal.kind in ("string", "timestamp"):
        return _read_timestamp(literal)
    if literal.kind != "date":
        return None
    return datetime.combine(_read_date(literal), datetime.min.time())


def _read_date(literal: Constant) -> date:
    try:
        return read_date(literal.text.strip())
    except ValueError:
        raise ConstantError(f"'{literal.text}' is not a date; write YYYY-MM-DD") from None


def _read_timestamp(literal: Constant) -> datetime:
    try:
        return read_moment(literal.text.strip()).replace(tzinfo=None)
    except TooFine:
        raise ConstantError(
            f"'{literal.text}' is finer than a microsecond; write at most six decimals"
        ) from None
    except ValueError:
        raise ConstantError(
            f"'{literal.text}' is not a timestamp; write YYYY-MM-DD HH:MM:SS"
        ) from None


_Converter = Callable[[Constant, Attribute], conditions.Constant | None]
_CONVERTERS: Final[dict[str, _Converter]] = {
    **dict.fromkeys(INTEGER_TYPES, _integer),
    **dict.fromkeys(FLOAT_TYPES, _float),
    "string": _string,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _timestamp,
}
