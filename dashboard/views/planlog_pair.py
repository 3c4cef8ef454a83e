"""Two plan logs in one space: how much of the second the first knew, and the plans of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from dashboard.components.formats import Format, show, with_mu
from dashboard.views.numbers import form_of
from dashboard.views.planlog import PlanLogEntry
from dashboard.views.planlog_importance import plan_drivers, usual_moves
from dashboard.views.planlog_plans import LoggedPlan, PlanShare, plan_shares
from dashboard.views.planlog_recurrences import LIMIT
from dashboard.views.planlog_space import SpaceView, build_space
from storage.vocabulary.moves import distances

#: Names in a sentence, at most.
_NAMED: Final = 3


class PairedPlan(NamedTuple):
    """A plan of one log or of both. plan: with its place among all, under no name of one run; a, b:
    what it came to in each, None where it was not chosen."""

    plan: LoggedPlan
    a: PlanShare | None
    b: PlanShare | None


class PairedLogs(NamedTuple):
    """space: looks of A, n_a of them, then those of B. known: share of B's looks that are within
    LIMIT usual moves of A's statistics of a look of A, [0, 1]. plans: the most used by both first.
    """

    space: SpaceView
    n_a: int
    known: float
    plans: tuple[PairedPlan, ...]


def why_unlike(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    """Why two logs have no space in common, in a sentence; '' where they have. a, b: schemas."""
    units_a, units_b = (dict(schema["statistics"]) for schema in (a, b))
    units = [a["cost_unit"], b["cost_unit"]]
    parts = [
        f"only {side} has {_listed(sorted(own.keys() - rest.keys()))}"
        for side, own, rest in (("A", units_a, units_b), ("B", units_b, units_a))
        if own.keys() - rest.keys()
    ]
    parts += [
        f"{name} is in {with_mu(unit)} in A, in {with_mu(units_b[name])} in B"
        for name, unit in units_a.items()
        if units_b.get(name, unit) != unit
    ]
    if units[0] != units[1]:
        parts.append(f"costs are {with_mu(units[0])} in A, {with_mu(units[1])} in B")
    return f"The logs are not of the same numbers: {'; '.join(parts)}." if parts else ""


def pair_logs(
    a: Sequence[PlanLogEntry],
    b: Sequence[PlanLogEntry],
    plans: tuple[Mapping[str, LoggedPlan], Mapping[str, LoggedPlan]],
    show: str,
) -> PairedLogs:
    """Of two logs with the same statistics, one entry of each at least. plans: of each; show: of
    the address, which may name two statistics."""
    names = list(a[0].statistics)
    b = [replace(e, statistics={name: e.statistics[name] for name in names}) for e in b]
    shares = [
        {row.plan.digest: row for row in plan_shares(own, known)}
        for own, known in zip((a, b), plans, strict=True)
    ]
    chosen = dict.fromkeys(entry.plan for entry in (*a, *b))
    merged = {
        digest: ({**plans[1], **plans[0]})[digest]._replace(place=place, versions=())
        for place, digest in enumerate(chosen)
    }
    both = [*a, *b]
    important = [row.name for row in plan_drivers(both).statistics]
    space = build_space(both, merged, important, show)
    rows = [PairedPlan(merged[plan], *(own.get(plan) for own in shares)) for plan in merged]
    rows.sort(key=lambda row: -min(_share(row.a), _share(row.b)))
    return PairedLogs(space, len(a), known_share(a, b), tuple(rows))


def _share(row: PlanShare | None) -> float:
    return -1.0 if row is None else row.share


def known_share(a: Sequence[PlanLogEntry], b: Sequence[PlanLogEntry]) -> float:
    """Of the looks of B, those under conditions like those of a look of A."""
    of_a, of_b = (
        np.array([list(entry.statistics.values()) for entry in own], dtype=np.float64)
        for own in (a, b)
    )
    nearest = distances(of_b, of_a, usual_moves(of_a, list(a[-1].units.values()))).min(axis=1)
    return float((nearest <= LIMIT).mean())


def pair_words(pair: PairedLogs) -> str:
    """'Of the 45 looks of B, 82 % lie in regions that A knew. Both took 2 plans.'"""
    n, n_both = len(pair.space.points) - pair.n_a, len(cost_lines(pair))
    looks = f"the {show(n, 'int')} looks" if n > 1 else "the one look"
    words = f"Of {looks} of B, {show(pair.known, 'pct')} lie in regions that A knew. "
    if not n_both:
        return f"{words}No plan was taken in both."
    return f"{words}Both took {f'{n_both} plans' if n_both > 1 else 'one plan'}."


def cost_lines(pair: PairedLogs) -> list[str]:
    """'a → b: 2.29 in A, 1.00 in B, visits/tuple', of each plan of both, the most used first."""
    form, unit = form_of(pair.space.cost_unit), with_mu(pair.space.cost_unit)
    return [
        f"{row.plan.text or row.plan.name}: {_cost(row.a, form)} in A, {_cost(row.b, form)} in B, "
        f"{unit}"
        for row in pair.plans
        if row.a and row.b
    ]


def _cost(row: PlanShare, form: Format) -> str:
    return "not measured" if row.measured is None else show(row.measured, form)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
