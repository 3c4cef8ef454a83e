"""Which region of the plan log the statistics were in, and for how long. [B05] §7"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from dashboard.views.planlog import PlanLogEntry
from dashboard.views.planlog_plans import LoggedPlan

#: Regions with a lane of their own: those that lasted longest.
MOST_REGIONS: Final = 12


class RegionStay(NamedTuple):
    """Looks one behind the other that fell into one region. since, until: times of the first of
    them and of the look that ended the stay (Unix s), the newest look where it lasts; batch, last:
    their batches. n_back: stays in the region before."""

    region: int
    plan: LoggedPlan
    since: float
    until: float
    batch: int
    last: int
    n_looks: int
    n_back: int


class RegionLanes(NamedTuple):
    """regions: those with a lane of their own, in the order in which they were met; stays: in these
    and in all others, oldest first. n_regions: of the log; subject: what is decided in it, '' where
    the unit has no other log."""

    regions: tuple[int, ...]
    stays: tuple[RegionStay, ...]
    n_regions: int
    subject: str = ""


def build_lanes(
    entries: Sequence[PlanLogEntry], plans: Mapping[str, LoggedPlan]
) -> RegionLanes | None:
    """entries: of one log, oldest first. None where all are in one region, or in none."""
    known = [entry for entry in entries if entry.region is not None]
    if len({entry.region for entry in known}) < 2:
        return None
    stays = _stays(known, plans)
    lasted: Counter[int] = Counter()
    for stay in stays:
        lasted[stay.region] += 1 + stay.last - stay.batch
    longest = {region for region, _ in lasted.most_common(MOST_REGIONS)}
    regions = tuple(region for region in lasted if region in longest)
    return RegionLanes(regions, tuple(stays), len(lasted))


def _stays(entries: Sequence[PlanLogEntry], plans: Mapping[str, LoggedPlan]) -> list[RegionStay]:
    runs = [list(own) for _, own in groupby(entries, lambda entry: (entry.region, entry.plan))]
    met: Counter[int] = Counter()
    stays = []
    for own, after in pairwise([*runs, runs[-1][-1:]]):
        first, region = own[0], own[0].region
        assert region is not None
        stays.append(
            RegionStay(
                region=region,
                plan=plans[first.plan],
                since=first.time,
                until=after[0].time,
                batch=first.batch,
                last=after[0].batch,
                n_looks=len(own),
                n_back=met[region],
            )
        )
        met[region] += 1
    return stays
