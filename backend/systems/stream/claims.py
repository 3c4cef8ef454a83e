"""Which core of a network adapts which operator: one each, and no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backend.operators.network.core.job import NetworkJob
from backend.operators.network.core.plan import NetworkPlan
from backend.systems.contract import Refusal, Refused
from backend.systems.cores import CoreKind, OperatorCore


def claimed(
    kinds: Sequence[CoreKind], plan: NetworkPlan, names: Mapping[str, str]
) -> list[frozenset[str]]:
    """The operators that each kind of core adapts, by id. names: what people call operators. Raises
    Refused where two claim one."""
    claims = [kind.claims(plan) for kind in kinds]
    held = [frozenset[str]() if isinstance(own, Refusal) else own for own in claims]
    by_id: dict[str, str] = {}
    for kind, ids in zip(kinds, held, strict=True):
        for id in sorted(ids):
            if id in by_id:
                raise Refused(
                    f"{names[id]} is claimed by {by_id[id]} and by {kind.title}: one core adapts "
                    "an operator; run the query in a system that has one of them"
                )
            by_id[id] = kind.title
    return held


def decided(
    job: NetworkJob, cores: Sequence[OperatorCore], claims: Sequence[frozenset[str]]
) -> NetworkJob:
    """The job as all cores have it executed. claims: of each its operators. Raises ValueError where
    one decides on another operator."""
    for core, own in zip(cores, claims, strict=True):
        before, job = job.decided.keys(), core.tuned(job)
        if beyond := job.decided.keys() - before - own:
            who, which = type(core).__name__, ", ".join(sorted(beyond))
            raise ValueError(f"{who} decides on {which}, which it does not claim")
    return job
