"""Looks of the plan log as bits: a number of six digits takes 27 of them, a plan five or ten.

A number comes back as it was: what six digits do not hold goes in as a double.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from storage.tables.bits import BEFORE, VERSION, BitsIn, BitsOut, is_ratio
from storage.tables.columns import dump_json, load_json
from storage.vocabulary.planlog import KEEP_EVERY, OMITTED, PAST, PRICES
from storage.vocabulary.records import Json

#: Parts of a sampled tuple are below.
_MOST_PARTS: Final = 65
#: Numbers of an offer without a price of switching of its own.
_SHARED: Final = 6
_FLAGS: Final = ("replaced", "is_transient", "known")


@dataclass(frozen=True, slots=True)
class LogHead:
    """What the looks of a log share. algorithm: of its first look; plans: digests by place, in the
    order they were written."""

    algorithm: str
    began: int
    digest: str
    schema: Json
    plans: Sequence[str]


@dataclass(frozen=True, slots=True)
class PackedFacts:
    """What a decision says of a look besides its record: versions of the plan and of the knobs."""

    algorithm: str
    version: int
    knob_version: int


def pack_plan(form: Json, first: Json) -> bytes:
    """A plan. first: of the log, None for that one itself; plans are mostly of the same words."""
    if first is None:
        return _deflated(form)
    out = BitsOut()
    _word(out, form, words_in(first))
    return out.data


def unpack_plan(data: bytes, first: Json) -> Json:
    """The plan of ``pack_plan``. Raises as ``unpack_look``."""
    return _inflated(data) if first is None else BitsIn(data).words(words_in(first))


def words_in(form: Json) -> list[str]:
    """The texts in a plan, in their order, each once."""
    if isinstance(form, list):
        return list(dict.fromkeys(word for part in form for word in words_in(part)))
    return [form] if isinstance(form, str) else []


def _word(out: BitsOut, form: Json, words: Sequence[str]) -> None:
    """A list by its length, a word by its place, and anything else as JSON."""
    if isinstance(form, list):
        out.whole(len(form) << 1)
        for part in form:
            _word(out, part, words)
    elif form in words:
        out.whole((1 + words.index(form)) << 1 | 1)
    else:
        out.whole(1)
        out.text(dump_json(form))


def pack_look(record: Json, facts: PackedFacts, head: LogHead) -> bytes:
    """A look, whose plans are among those of the log."""
    places = {digest: place for place, digest in enumerate(head.plans)}
    out, has_own = BitsOut(), any(len(offer) > _SHARED for offer in record["offers"])
    out.bits(VERSION, 4)
    out.text("" if facts.algorithm == head.algorithm else facts.algorithm)
    for n in (facts.version, facts.knob_version, record["number"], record["t"], record["n_sample"]):
        out.whole(n)
    for name in _FLAGS:
        out.bits(bool(record.get(name)), 1)
    out.whole(record.get("settling", 0))
    out.whole(record["ran"][0])
    for value in (record["ran"][1], record["caution"], record["dwell"]):
        out.number(value)
    out.ratio(record["cost"], record["n_sample"])
    for name in ("switching", "deciding"):
        out.multiple(record[name], record["cost"])
    for name in ("saving", "due", "region"):
        out.optional(record[name])
    parts = _parts(record["statistics"], record["n_sample"])
    out.whole(parts)
    for value in record["statistics"]:
        out.ratio(value, record["n_sample"] * parts)
    out.whole(places[record["plan"]])
    out.whole(len(record["offers"]))
    for plan, *numbers in (offer[:_SHARED] for offer in record["offers"]):
        _add_offer(out, places[plan], numbers, record)
    out.bits(has_own, 1)
    for offer in record["offers"] if has_own else ():
        out.optional(offer[_SHARED] if len(offer) > _SHARED else None)
    offered = [plan for plan, *_ in record["offers"]]
    out.whole(0 if record["rival"] is None else 1 + offered.index(record["rival"]))
    out.bits(record["chosen"] != record["plan"], 1)
    out.steps(sorted((places[plan], n) for plan, n in record.get(PRICES, {}).items()))
    out.steps(record.get(PAST, ()))
    state = record.get("state")
    return out.data + (b"" if state is None else _deflated(state))


def _add_offer(out: BitsOut, place: int, numbers: Sequence[Any], record: Json) -> None:
    """An offer of a look, its plan by its place."""
    cost, n, mean, squares, worst = numbers
    is_less, sizes = cost == _less(record["cost"], mean), _sizes(record["n_sample"])
    out.bits(is_less, 1)
    out.whole(place)
    out.whole(sizes.index(n) if n in sizes else n + len(sizes))
    out.ratio(mean, n)
    out.spread(squares, mean, n)
    for value in (worst,) if is_less else (worst, cost):
        out.number(value)


def unpack_look(data: bytes, head: LogHead) -> tuple[Json, PackedFacts]:
    """The record of ``pack_look``, without plans that it wrote down, and its facts. Raises
    ValueError, LookupError, ArithmeticError, struct.error or zlib.error for other bytes."""
    read = BitsIn(data)
    read.version = read.bits(4)
    if read.version not in (BEFORE, VERSION):
        raise ValueError("a look of another version")
    algorithm = read.text() or head.algorithm
    plan_version, knob_version, number, t, n_sample = (read.whole() for _ in range(5))
    flags = {name: bool(read.bits(1)) for name in _FLAGS}
    settling = read.whole()
    n_ran = read.whole()
    ran, caution, cost, dwell = _heading(read, n_sample)
    switching, deciding = (read.multiple(cost) for _ in range(2))
    saving, due, region = (read.optional() for _ in range(3))
    n_parts = n_sample * (read.whole() if read.version == VERSION else 1)
    statistics = [read.ratio(n_parts) for _ in head.schema["statistics"]]
    plan = head.plans[read.whole()]
    offers = [_offer(read, head, n_sample, cost) for _ in range(read.whole())]
    for offer in offers if read.version == VERSION and read.bits(1) else ():
        own = read.optional()
        offer += [] if own is None else [own]
    rival, is_switch = read.whole(), read.bits(1)
    prices, past = read.steps(), read.steps()
    named = offers[rival - 1][0] if rival else None
    record = {
        **{"began": head.began, "number": number, "t": t, "statistics": statistics, "plan": plan},
        **{"cost": cost, "offers": offers, "switching": switching},
        **{"deciding": deciding, "caution": caution, "ran": [n_ran, ran], "n_sample": n_sample},
        **{"chosen": named if is_switch else plan, "rival": named, "saving": saving},
        **{"region": None if region is None else int(region), "dwell": dwell},
        **{"due": None if due is None else int(due)},
        **flags,
        "settling": settling,
        PRICES: {head.plans[place]: step for place, step in prices},
        PAST: past,
        "schema": head.schema if number == 1 or not number % KEEP_EVERY else head.digest,
    }
    if read.rest:
        record["state"], record["schema"] = _inflated(read.rest), head.schema
    kept = {key: value for key, value in record.items() if value or key not in OMITTED}
    return kept, PackedFacts(algorithm, plan_version, knob_version)


def _heading(read: BitsIn, n_sample: int) -> tuple[float, float, float, float]:
    """What ran, the caution, the cost and the dwell."""
    if read.version == BEFORE:
        ran, caution, cost, dwell = (read.number() for _ in range(4))
    else:
        ran, caution, dwell, cost = (*(read.number() for _ in range(3)), read.ratio(n_sample))
    return ran, caution, cost, dwell


def _offer(read: BitsIn, head: LogHead, n_sample: int, present: float) -> list[Json]:
    is_less, place, n, sizes = read.bits(1), read.whole(), read.whole(), _sizes(n_sample)
    n = sizes[n] if n < len(sizes) else n - len(sizes)
    mean = read.ratio(n)
    squares, worst = read.spread(mean, n), read.number()
    cost = _less(present, mean) if is_less else read.number()
    return [head.plans[place], cost, n, mean, squares, worst]


def _less(cost: float, saving: float) -> float:
    """What a plan mostly costs: what the one in force does, less what it saves, to six digits."""
    return float(f"{max(0.0, cost - saving):.6g}")


def _sizes(n_sample: int) -> tuple[int, ...]:
    """Tuples that a plan is mostly judged on: all, or every other one."""
    return n_sample, n_sample // 2


def _parts(statistics: Sequence[float], n_sample: int) -> int:
    """Into so many parts sampled tuples are told apart by all statistics, as where each is of
    several queries; 1 where none up to _MOST_PARTS says all."""
    for parts in range(1, _MOST_PARTS):
        if all(is_ratio(value, n_sample * parts) for value in statistics):
            return parts
    return 1


def _deflated(value: Any) -> bytes:
    return zlib.compress(dump_json(value).encode(), 9)


def _inflated(data: bytes) -> Json:
    return load_json(zlib.decompress(data).decode())
