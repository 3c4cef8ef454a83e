"""What the plan log has of the choice of constraints of a join, in bytes held. [B05] §7"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from backend.adaptive.evidence import plan_detail
from backend.adaptive.planlog.logged import Statistics, Weighed, statistics
from backend.systems.cores import CoreNews
from backend.systems.kmon.choosing import margin
from backend.systems.kmon.join import AdaptedKMon, Record
from backend.systems.kmon.telling import BYTES, CHOICE
from storage.vocabulary.records import Decision

SUBJECT: Final = "constraints"


def news(join: AdaptedKMon, records: Sequence[Record], arrived: int) -> CoreNews:
    """What a batch of so many arrivals led to."""
    looks = [each for each in records if isinstance(each, Decision) and each.kind == CHOICE]
    weighed = tuple(_weighed(join, look) for look in looks[:1])
    ran = {SUBJECT: (arrived, float(arrived * join.held_bytes))} if arrived > 0 else {}
    return CoreNews(tuple(records), False, ran, weighed).about(join.name)


def _weighed(join: AdaptedKMon, look: Decision) -> Weighed:
    """The set in use, beside the one that is used from now on, or else the nearest other one."""
    choice, key = join.chosen, look.detail.get("key")
    before = join.used if choice is None else choice.before
    held, after, cost = join.seen.held_bytes, before, None
    if choice is not None:
        after = choice.after if choice.changed or not key else choice.before ^ {key}
        burden = choice.problem.burden
        cost = max(0.0, held + burden(after) - burden(choice.before))
    return Weighed(
        replace(
            look,
            verdict="switched" if choice is not None and choice.changed else look.verdict,
            old=_plan(join, before),
            new=_plan(join, after),
            predicted_old=held,
            predicted_new=cost,
        ),
        SUBJECT,
        BYTES,
        _statistics(join),
        deciding=0,
    )


def _plan(join: AdaptedKMon, used: Collection[str]) -> dict[str, object]:
    names = [each.name for key, each in join.view.candidates.items() if key in used]
    return plan_detail(None, SUBJECT, names)


def _statistics(join: AdaptedKMon) -> Statistics:
    """Of each constraint what it saves and costs, 0 where its k is not known; k, where that alone
    counts."""
    names, choice = [each.name for each in join.view.candidates.values()], join.chosen
    if join.settings.takes_all:
        return statistics(names, k=("arrivals", [float(s.k) for s in join.standings.values()]))
    known = choice.problem.costs if choice is not None else {}
    pairs = [
        margin(choice.problem, choice.before, key) if choice and key in known else (0.0, 0.0)
        for key in join.view.candidates
    ]
    saved, costs = [saved for saved, _ in pairs], [cost for _, cost in pairs]
    return statistics(names, saves=(BYTES, saved), costs=(BYTES, costs))
