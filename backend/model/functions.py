"""Registered Python functions that queries call by name, and the tables they look things up in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

#: A parameter that takes the name of a registered table.
TABLE: Final = "table"
#: A parameter that takes an attribute or constant of any type.
ANY: Final = "any"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its name and type: one of the schema's types, 'table' or 'any'."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Function:
    """A boolean function of its declared parameters.

    whole_columns: it takes and returns NumPy arrays (constants and tables as they are) instead of
    one tuple's values. It is not called for tuples that have NULL in an attribute it is given.
    checks: by parameter, called with a constant when a query is read; raises ValueError for one
    that can never be right.
    """

    name: str
    parameters: tuple[Parameter, ...]
    call: Callable[..., Any]
    whole_columns: bool = False
    help: str = ""
    checks: Mapping[str, Callable[[Any], object]] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        """``lookup(address string, prefixes table)``."""
        return f"{self.name}({', '.join(f'{p.name} {p.type}' for p in self.parameters)})"


@dataclass(frozen=True, slots=True)
class Functions:
    """What a workload registers. functions, tables: by name, as written."""

    functions: Mapping[str, Function] = field(default_factory=dict)
    tables: Mapping[str, Any] = field(default_factory=dict)

    def find(self, name: str) -> Function | None:
        """The function called ``name``, without regard to case."""
        wanted = name.lower()
        return next((f for n, f in self.functions.items() if n.lower() == wanted), None)

    def find_table(self, name: str) -> str | None:
        """The registered spelling of a table's name, without regard to case."""
        return next((n for n in self.tables if n.lower() == name.lower()), None)
