"""Looks of the plan log as bits: a number of six digits takes 27 of them, a plan five or ten.

A number comes back as it was: what six digits do not hold goes in as a double.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from storage.tables.columns import dump_json, load_json
from storage.vocabulary.planlog import KEEP_EVERY, OMITTED
from storage.vocabulary.records import Json

#: Of the form below, and of that in which offers have costs of switching of their own, last.
VERSION: Final = 1
_PRICED: Final = 2
#: Numbers of an offer without.
_SHARED: Final = 6
#: Bits of the digits of a number, short ones and long ones, and what stands for a double.
_WIDTHS: Final = (5, 10, 20)
_DOUBLE: Final = 3
#: The least of 16 exponents.
_LOW: Final = -11
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
    out = _Out()
    _word(out, form, words_in(first))
    return out.data


def unpack_plan(data: bytes, first: Json) -> Json:
    """The plan of ``pack_plan``. Raises as ``unpack_look``."""
    return _inflated(data) if first is None else _In(data).words(words_in(first))


def words_in(form: Json) -> list[str]:
    """The texts in a plan, in their order, each once."""
    if isinstance(form, list):
        return list(dict.fromkeys(word for part in form for word in words_in(part)))
    return [form] if isinstance(form, str) else []


def _word(out: _Out, form: Json, words: Sequence[str]) -> None:
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
    out, has_own = _Out(), any(len(offer) > _SHARED for offer in record["offers"])
    out.bits(_PRICED if has_own else VERSION, 4)
    out.text("" if facts.algorithm == head.algorithm else facts.algorithm)
    for n in (facts.version, facts.knob_version, record["number"], record["t"], record["n_sample"]):
        out.whole(n)
    for name in _FLAGS:
        out.bits(bool(record.get(name)), 1)
    out.whole(record.get("settling", 0))
    out.whole(record["ran"][0])
    for value in (record["ran"][1], record["caution"], record["cost"], record["dwell"]):
        out.number(value)
    for name in ("switching", "deciding"):
        out.multiple(record[name], record["cost"])
    for name in ("saving", "due", "region"):
        out.optional(record[name])
    for value in record["statistics"]:
        out.number(value)
    out.whole(places[record["plan"]])
    out.whole(len(record["offers"]))
    sizes = _sizes(record["n_sample"])
    for plan, cost, n, *numbers in (offer[:_SHARED] for offer in record["offers"]):
        is_less = cost == _less(record["cost"], numbers[0])
        out.bits(is_less, 1)
        out.whole(places[plan])
        out.whole(sizes.index(n) if n in sizes else n + len(sizes))
        for value in numbers if is_less else (*numbers, cost):
            out.number(value)
    for offer in record["offers"] if has_own else ():
        out.optional(offer[_SHARED] if len(offer) > _SHARED else None)
    offered = [plan for plan, *_ in record["offers"]]
    out.whole(0 if record["rival"] is None else 1 + offered.index(record["rival"]))
    out.bits(record["chosen"] != record["plan"], 1)
    state = record.get("state")
    return out.data + (b"" if state is None else _deflated(state))


def unpack_look(data: bytes, head: LogHead) -> tuple[Json, PackedFacts]:
    """The record of ``pack_look``, without plans that it wrote down, and its facts. Raises
    ValueError, LookupError, OverflowError, struct.error or zlib.error for other bytes."""
    read = _In(data)
    version = read.bits(4)
    if version not in (VERSION, _PRICED):
        raise ValueError("a look of another version")
    algorithm = read.text() or head.algorithm
    plan_version, knob_version, number, t, n_sample = (read.whole() for _ in range(5))
    flags = {name: bool(read.bits(1)) for name in _FLAGS}
    settling = read.whole()
    n_ran = read.whole()
    ran, caution, cost, dwell = (read.number() for _ in range(4))
    switching, deciding = (read.multiple(cost) for _ in range(2))
    saving, due, region = (read.optional() for _ in range(3))
    statistics = [read.number() for _ in head.schema["statistics"]]
    plan = head.plans[read.whole()]
    offers = [_offer(read, head, n_sample, cost) for _ in range(read.whole())]
    for offer in offers if version == _PRICED else ():
        own = read.optional()
        offer += [] if own is None else [own]
    rival, is_switch = read.whole(), read.bits(1)
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
        "schema": head.schema if number == 1 or not number % KEEP_EVERY else head.digest,
    }
    if read.rest:
        record["state"], record["schema"] = _inflated(read.rest), head.schema
    kept = {key: value for key, value in record.items() if value or key not in OMITTED}
    return kept, PackedFacts(algorithm, plan_version, knob_version)


def _offer(read: _In, head: LogHead, n_sample: int, present: float) -> list[Json]:
    is_less, place, n, sizes = read.bits(1), read.whole(), read.whole(), _sizes(n_sample)
    numbers = [read.number() for _ in range(3)]
    cost = _less(present, numbers[0]) if is_less else read.number()
    n = sizes[n] if n < len(sizes) else n - len(sizes)
    return [head.plans[place], cost, n, *numbers]


def _less(cost: float, saving: float) -> float:
    """What a plan mostly costs: what the one in force does, less what it saves, to six digits."""
    return float(f"{max(0.0, cost - saving):.6g}")


def _sizes(n_sample: int) -> tuple[int, ...]:
    """Tuples that a plan is mostly judged on: all, or every other one."""
    return n_sample, n_sample // 2


def _deflated(value: Any) -> bytes:
    return zlib.compress(dump_json(value).encode(), 9)


def _inflated(data: bytes) -> Json:
    return load_json(zlib.decompress(data).decode())


class _Out:
    """Bits that grow, the low ones first."""

    def __init__(self) -> None:
        self._bits = self._n = 0

    @property
    def data(self) -> bytes:
        """In whole bytes."""
        return self._bits.to_bytes((self._n + 7) // 8, "little")

    def bits(self, value: int, width: int) -> None:
        """So many bits."""
        self._bits |= value << self._n
        self._n += width

    def whole(self, value: int) -> None:
        """Four bits at a time, each with one that says whether more follow."""
        if value < 0:
            raise ValueError(f"{value} is no count")
        while value > 0xF:
            self.bits(value & 0xF | 0x10, 5)
            value >>= 4
        self.bits(value, 5)

    def number(self, value: float) -> None:
        """How long it is, its sign, an exponent of ten, and its digits; or a double."""
        digits, exponent = _decimal(value)
        if not _LOW <= exponent < _LOW + 16 or float(f"{digits}e{exponent}") != abs(value):
            self.bits(_DOUBLE, 2)
            self.bits(int.from_bytes(struct.pack("<d", value), "little"), 64)
            return
        length = next(n for n, width in enumerate(_WIDTHS) if digits < 1 << width)
        self.bits(length | (value < 0) << 2 | (exponent - _LOW) << 3, 7)
        self.bits(digits, _WIDTHS[length])

    def multiple(self, value: float, unit: float) -> None:
        """What is mostly so many times another number, to six digits."""
        n = round(value / unit) if 0 < value < unit * 2**31 else 0
        is_multiple = n > 0 and float(f"{n * unit:.6g}") == value
        self.whole(n if is_multiple else 0)
        if not is_multiple:
            self.number(value)

    def optional(self, value: float | None) -> None:
        """A number, or that there is none."""
        self.bits(value is not None, 1)
        if value is not None:
            self.number(value)

    def text(self, value: str) -> None:
        """Its length first."""
        encoded = value.encode()
        self.whole(len(encoded))
        self.bits(int.from_bytes(encoded, "little"), 8 * len(encoded))


class _In:
    """Bits that are read as ``_Out`` wrote them."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    @property
    def rest(self) -> bytes:
        """Whole bytes that were not begun."""
        return self._data[(self._place + 7) // 8 :]

    def bits(self, width: int) -> int:
        """Raises IndexError at the end."""
        first, shift = divmod(self._place, 8)
        self._place += width
        if self._place > 8 * len(self._data):
            raise IndexError("the bytes end too soon")
        part = self._data[first : (self._place + 7) // 8]
        return int.from_bytes(part, "little") >> shift & (1 << width) - 1

    def whole(self) -> int:
        value, shift, bits = 0, 0, 0x10
        while bits & 0x10:
            bits = self.bits(5)
            value |= (bits & 0xF) << shift
            shift += 4
        return value

    def number(self) -> float:
        length = self.bits(2)
        if length == _DOUBLE:
            return float(struct.unpack("<d", self.bits(64).to_bytes(8, "little"))[0])
        head = self.bits(5)
        value = float(f"{self.bits(_WIDTHS[length])}e{(head >> 1) + _LOW}")
        return -value if head & 1 else value

    def multiple(self, unit: float) -> float:
        n = self.whole()
        return float(f"{n * unit:.6g}") if n else self.number()

    def optional(self) -> float | None:
        return self.number() if self.bits(1) else None

    def words(self, words: Sequence[str]) -> Json:
        head = self.whole()
        if not head & 1:
            return [self.words(words) for _ in range(head >> 1)]
        return words[(head >> 1) - 1] if head >> 1 else load_json(self.text())

    def text(self) -> str:
        length = self.whole()
        return self.bits(8 * length).to_bytes(length, "little").decode()


def _decimal(value: float) -> tuple[int, int]:
    """Six digits and an exponent of ten, without the zeros at their end."""
    if not math.isfinite(value) or not value:
        return 0, 0
    digits, _, exponent = f"{abs(value):.5e}".partition("e")
    whole, power = int(digits.replace(".", "")), int(exponent) - 5
    while not whole % 10:
        whole, power = whole // 10, power + 1
    return whole, power
