"""Which states do not wait for their turn to be assessed (ours).

Turns come by requests, whatever these cost. A state whose bits are of no use for what it is asked
has the codes of all its tuples read until then. So it is assessed as well once its searches since
the last selection cost more than all before it: at first at once, then each time after twice as
much, so that of n units of work log2(n) selections come on top of those by turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from backend.systems.amri.states import StateIndex
from storage.vocabulary.amri_costs import COUNTED, REFINED

#: Requests that say what a state is asked for.
FEWEST: Final = 1_000


def ended_early(states: Sequence[StateIndex]) -> list[int]:
    """Assess the states that are overdue; the places of those whose assessment can end."""
    overdue = [place for place, state in enumerate(states) if is_overdue(state)]
    for place in overdue:
        if states[place].assessor is None:
            states[place].begin()
    return [place for place in overdue if _says_enough(states[place])]


def is_overdue(state: StateIndex) -> bool:
    """Whether a state is assessed whatever the schedule says: only where other bits are adopted for
    what they would have saved."""
    knobs = state.knobs
    if knobs.tuning_schedule == "off" or knobs.selection != "accumulated":
        return False
    if knobs.access == "scan" or state.pinned is not None:
        return False
    before = state.accounted.counts
    return state.asked.since(before).cost(REFINED) > before.cost(REFINED)


def _says_enough(state: StateIndex) -> bool:
    """Whether the requests of an assessment cost twice what filling all indexes anew does."""
    anew = state.report.n_tuples * (COUNTED.insert + COUNTED.delete + 2 * state.n * COUNTED.hash)
    n_requests = 0 if state.assessor is None else state.assessor.total
    return n_requests >= FEWEST and state.counts.cost(REFINED) > 2 * anew
