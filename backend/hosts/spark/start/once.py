"""A run that takes what is there and ends: knobs that cannot act then, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backend.engine.knobs import AT_END, RATE
from backend.model.knobs import KnobSpec
from backend.workloads.sources import is_replayed
from backend.workloads.spec import StreamSpec


@dataclass(frozen=True, slots=True)
class Once:
    """keeps_rate: streams come at their rates. warnings: of knobs that do not act, in sentences."""

    keeps_rate: bool
    warnings: tuple[str, ...]


def taken_once(
    knobs: Mapping[str, object], asked: frozenset[str], streams: Iterable[StreamSpec]
) -> Once:
    """What a workload's knobs come to. asked: those given for this start: a rate is kept when it
    was asked for, and Spark reads no stream itself, which would wait for the end of the others."""
    read, warnings = tuple(streams), []
    theirs = [stream.name for stream in read if not is_replayed(stream)]
    keeps_rate = not theirs and any(_name(key) == RATE.name for key in asked)
    rates = [stream.rate for stream in read]
    if not keeps_rate and (any(rates) or any(_turned(knobs, RATE))):
        why = f"Spark reads {theirs[0]}" if theirs else "--set rate=… keeps one"
        warnings.append(f"with --once tuples come as fast as they can, at no rate ({why})")
    if any(value != AT_END.default for value in _turned(knobs, AT_END)):
        warnings.append("with --once a stream ends with its last tuple, whatever at_end says")
    return Once(keeps_rate, tuple(warnings))


def nothing_decided(asked: frozenset[str], n_decisions: int, n_tuples: int) -> str | None:
    """What is said at the end when knobs of systems were asked for and no plan came up for
    decision; None otherwise."""
    of_inputs = {RATE.name, AT_END.name}
    if n_decisions or all(_name(key) in of_inputs for key in asked):
        return None
    few = f"{n_tuples} tuples gave no occasion"
    return f"no plan was reconsidered, {few}: knobs that say when and how had nothing to act on"


def _turned(knobs: Mapping[str, object], spec: KnobSpec) -> list[object]:
    return [value for key, value in knobs.items() if _name(key) == spec.name]


def _name(key: str) -> str:
    return key.rpartition("/")[2]
