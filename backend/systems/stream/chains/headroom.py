"""What would make other chains of a network, by the slopes they are cut and scheduled by.

Thesis, section 2.3.3. Chains are others once a slope has passed another one: that of a chain that
runs later, or of the first operators of a chain that of the others in it. They are adopted where
less waits in queues then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from backend.adaptive.words import arrows, significant
from backend.systems.stream.chains.progress import EQUAL, Chain, Paths, Step, chains_of, progress
from storage.vocabulary.headroom import Headroom

#: Pairs that are told.
MOST_PAIRS: Final = 3
#: Operators of a chain that are named; of more the first and the last.
_NAMED: Final = 2
_UNIT: Final = "elements/us"
_ALIKE: Final = Headroom(
    "no slope is behind another one: all chains keep as much in queues", None, "", 0.0
)


class _Rivals(NamedTuple):
    """own: the operators whose slope is less than that of ``over``. does: what they do once it is
    more."""

    own: Chain
    over: Chain
    does: str


def chain_headroom(policy: str, steps: Paths, names: Mapping[str, str]) -> list[Headroom]:
    """The slopes nearest to passing another one, nearest first. policy: 'chain', or 'greedy', whose
    chains are single operators; names: of operators."""
    cut = [chains_of(policy, path) for path in steps]
    pairs = list(_scheduled(cut))
    if policy == "chain":
        pairs += [pair for path in steps for pair in _divided(path)]
    of_pairs = [_told(pair, names) for pair in pairs if pair.over.slope - pair.own.slope > EQUAL]
    return sorted(of_pairs, key=lambda headroom: -headroom.near)[:MOST_PAIRS] or [_ALIKE]


def _scheduled(cut: Sequence[Sequence[Chain]]) -> Iterator[_Rivals]:
    """Each chain and the one that runs next. On a path the one behind would be cut with it."""
    next_on_path = {pair for path in cut for pair in pairwise(path)}
    chains = sorted((chain for path in cut for chain in path), key=lambda chain: -chain.slope)
    for over, own in pairwise(chains):
        yield _Rivals(own, over, "joins" if (over, own) in next_on_path else "runs before")


def _divided(path: Sequence[Step]) -> Iterator[_Rivals]:
    """The first operators of each chain and the others in it."""
    start = 0
    for chain in chains_of("chain", path):
        end = start + len(chain.operators)
        for middle in range(start + 1, end):
            yield _Rivals(_run(path[start:middle]), _run(path[middle:end]), "splits off")
        start = end


def _run(steps: Sequence[Step]) -> Chain:
    """Operators one behind the other, as if they were a chain."""
    last = progress(steps)[-1]
    return Chain(tuple(step.id for step in steps), (1.0 - last.size) / last.time)


def _told(pair: _Rivals, names: Mapping[str, str]) -> Headroom:
    own, over = pair.own, pair.over
    missing = over.slope - own.slope
    more = f"{significant(missing)} more elements/µs and queues get shorter"
    words = f"{_said(own, names)} {pair.does} {_said(over, names)} if it frees {more}"
    return Headroom(words, missing, _UNIT, _near(own.slope, over.slope), *_firsts(pair, names))


def _near(own: float, over: float) -> float:
    """own < over: the share of the way; slopes of operators that release nothing are below 0."""
    return max(0.0, own / over) if over > 0 else over / own


def _firsts(pair: _Rivals, names: Mapping[str, str]) -> tuple[str, str]:
    own, over = (chain.operators[0] for chain in (pair.own, pair.over))
    return names.get(own, own), names.get(over, over)


def _said(chain: Chain, names: Mapping[str, str]) -> str:
    """'a → b', 'a → … → d'."""
    named = [names.get(id, id) for id in chain.operators]
    return arrows(named if len(named) <= _NAMED else [named[0], "…", named[-1]])
