"""Knobs: the parameters people may turn while queries run, each declared once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, Self, TypeAlias

KnobKind: TypeAlias = Literal["float", "int", "choice", "bool", "text"]
KnobValue: TypeAlias = float | int | str | bool


#: Characters of a refused value that are shown.
LONGEST_SHOWN: Final = 60


class KnobRefused(ValueError):
    """A knob value that is not allowed; the message says what is."""

    def __init__(self, knob: str, value: object, allowed: str) -> None:
        text = str(value)
        shown = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
        super().__init__(f"{knob} = {shown} refused: allowed {allowed}")
        self.knob, self.value, self.allowed = knob, value, allowed


@dataclass(frozen=True, slots=True)
class KnobSpec:
    """One knob: name, kind, unit, range, default and help. Range and choices are inclusive.

    scale: how a slider should map. entity: role of the entity it is shown with: 'system' (the unit
    itself), 'profile' or 'source'. sets: another knob of the same scope, and the value it takes
    when this one is turned. weighs: it counts against that of others, so that it is 0 in some of
    the scopes that have it, not in all.
    """

    name: str
    kind: KnobKind
    default: KnobValue
    unit: str
    help: str
    low: float | None = None
    high: float | None = None
    scale: Literal["linear", "log"] = "linear"
    choices: tuple[str, ...] = ()
    entity: str = "system"
    sets: tuple[str, KnobValue] | None = None
    weighs: bool = False

    def allowed(self) -> str:
        """The allowed values, as one phrase."""
        if self.kind == "choice":
            return "one of " + ", ".join(self.choices)
        if self.kind == "bool":
            return "true or false"
        if self.kind == "text":
            return f"a line of at most {LONGEST_TEXT} characters"
        return f"{self.low:g}..{self.high:g} {self.unit}".rstrip()

    def check(self, value: object) -> KnobValue:
        """The value in the knob's own type; raises KnobRefused when it is not allowed."""
        if self.kind == "choice":
            if isinstance(value, str) and value in self.choices:
                return value
            raise KnobRefused(self.name, value, self.allowed())
        if self.kind == "bool":
            return self._check_bool(value)
        if self.kind == "text":
            return self._check_text(value)
        return self._check_number(value)

    def _check_bool(self, value: object) -> bool:
        words = {"true": True, "false": False}
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in words:
            return words[value.lower()]
        raise KnobRefused(self.name, value, self.allowed())

    def _check_text(self, value: object) -> str:
        if isinstance(value, str) and len(value) <= LONGEST_TEXT and value.isprintable():
            return value.strip()
        raise KnobRefused(self.name, value, self.allowed())

    def _check_number(self, value: object) -> float | int:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise KnobRefused(self.name, value, self.allowed())
        try:
            number = float(value)
        except (ValueError, OverflowError):
            raise KnobRefused(self.name, value, self.allowed()) from None
        whole = self.kind != "int" or number.is_integer() if number == number else False
        low = float("-inf") if self.low is None else self.low
        high = float("inf") if self.high is None else self.high
        if not whole or not low <= number <= high:
            raise KnobRefused(self.name, value, self.allowed())
        return int(number) if self.kind == "int" else number


_KNOB: Final = "knob"
#: Characters of a knob that is a text.
LONGEST_TEXT: Final = 2000


def knob(default: KnobValue, *, help: str, **facts: Any) -> Any:
    """A field of ``Knobs``; facts: unit, low, high, scale, choices and entity, as in KnobSpec;
    kind "text" of one that is neither a number nor a choice."""
    facts = {"default": default, "kind": _KINDS[type(default)], "unit": "", "help": help, **facts}
    return field(default=default, metadata={_KNOB: facts})


@dataclass(frozen=True, slots=True)
class Knobs:
    """A system's knobs with their values in force: a subclass has one field, made by ``knob``, for
    each. version: of the settings the values are from."""

    version: int = 0

    @classmethod
    def specs(cls) -> tuple[KnobSpec, ...]:
        """The knobs, in the order they are declared; the type of the default tells the kind."""
        return tuple(KnobSpec(name=f.name, **f.metadata[_KNOB]) for f in fields(cls) if f.metadata)

    @classmethod
    def of(cls, settings: KnobSettings) -> Self:
        """The values of these knobs; others are left alone."""
        names = (f.name for f in fields(cls) if f.metadata)
        return cls(settings.version, **{name: settings.values[name] for name in names})


_KINDS: Final[Mapping[type, KnobKind]] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "choice",
}


@dataclass(frozen=True, slots=True)
class KnobSettings:
    """The values in force. version grows by one at each change of any knob.

    versions: knob -> the version that set it, 0 (absent) for its value at the start.
    """

    specs: Mapping[str, KnobSpec]
    values: Mapping[str, KnobValue]
    version: int = 0
    versions: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def defaults(
        cls, specs: Iterable[KnobSpec], overrides: Mapping[str, object] | None = None
    ) -> KnobSettings:
        """Defaults with overrides checked. Raises KnobRefused (also for an unknown knob)."""
        by_name = {spec.name: spec for spec in specs}
        values = {name: spec.default for name, spec in by_name.items()}
        for name, value in (overrides or {}).items():
            values[name] = _spec_of(by_name, name, value).check(value)
        return cls(by_name, values)

    def changed(self, name: str, value: object) -> KnobSettings:
        """Settings with one knob changed; raises KnobRefused."""
        checked = _spec_of(self.specs, name, value).check(value)
        version = self.version + 1
        values, versions = {**self.values, name: checked}, {**self.versions, name: version}
        return KnobSettings(self.specs, values, version, versions)

    def number(self, name: str) -> float:
        return float(self.values[name])

    def whole(self, name: str) -> int:
        return int(self.values[name])

    def word(self, name: str) -> str:
        return str(self.values[name])

    def flag(self, name: str) -> bool:
        return bool(self.values[name])


def _spec_of(specs: Mapping[str, KnobSpec], name: str, value: object) -> KnobSpec:
    if name not in specs:
        raise KnobRefused(name, value, "knobs are " + ", ".join(sorted(specs)))
    return specs[name]


def names_in(text: str) -> frozenset[str]:
    """The names in the value of a knob that lists some, parted by semicolons."""
    return frozenset(name.strip() for name in text.split(";") if name.strip())
