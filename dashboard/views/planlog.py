"""The plan log: what each look of the autopilot decided on, and what came of it. [B05] §7"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.components.formats import show, with_mu
from storage.reader import Reader
from storage.reading.plan_log import subjects
from storage.tables.rows import StoredLook
from storage.vocabulary.planlog import AUTOPILOT, POLICY, RECORD, counted, ran_after


@dataclass(frozen=True, slots=True)
class PlanLogEntry:
    """An evaluation: on the statistics S the plan P was chosen.

    subject: what is decided, '' by the only autopilot of a unit. decision: its number. t: tuples of
    input before it. statistics: name -> value, units: name -> unit. plan: digest of P; form: P
    itself, None where it was named before the first entry; region: of the log that S fell into
    under P. predicted: cost of P a tuple on S, measured: what the n_tuples that ran under P until
    the next look really cost, None where none did or it was replaced otherwise; deciding: cost of
    the look, all in cost_unit, a tuple or in all. switched: P was not in force before.
    """

    unit_id: str
    subject: str
    decision: int
    batch: int
    time: float
    t: int
    statistics: Mapping[str, float]
    units: Mapping[str, str]
    plan: str
    form: Any
    region: int | None
    predicted: float
    measured: float | None
    n_tuples: int
    deciding: float
    cost_unit: str
    switched: bool


def plan_log(looks: Sequence[StoredLook]) -> list[PlanLogEntry]:
    """The entries of looks, of one unit after another, each oldest first."""
    entries: list[PlanLogEntry] = []
    forms: dict[str, Any] = {}
    for place, look in enumerate(looks):
        record = look.record
        forms |= {**record.get("plans", {}), **look.forms}
        later = next(iter(looks[place + 1 : place + 2]), None)
        same = later.record if later is not None and later.unit_id == look.unit_id else None
        n_tuples, measured = ran_after(record, same)
        names = record["schema"]["statistics"]
        prices = {plan: cost for plan, cost, *_ in record["offers"]}
        entries.append(
            PlanLogEntry(
                unit_id=look.unit_id,
                subject=look.subject,
                decision=look.seq,
                batch=look.batch,
                time=look.time,
                t=record["t"],
                statistics={n: v for (n, _), v in zip(names, record["statistics"], strict=True)},
                units={name: unit for name, unit in names},
                plan=record["chosen"],
                form=forms.get(record["chosen"]),
                region=record["region"],
                predicted=prices.get(record["chosen"], record["cost"]),
                measured=measured,
                n_tuples=n_tuples,
                deciding=record["deciding"],
                cost_unit=record["schema"]["cost_unit"],
                switched=record["chosen"] != record["plan"],
            )
        )
    return entries


def terms_words(detail: Any) -> str:
    """The four terms of a look: 'surely 0.628 visits/tuple × 29 900 tuples to come, against 8 914
    to switch + 1 783 to look', likely while conditions settle; '' for another decision. detail: of
    the decision."""
    record = detail.get(RECORD) if isinstance(detail, Mapping) else None
    if record is None or record["rival"] is None:
        return ""
    sure = show(max(0.0, record["saving"] or 0.0), "f3")
    dwell, switching, deciding = (
        show(record[name], "int") for name in ("dwell", "switching", "deciding")
    )
    unit = with_mu(detail["cost_unit"].replace(" per ", "/"))
    how = "likely" if record.get("settling") else "surely"
    return (
        f"{how} {sure} {unit} × {dwell} {counted(unit)}s to come, against {switching} to switch + "
        f"{deciding} to look"
    )


def has_looks(reader: Reader, run: str, unit: str | None) -> bool:
    """Whether a plan log of the run, or of a unit of it, has anything. Decisions, where an earlier
    store has looks, are not searched where there was no autopilot: there may be many."""
    if subjects(reader, run, unit):
        return True
    history = reader.knob_history(run, POLICY, unit)
    had_one = any(knob.value == AUTOPILOT for knob in history)
    return had_one and bool(reader.looks(run, unit=unit, limit=1))


def newest_log(looks: Sequence[StoredLook]) -> list[StoredLook]:
    """Looks of one unit, oldest first, without those of a log before: another set of queries begins
    another, with other statistics and regions."""
    last = looks[-1].record if looks else {}
    same = ("began", "schema")
    return [look for look in looks if all(look.record[key] == last[key] for key in same)]
