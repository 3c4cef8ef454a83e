"""What would make the order of filters change next, by the invariant itself. [B05] eq. 4.4"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from backend.adaptive.core import Cooldown
from backend.adaptive.headroom import cooling, overtaking, waiting_for
from backend.adaptive.ordering.findings import Near
from backend.adaptive.ordering.rule import Rule
from storage.vocabulary.headroom import Headroom
from storage.vocabulary.kinds import Verdict

#: Pairs that are told.
MOST_PAIRS: Final = 3


def pair_headroom(near: Sequence[Near], names: Sequence[str], rule: Rule) -> list[Headroom]:
    """The pairs nearest to a violation, nearest first. names: by filter."""
    sure = f", shown with {100 * rule.confidence:g} % confidence" if rule.by_evidence else ""
    return [
        overtaking(names[pair.other], names[pair.own], pair.rise_prob, pair.drop_prob, sure)
        for pair in near[:MOST_PAIRS]
        if pair.rise_prob is not None
    ]


def check_headroom(
    verdict: Verdict, pairs: Sequence[Headroom], held: int, needed: int, wait: Cooldown, spell: int
) -> list[Headroom]:
    """What a check fell short of. pairs: nearest to a violation; held: profile tuples, of those
    needed; spell: tuples of a cool-down. A pinned order changes for nobody."""
    if verdict in ("switched", "pinned"):
        return []
    if verdict == "thin":
        return [waiting_for(held, needed, "profile tuples"), *pairs]
    return [cooling(wait, spell), *pairs] if verdict == "cooldown" else list(pairs)
