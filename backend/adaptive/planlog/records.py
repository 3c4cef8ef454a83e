"""What an evaluation logs: ⟨t, S, P, predicted, measured, deciding⟩, as JSON. [B05] §7"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from storage.vocabulary.planlog import SUBJECT, form_digest

#: JSON-typed data.
LogJson: TypeAlias = Any
#: Of the form below.
LOG_VERSION: Final = 1


class PlanLogRefused(ValueError):
    """A log, or a record for it, that would poison decisions; the message says why, in a
    sentence."""


@dataclass(frozen=True, slots=True)
class NamedStatistic:
    """One statistic that plans depend on, such as a drop probability. unit: as in the vocabulary of
    properties."""

    name: str
    unit: str


@dataclass(frozen=True, slots=True)
class LogSchema:
    """What the numbers of a log are. statistics: of S, in order; cost_unit: of a cost per tuple.
    subject: what is decided, of a unit that has several logs."""

    statistics: tuple[NamedStatistic, ...]
    cost_unit: str
    subject: str = ""

    def form(self) -> dict[str, LogJson]:
        """As a log holds it."""
        return {
            "version": LOG_VERSION,
            "statistics": [[each.name, each.unit] for each in self.statistics],
            "cost_unit": self.cost_unit,
            **({SUBJECT: self.subject} if self.subject else {}),
        }

    @classmethod
    def of(cls, form: Mapping[str, LogJson]) -> LogSchema:
        """That of a form. Raises PlanLogRefused for another version, or another form."""
        try:
            statistics = tuple(NamedStatistic(*each) for each in form["statistics"])
            schema = cls(statistics, form["cost_unit"], form.get(SUBJECT, ""))
        except (LookupError, TypeError) as error:
            raise PlanLogRefused(f"the log's schema has another form: {error!r}") from error
        schema.check(form)
        return schema

    @property
    def digest(self) -> str:
        """Stands for the form in looks that do not spell it out."""
        return form_digest(self.form())

    def check(self, form: Mapping[str, LogJson]) -> None:
        """Raises PlanLogRefused unless ``form`` is this schema's, in order and units."""
        own = self.form()
        for key, wanted in own.items():
            if form.get(key) != wanted:
                raise PlanLogRefused(
                    f"the log's {key} is {_brief(form.get(key))}, this run's is {_brief(wanted)}: "
                    "start without it"
                )

    def checked(self, statistics: Sequence[float]) -> tuple[float, ...]:
        """S to 6 significant digits. Raises PlanLogRefused where a number is missing or NaN."""
        if len(statistics) != len(self.statistics):
            raise PlanLogRefused(
                f"there are {len(statistics)} statistics, the log's schema has "
                f"{len(self.statistics)}"
            )
        return tuple(
            finite_number(value, f"statistic {each.name!r}")
            for each, value in zip(self.statistics, statistics, strict=True)
        )


@dataclass(frozen=True, slots=True)
class PlanEvaluation:
    """An evaluation: at t the plan P was chosen on the statistics S.

    number: from 1, over all runs the log went through. t: tuples of input before it. statistics:
    float[n], as the schema says. plan: digest of P. predicted: cost(P, S), a tuple. deciding: cost
    of this evaluation, in the unit of cost. measured: mean cost a tuple of the ``n_tuples`` that
    ran under P until the next evaluation; None before any did.
    """

    number: int
    t: int
    statistics: tuple[float, ...]
    plan: str
    predicted: float
    deciding: float
    measured: float | None = None
    n_tuples: int = 0

    def row(self) -> list[LogJson]:
        """As JSON, without the plan, which its region knows."""
        numbers = [self.number, self.t, self.predicted, self.deciding, self.measured, self.n_tuples]
        return [*numbers, *self.statistics]


def evaluation_of(row: LogJson, plan: str, schema: LogSchema) -> PlanEvaluation:
    """The record of a row. Raises PlanLogRefused."""
    if not isinstance(row, list) or len(row) != 6 + len(schema.statistics):
        raise PlanLogRefused(f"a record of the log has another form: {_brief(row)}")
    number, t, predicted, deciding, measured, n_tuples, *statistics = row
    return PlanEvaluation(
        whole_number(number, "the number of a record"),
        whole_number(t, "the time of a record"),
        schema.checked(statistics),
        plan,
        cost_number(predicted, "a predicted cost"),
        cost_number(deciding, "a cost of deciding"),
        None if measured is None else cost_number(measured, "a measured cost"),
        whole_number(n_tuples, "the tuples of a record"),
    )


def real_number(value: LogJson, what: str, least: float = -math.inf) -> float:
    """A finite number as it is, not below ``least``. Raises PlanLogRefused."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) <= sys.float_info.max:
        raise PlanLogRefused(f"{what} is {_brief(value)}, not a finite number")
    if value < least:
        raise PlanLogRefused(f"{what} is {value:g}, below {least:g}")
    return float(value)


def finite_number(value: LogJson, what: str) -> float:
    """The number to 6 significant digits, so that a log read back decides as the one that was
    written. Raises PlanLogRefused."""
    return float(f"{real_number(value, what):.6g}")


def cost_number(value: LogJson, what: str) -> float:
    """A cost, not below 0. Raises PlanLogRefused."""
    return finite_number(real_number(value, what, 0.0), what)


def whole_number(value: LogJson, what: str) -> int:
    """A count. Raises PlanLogRefused."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise PlanLogRefused(f"{what} is {_brief(value)}, not a count")
    return value


def _brief(value: LogJson) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
