"""Seeded packets on three links, one behind the other: customer, backbone, outgoing ([B05] §6.1).

A packet on the customer's link C goes on to the backbone B with some probability and comes there
after a latency, likewise from B to the outgoing link O; the others of B and O come from elsewhere.
The streams of one seed and trace see the same packets. By schedule the latencies are others: that
is what the k of a k-constraint follows, k = latency x rate of the next link.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT
from backend.workloads.json_options import is_number, parsed
from backend.workloads.keyed import START

#: size: bytes; flow: which of 100 flows a packet belongs to, on all links the same.
LINKS_SCHEMA: Final = Schema.parse("t timestamp, pid bigint, size int, flow int")
LINKS: Final = ("C", "B", "O")
N_FLOWS: Final = 100
#: Bytes of a packet.
_SIZES: Final = (40, 1500)
MOST_TUPLES: Final = 50_000_000
_SECOND_US: Final = 1_000_000
#: A packet's identifier is its number, shuffled among those of 52 bits: multiplied by this and
#: folded, so that no two are alike, nor in order.
_SPREAD: Final = 2_862_933_555_777_941_757
_PID_BITS: Final = 52


class LinksError(ValueError):
    """An option that cannot be; the message says what is allowed."""


class LatencyPhase(NamedTuple):
    """From second ``start`` on packets take ``cb`` seconds from C to B, ``bo`` from B to O, at
    most."""

    start: float
    cb: float
    bo: float


class PacketTrace(NamedTuple):
    """What the three streams have in common. rates: packets a second on C, B, O; onward: share of
    those of C that go on to B, of B to O; jitter: share of the latency that is drawn, 0: every
    packet takes as long, and none passes another."""

    seed: int
    rates: tuple[float, ...] = (0.5, 5.0, 0.5)
    onward: tuple[float, ...] = (0.1, 0.1)
    latencies: tuple[LatencyPhase, ...] = (LatencyPhase(0, 20, 20),)
    jitter: float = 0.5
    seconds: int = 3 * 86_400


class LinkPackets(NamedTuple):
    """Packets of a link in the order they come. times: int64[n], microseconds; numbers: int64[n],
    of the packet; sizes, flows: int32[n]."""

    times: NDArray[np.int64]
    numbers: NDArray[np.int64]
    sizes: NDArray[np.int32]
    flows: NDArray[np.int32]

    def taken(self, which: NDArray[Any]) -> LinkPackets:
        """Some of them."""
        return LinkPackets(*(column[which] for column in self))


def trace_of(seed: int, options: Mapping[str, str]) -> PacketTrace:
    """The trace that options of a source describe. Raises LinksError."""
    usual = PacketTrace(seed)
    trace = PacketTrace(
        seed,
        _numbers(options, "rates", "C, B and O", usual.rates),
        _numbers(options, "onward", "C and B", usual.onward, most=1.0),
        _phases(options.get("latencies"), usual.latencies),
        _jitter(options.get("jitter"), usual.jitter),
        int(options.get("seconds", usual.seconds)),
    )
    for link, next_one, share, rate, after in zip(
        LINKS, LINKS[1:], trace.onward, trace.rates, trace.rates[1:], strict=False
    ):
        if share * rate > after * (1 + 1e-9):
            goes = f"{share * rate:g} packets a second go on from {link} to {next_one}"
            raise LinksError(f"{goes}, which has {after:g}; give {next_one} a rate of as many")
    if sum(trace.rates) * trace.seconds > MOST_TUPLES:
        raise LinksError(f"rates x seconds are more than {MOST_TUPLES} packets in all")
    return trace


def link_of(options: Mapping[str, str]) -> str:
    """The option ``link``. Raises LinksError."""
    link = options.get("link", "").upper()
    if link not in LINKS:
        raise LinksError(f"link must be C, B or O, not {options.get('link', '')!r}")
    return link


def _numbers(
    options: Mapping[str, str], name: str, of: str, usual: tuple[float, ...], most: float = 1e6
) -> tuple[float, ...]:
    """A list of numbers above 0."""
    text = options.get(name)
    if text is None:
        return usual
    row = parsed(text)
    good = isinstance(row, list) and len(row) == len(usual) and all(map(is_number, row))
    if not good or not all(0 < number <= most for number in row):
        wanted = f"a list of {len(usual)} numbers, of {of}, above 0, at most {most:g}"
        raise LinksError(f"{name} must be {wanted}, not {text}")
    return tuple(map(float, row))


def _jitter(text: str | None, usual: float) -> float:
    jitter = usual if text is None else parsed(text)
    if not is_number(jitter) or not 0 <= jitter <= 1:
        raise LinksError(f"jitter must be a share of the latency, 0..1, not {text}")
    return float(jitter)


def _phases(text: str | None, usual: tuple[LatencyPhase, ...]) -> tuple[LatencyPhase, ...]:
    if text is None:
        return usual
    rows = parsed(text)
    if not isinstance(rows, list) or not rows:
        raise LinksError("latencies must be a list of [start second, C to B, B to O in seconds]")
    phases: list[LatencyPhase] = []
    for row in rows:
        good = isinstance(row, list) and len(row) == 3 and all(map(is_number, row))
        if not good or not _follows(row, phases) or not all(0 <= d <= 86_400 for d in row[1:]):
            raise LinksError(
                f"latencies {row}: expected [start, C to B, B to O], the first start 0, then later "
                "ones, and latencies of 0 to 86400 seconds"
            )
        phases.append(LatencyPhase(*map(float, row)))
    return tuple(phases)


def _follows(row: list[float], phases: list[LatencyPhase]) -> bool:
    return row[0] > phases[-1].start if phases else row[0] == 0


class LinkSource:
    """The packets of one link; the same position always gives the same packet."""

    schema = LINKS_SCHEMA

    def __init__(self, link: str, trace: PacketTrace) -> None:
        self.link, self.trace = link, trace

    @classmethod
    def of(cls, seed: int, options: Mapping[str, str]) -> LinkSource:
        """The source of a workload's options. Raises LinksError."""
        return cls(link_of(options), trace_of(seed, options))

    @property
    def n_tuples(self) -> int:
        """Packets that come in the trace's seconds."""
        return len(self._packets.times)

    @property
    def _packets(self) -> LinkPackets:
        return packets(self.trace)[LINKS.index(self.link)]

    def slice(self, start: int, count: int) -> pa.Table:
        """Packets ``start`` .. ``start + count - 1``, fewer at the end."""
        taken = self._packets.taken(slice(start, start + max(0, count)))  # type: ignore[arg-type]
        columns: list[pa.Array[Any]] = [
            pa.array(START + taken.times, pa.timestamp("us", "UTC")),
            pa.array(pid(taken.numbers)),
            pa.array(taken.sizes),
            pa.array(taken.flows),
            pa.nulls(len(taken.times), pa.string()),
        ]
        return pa.Table.from_arrays(columns, names=[*LINKS_SCHEMA.names, CORRUPT])


def pid(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Identifiers of packets; different numbers have different ones."""
    odd, mask = np.uint64(_SPREAD), np.uint64((1 << _PID_BITS) - 1)
    spread = numbers.astype(np.uint64) * odd & mask
    spread ^= spread >> np.uint64(_PID_BITS // 2)
    return (spread * odd & mask).astype(np.int64)


@lru_cache(maxsize=2)
def packets(trace: PacketTrace) -> tuple[LinkPackets, LinkPackets, LinkPackets]:
    """The packets of C, B and O."""
    rng = np.random.default_rng(trace.seed)
    (rate_c, rate_b, rate_o), (onward_b, onward_o) = trace.rates, trace.onward
    on_c = _entering(rng, trace, rate_c, 0)
    first = len(on_c.times)
    on_b = _entering(rng, trace, max(0.0, rate_b - onward_b * rate_c), first)
    first += len(on_b.times)
    on_b = _merged(on_b, _going_on(rng, trace, on_c, onward_b, "cb"), trace)
    on_o = _entering(rng, trace, max(0.0, rate_o - onward_o * rate_b), first)
    return on_c, on_b, _merged(on_o, _going_on(rng, trace, on_b, onward_o, "bo"), trace)


def _entering(rng: np.random.Generator, trace: PacketTrace, rate: float, first: int) -> LinkPackets:
    """Packets from outside, at random moments. first: number of the first of them."""
    n = int(rng.poisson(rate * trace.seconds))
    times = np.sort(rng.integers(0, trace.seconds * _SECOND_US, size=n))
    sizes = rng.integers(*_SIZES, size=n, endpoint=True, dtype=np.int32)
    flows = rng.integers(N_FLOWS, size=n, dtype=np.int32)
    return LinkPackets(times, np.arange(first, first + n), sizes, flows)


def _going_on(
    rng: np.random.Generator, trace: PacketTrace, before: LinkPackets, share: float, hop: str
) -> LinkPackets:
    """Those of a link's packets that go on, at the times they come to the next one."""
    going = before.taken(rng.random(len(before.times)) < share)
    starts = [phase.start * _SECOND_US for phase in trace.latencies]
    most = np.array([getattr(phase, hop) for phase in trace.latencies]) * _SECOND_US
    phase = np.searchsorted(starts, going.times, side="right") - 1
    taken = most[phase] * (1 - trace.jitter * rng.random(len(phase)))
    return going._replace(times=going.times + taken.astype(np.int64))


def _merged(own: LinkPackets, came: LinkPackets, trace: PacketTrace) -> LinkPackets:
    pairs: list[tuple[Any, Any]] = list(zip(own, came, strict=True))
    both = LinkPackets(*(np.concatenate(pair) for pair in pairs))
    order = np.argsort(both.times, kind="stable")
    return both.taken(order[both.times[order] < trace.seconds * _SECOND_US])
