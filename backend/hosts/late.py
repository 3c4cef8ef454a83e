"""Tuples late for queries with windows: kept aside where no query takes them, else told as missed.

A tuple is in the answers or kept aside, not both. Selections have no windows and take every tuple;
of several networks the one that began last may still take what is late for the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from backend.hosts.networks import HostJob
from backend.operators.contract import InputResult, KeptAside
from backend.operators.network.shards.shard_reports import MergedShards
from backend.operators.reports import MISFITS_SHOWN, Merged

#: What is put before the reason, where other queries take the tuple.
LEFT_OUT: Final = "left out of windows; "


class _Late(NamedTuple):
    """The tuples of an input that are late for a unit. first: some of them; parts: their files;
    missed: those that only some of its queries take."""

    n: int = 0
    first: tuple[KeptAside, ...] = ()
    parts: tuple[str, ...] = ()
    n_missed: int = 0
    missed: tuple[KeptAside, ...] = ()

    @classmethod
    def of(cls, unit: MergedShards, input: str) -> _Late:
        report = unit.result.report
        return cls(
            report.n_late.get(input, 0),
            report.late.get(input, ()),
            unit.late_parts.get(input, ()),
            report.n_missed.get(input, 0),
            report.missed.get(input, ()),
        )

    @property
    def n_left_out(self) -> int:
        """Those that some query of the unit does not take."""
        return self.n + self.n_missed


def with_late(
    job: HostJob, inputs: Mapping[str, Merged], networks: Mapping[str, MergedShards]
) -> dict[str, Merged]:
    """What was taken from inputs, with the tuples that are late for some of the networks.

    Where several networks read an input, the tuples late for them are mostly the same, and those
    late for the one with fewest are late for all.
    """
    with_them = dict(inputs)
    for name, input in inputs.items():
        readers = [networks[task.unit] for task in job.networks if name in task.job.streams]
        late = sorted((_Late.of(unit, name) for unit in readers), key=lambda unit: unit.n)
        if any(unit.n_left_out for unit in late):
            operators = job.tasks.inputs[name].operators.values()
            is_taken = any(operator.selects for operator in operators)
            with_them[name] = _told(input, late, _Late() if is_taken else late[0])
    return with_them


def _told(input: Merged, late: Sequence[_Late], aside: _Late) -> Merged:
    """late: for each network, fewest first; aside: what no query takes."""
    unwanted = tuple(part for unit in late if unit.parts != aside.parts for part in unit.parts)
    return input._replace(
        result=_counted(input.result, max(late, key=lambda unit: unit.n_left_out), aside),
        parts=(*input.parts, *aside.parts),
        unwanted=unwanted,
    )


def _counted(result: InputResult, most: _Late, aside: _Late) -> InputResult:
    raws = {misfit.raw for misfit in aside.first}
    left_out = [misfit for misfit in (*most.first, *most.missed) if misfit.raw not in raws]
    missed = [replace(misfit, error=LEFT_OUT + misfit.error) for misfit in left_out]
    n_missed = most.n_left_out - aside.n
    return replace(
        result,
        n_tuples=result.n_tuples - aside.n,
        n_misfits=result.n_misfits + aside.n,
        misfits=(*result.misfits, *aside.first)[:MISFITS_SHOWN],
        n_missed=result.n_missed + n_missed,
        missed=(*result.missed, *(missed if n_missed else ()))[:MISFITS_SHOWN],
    )
