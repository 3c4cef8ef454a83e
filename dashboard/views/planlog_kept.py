"""The plan before a switch, as later looks of the autopilot priced it on their samples. [B05] §7"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dashboard.components.formats import show, unit_for
from dashboard.views.numbers import Z_95
from dashboard.views.planlog_hindsight import (
    in_moves,
    on_record,
    stretch_costs,
    stretch_shares,
)
from storage.tables.rows import StoredLook
from storage.vocabulary.planlog import counted


class PlanBefore(NamedTuple):
    """Stretches under the new plan, each up to a look that priced both. batches: of the looks,
    since: before the first; recorded, kept: what a stretch cost, and would have cost under the plan
    before; error: of their difference, half of its 95 % interval. n_looks: of all stretches, those
    without a price too. is_next: another switch ended the last one. unit: of the costs, of: what
    runs, 'tuple'."""

    batches: tuple[int, ...]
    since: int
    recorded: tuple[float, ...]
    kept: tuple[float, ...]
    error: float
    n_looks: int
    is_next: bool
    unit: str
    of: str

    def by_batch(self) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
        """A batch of each stretch, at its look: as recorded, and under the plan before."""
        n = [after - before for before, after in pairwise((self.since, *self.batches))]
        recorded, kept = (
            [(at, cost / max(1, k)) for at, cost, k in zip(self.batches, costs, n, strict=True)]
            for costs in (self.recorded, self.kept)
        )
        return recorded, kept


def kept_plan(looks: Sequence[StoredLook], seq: int) -> PlanBefore | None:
    """Of the switch at a look. looks: of one log, oldest first; None before a look priced both
    plans, and where the switch is not among them."""
    place = next((place for place, look in enumerate(looks) if look.seq == seq), None)
    if place is None:
        return None
    switch, own = looks[place], list(_under(looks[place:]))
    ended = [look for look in (switch, *own) if look.record["ran"][0]]
    records = [look.record for look in ended]
    plans = switch.record["chosen"], switch.record["plan"]
    cost_unit = switch.record["schema"]["cost_unit"]
    prices, ran = on_record(ended, plans), [plans.index(record["plan"]) for record in records]
    measured = np.array([record["ran"][1] / record["ran"][0] for record in records])
    shares = stretch_shares(prices, in_moves(records), measured, ran)
    costs, missed = stretch_costs(prices, shares, records, ran)
    known = [at for at, each in enumerate(ran) if not each and np.isfinite(costs[at]).all()]
    if not known:
        return None
    return PlanBefore(
        batches=tuple(ended[at].batch for at in known),
        since=switch.batch,
        recorded=tuple(costs[known, 0].tolist()),
        kept=tuple(costs[known, 1].tolist()),
        error=Z_95 * math.sqrt(float((missed[known] ** 2).sum())),
        n_looks=ran.count(0),
        is_next=own[-1].record["chosen"] != plans[0],
        unit=cost_unit.partition("/")[0],
        of=counted(cost_unit),
    )


def _under(looks: Sequence[StoredLook]) -> Iterator[StoredLook]:
    """Those behind the first, up to the one that ends its plan."""
    chosen = looks[0].record["chosen"]
    for look in looks[1:]:
        if look.record["plan"] != chosen or look.record.get("replaced"):
            return
        yield look
        if look.record["chosen"] != chosen:
            return


def kept_words(kept: PlanBefore) -> list[str]:
    """'This switch saved 41.2k probes ± 2.1k in batches 90 to 97: …', and how that is known."""
    recorded, without = sum(kept.recorded), sum(kept.kept)
    size, unit = unit_for(max(recorded, without), kept.unit)
    saved, n = without - recorded, len(kept.batches)
    error, amount = show(kept.error / size, "si"), show(abs(saved) / size, "si")
    end = "the next switch" if kept.is_next else "the last look"
    first, last = kept.since + 1, kept.batches[-1]
    which = f"batches {first} to {last}" if first < last else f"batch {last}"
    stretch = f"in {which}, up to {end}"
    outcome = f"{'saved' if saved > 0 else 'cost'} {amount} ± {error} {unit}"
    if abs(saved) <= kept.error:
        outcome = f"may have saved nothing ({'−' if saved < 0 else ''}{amount} ± {error} {unit})"
    elif saved <= 0:
        outcome += " more"
    looks = f"{n} look{'' if n == 1 else 's'}"
    of = looks if n == kept.n_looks else f"{n} of {kept.n_looks} looks"
    return [
        f"This switch {outcome} {stretch}: {show(without / size, 'si')} {unit} without it, "
        f"{show(recorded / size, 'si')} with it.",
        f"Estimated: {of} priced both plans on sampled {kept.of}s; nothing was replayed.",
    ]
