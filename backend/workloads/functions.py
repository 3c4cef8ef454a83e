"""Functions that queries call by name: how a module registers them.

A module of a workload registers by decorating; tables are what it names at its top level::

    @filter_function("address string, prefixes table")
    def lookup(address, prefixes): ...

    databases = PrefixTable(["10.1.0.0/16"])

CQL then reads ``lookup(dest, databases)``. A function gives True or False (None: unknown, which
selects nothing); a tuple it raises an exception for is kept aside with the error.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, TypeVar

from backend.model.functions import ANY, TABLE, Function, Functions, Parameter
from backend.model.schema import ALIASES, ORDERED_TYPES
from backend.model.sending import SentOnce

F = TypeVar("F", bound=Callable[..., Any])
_MARK: Final = "__planwatch_function__"
_PARAMETER: Final = re.compile(r"^\s*([A-Za-z_]\w*)\s*:?\s+([A-Za-z]+)\s*$")


class FunctionError(ValueError):
    """A function or module that cannot be registered; the message says what and what is allowed."""


class LookupTable(SentOnce):
    """Something functions look values up in; a module's top-level names of this type are tables."""


@dataclass(frozen=True)
class ValueTable(LookupTable):
    """Values by key."""

    values: Mapping[Any, Any]

    def get(self, key: Any) -> Any:
        """The value of a key, None when it is not there."""
        return self.values.get(key)


class PrefixTable(LookupTable):
    """IPv4 prefixes, such as 10.1.0.0/16. Raises FunctionError for text that is none."""

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._by_length: dict[int, set[int]] = {}
        for text in prefixes:
            try:
                network = ipaddress.IPv4Network(text)
            except ValueError as error:
                raise FunctionError(f"{text!r} is no IPv4 prefix: {error}") from error
            shift = 32 - network.prefixlen
            self._by_length.setdefault(shift, set()).add(int(network.network_address) >> shift)

    def covers(self, address: str) -> bool:
        """Whether a prefix contains the dotted address. Raises ValueError for other text."""
        parts = address.split(".")
        if len(parts) != 4:
            raise ValueError(f"{address!r} is no IPv4 address")
        number = 0
        for part in parts:
            octet = int(part)
            if not 0 <= octet <= 255:
                raise ValueError(f"{address!r} is no IPv4 address")
            number = number << 8 | octet
        return any(number >> shift in known for shift, known in self._by_length.items())


def filter_function(
    parameters: str,
    *,
    name: str | None = None,
    whole_columns: bool = False,
    checks: Mapping[str, Callable[[Any], object]] | None = None,
) -> Callable[[F], F]:
    """Register the decorated function; ``parameters`` declares its input: ``"a int, t table"``.

    Types are the schema's, 'table', or 'any'. whole_columns: it takes NumPy arrays (constants and
    tables as they are) and returns a boolean array. checks: of constants, by parameter; they raise
    ValueError, and the query is refused. Raises FunctionError.
    """

    def register(function: F) -> F:
        called = name or function.__name__
        declared = parse_parameters(called, parameters)
        lines = (function.__doc__ or "").strip().splitlines()
        summary = lines[0] if lines else ""
        described = Function(called, declared, function, whole_columns, summary, checks or {})
        setattr(function, _MARK, described)
        return function

    return register


def parse_parameters(function: str, text: str) -> tuple[Parameter, ...]:
    """``"a int, t table"`` as parameters. Raises FunctionError."""
    parameters = []
    for part in text.split(",") if text.strip() else ():
        match = _PARAMETER.match(part)
        if match is None:
            message = f"parameter {part.strip()!r} of {function}; expected 'name type'"
            raise FunctionError(message)
        written = match.group(2).lower()
        type_name = ALIASES.get(written, written)
        if type_name not in ORDERED_TYPES and type_name not in (ANY, TABLE):
            allowed = ", ".join(sorted({*ORDERED_TYPES, ANY, TABLE}))
            message = f"parameter {match.group(1)!r} of {function} has unknown type {written!r}"
            raise FunctionError(f"{message}; allowed: {allowed}")
        parameters.append(Parameter(match.group(1), type_name))
    return tuple(parameters)


def functions_of(module: ModuleType) -> Functions:
    """What a module registers: decorated functions and tables at its top level."""
    functions: dict[str, Function] = {}
    tables: dict[str, Any] = {}
    for name, value in vars(module).items():
        marked = getattr(value, _MARK, None)
        if isinstance(marked, Function) and getattr(value, "__module__", "") == module.__name__:
            functions[marked.name] = marked
        elif isinstance(value, LookupTable):
            tables[name] = value
    return Functions(functions, tables)
