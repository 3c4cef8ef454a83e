"""What tuning came to: the cost of each state's index beside the best in hindsight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.components.formats import show
from dashboard.systems.amri.bits_view import STATE
from dashboard.views.book import Book
from dashboard.views.numbers import known

SPENT: Final = "regret_spent"
FIXED: Final = "regret_fixed"
SEQUENCE: Final = "regret_sequence"

Values = Mapping[str, Mapping[str, float | None]]


class StateRegret(NamedTuple):
    """Of a state, or of all, since its bits were last limited and until its last assessment or
    change of bits, in counted work: spent on searches and migrations, as measured; fixed: as
    modelled with the best bits that never change; sequence: with the best sequence."""

    name: str
    spent: float
    fixed: float
    sequence: float

    @property
    def over_fixed(self) -> float | None:
        """Share by which it cost more than the best fixed bits; below 0: less."""
        return self.spent / self.fixed - 1 if self.fixed else None

    @property
    def over_sequence(self) -> float | None:
        """Share by which it cost more than the best sequence."""
        return self.spent / self.sequence - 1 if self.sequence else None


def build_regret(book: Book, values: Values) -> list[StateRegret]:
    """Of the states whose windows were accounted, by name."""
    regrets = []
    for state in book.of(STATE):
        numbers = [values.get(state.id, {}).get(name) for name in (SPENT, FIXED, SEQUENCE)]
        measured = [number for number in numbers if number is not None and known(number)]
        if len(measured) == len(numbers):
            regrets.append(StateRegret(state.name, *measured))
    return sorted(regrets, key=lambda regret: regret.name)


def in_all(states: Sequence[StateRegret]) -> StateRegret:
    """The sums over all states."""
    sums = [sum(getattr(state, name) for state in states) for name in StateRegret._fields[1:]]
    return StateRegret("", *sums)


def regret_words(states: Sequence[StateRegret]) -> str:
    """What it came to in one sentence."""
    whole = in_all(states)
    fixed, sequence = whole.over_fixed, whole.over_sequence
    if fixed is None or sequence is None:
        return "Nothing was spent on searches so far."
    return (
        f"Searches and migrations cost {_apart(fixed)} the best bits that never change, and "
        f"{_apart(sequence)} the best sequence of bits, both known in hindsight only."
    )


def _apart(share: float) -> str:
    if abs(share) < 0.0005:
        return "as much as"
    return f"{show(abs(share), 'pct')} {'more' if share > 0 else 'less'} than"
