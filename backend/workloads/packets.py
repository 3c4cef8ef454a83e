"""A seeded stream of network packets with attacks by schedule, and one of suspicious addresses.

The example of [B05] §4.1.1: packets to the prefixes of a table, with two byte sequences in their
payload. Before an attack the sequences are hardly ever there, so looking for one first drops nearly
everything, and they come together, so the second drops hardly anything of what passes the first.
During an attack both are in many packets, and where these are going drops most.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT
from backend.workloads.json_options import parsed

PACKETS_SCHEMA: Final = Schema.parse(
    "source string, dest string, port int, n_bytes int, payload string"
)
SUSPECTS_SCHEMA: Final = Schema.parse("address string")
#: Byte sequences of the attack, as they stand in a payload; the second holds digits of its own.
SIGNATURES: Final = ("0xa91f77c8", "0x7e55")
#: Tuples drawn from one random stream; any slice is made of whole blocks, cut.
BLOCK_TUPLES: Final = 8192
DEFAULT_TUPLES: Final = 2_000_000
#: Share of packets that belong to an attack while it lasts, and of those without one that carry
#: each sequence, and both.
ATTACK_SHARE: Final = 0.6
_STRAY, _STRAY_BOTH = 0.02, 0.015
#: Addresses packets come from; so many of them are the attackers'.
N_SOURCES: Final = 4096
N_ATTACKERS: Final = 512
_WORDS: Final = (
    "GET /index.html HTTP/1.1 Host: intranet Accept: text/html User-Agent: browser/5.0 ",
    'POST /api/v2/orders HTTP/1.1 Content-Type: application/json {"id": 48213, "n": 3} ',
    "SELECT name, total FROM invoices WHERE paid = 0 ORDER BY due LIMIT 50; -- nightly ",
    "220 mail ready EHLO client MAIL FROM:<a@example.org> RCPT TO:<b@example.org> DATA ",
    "0000000 7f45 4c46 0201 0100 0000 0000 0000 0003 003e 0001 0000 e2a0 0004 0000 0000 ",
    "SSH-2.0-client kex_algorithms curve25519-sha256 host_key ed25519 cipher chacha20 ",
    "0xa9 0x7e 0x55 0xa91f77 0x7e5 padding padding padding padding padding padding pad ",
    "PING PONG keepalive session 5d41402abc4b2a76b9719d911017c592 ttl 64 seq 1138 ack 0 ",
)


class PacketsError(ValueError):
    """A schedule of attacks that cannot be; the message says what is allowed."""


class Attack(NamedTuple):
    """Packets ``start`` .. ``stop - 1`` of the stream, attackers among them."""

    start: int
    stop: int


def attacks_from_json(text: str) -> tuple[Attack, ...]:
    """The ``attacks`` option: ``[[start, stop], …]``. Raises PacketsError."""
    pairs = parsed(text)
    if not isinstance(pairs, list):
        raise PacketsError("attacks must be a list of [start, stop], in tuples")
    attacks = []
    for pair in pairs:
        good = isinstance(pair, list) and len(pair) == 2 and all(type(n) is int for n in pair)
        if not good or not 0 <= pair[0] < pair[1]:
            raise PacketsError(f"attack {pair}: expected [start, stop] with 0 <= start < stop")
        attacks.append(Attack(*pair))
    return tuple(attacks)


class PacketSource:
    """The packets; the same position always gives the same packet."""

    schema = PACKETS_SCHEMA

    def __init__(self, seed: int, attacks: Sequence[Attack], n_tuples: int) -> None:
        self.seed, self.attacks, self.n_tuples = seed, tuple(attacks), n_tuples

    def slice(self, start: int, count: int) -> pa.Table:
        """Packets ``start`` .. ``start + count - 1``, drawn anew at each call."""
        return _sliced(start, min(count, self.n_tuples - start), PACKETS_SCHEMA, self._block)

    def _block(self, block: int) -> list[pa.Array[Any]]:
        rng = np.random.Generator(np.random.Philox(key=[self.seed, block]))
        n, first = BLOCK_TUPLES, block * BLOCK_TUPLES
        places = np.arange(first, first + n)
        under_way = np.zeros(n, dtype=np.bool_)
        for attack in self.attacks:
            under_way |= (places >= attack.start) & (places < attack.stop)
        hostile = under_way & (rng.random(n) < ATTACK_SHARE)
        sources = np.where(
            hostile, rng.integers(N_ATTACKERS, size=n), rng.integers(N_SOURCES, size=n)
        )
        stray, which = rng.random(n), rng.random(n)
        both = hostile | (stray < _STRAY_BOTH)
        first_one = both | ((stray < _STRAY) & (which < 0.5))
        second_one = both | ((stray < _STRAY) & (which >= 0.5))
        host = rng.integers(256, size=(2, n))
        return [
            _addresses(sources),
            _dotted(np.full(n, 10), rng.integers(16, size=n), host[0], host[1]),
            pa.array(np.array([80, 443, 1433, 22, 25], dtype=np.int32)[rng.integers(5, size=n)]),
            pa.array((40 + rng.gamma(2.0, 300.0, size=n)).astype(np.int32)),
            _payloads(rng, first_one, second_one),
        ]


class SuspectSource:
    """Addresses reported as suspicious: mostly the attackers', some of anybody."""

    schema = SUSPECTS_SCHEMA
    n_tuples: int | None = None

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def slice(self, start: int, count: int) -> pa.Table:
        """Reports ``start`` .. ``start + count - 1``, drawn anew at each call."""
        return _sliced(start, count, SUSPECTS_SCHEMA, self._block)

    def _block(self, block: int) -> list[pa.Array[Any]]:
        rng = np.random.Generator(np.random.Philox(key=[self.seed, 1 << 40 | block]))
        n = BLOCK_TUPLES
        attackers, anybody = rng.integers(N_ATTACKERS, size=n), rng.integers(N_SOURCES, size=n)
        return [_addresses(np.where(rng.random(n) < 0.9, attackers, anybody))]


def _sliced(start: int, count: int, schema: Schema, block_of: Any) -> pa.Table:
    """Whole blocks, cut; with ``_corrupt_record``."""
    names = [*schema.names, CORRUPT]
    tables = []
    done = 0
    while done < count:
        block, offset = divmod(start + done, BLOCK_TUPLES)
        n = min(BLOCK_TUPLES - offset, count - done)
        columns = [column.slice(offset, n) for column in block_of(block)]
        tables.append(pa.Table.from_arrays([*columns, pa.nulls(n, pa.string())], names=names))
        done += n
    if tables:
        return pa.concat_tables(tables).combine_chunks()
    empty = [column.slice(0, 0) for column in block_of(0)]
    return pa.Table.from_arrays([*empty, pa.nulls(0, pa.string())], names=names)


def _addresses(numbers: Any) -> pa.Array[Any]:
    """Source number -> its address, spread over 172.16.0.0/12."""
    spread = numbers * 193
    return _dotted(
        np.full(len(numbers), 172), 16 + (spread >> 16) % 16, spread >> 8 & 255, spread & 255
    )


def _dotted(*octets: Any) -> pa.Array[Any]:
    texts = [pa.array(part).cast(pa.string()) for part in octets]
    join: Any = pc.binary_join_element_wise  # its type stub knows no scalar separator
    addresses: pa.Array[Any] = join(*texts, ".")
    return addresses


def _payloads(rng: np.random.Generator, first: Any, second: Any) -> pa.Array[Any]:
    """Four phrases; the sequences stand behind the second and the third one."""
    n = len(first)
    phrases = pa.array(_WORDS)
    parts = [phrases.take(rng.integers(len(_WORDS), size=n)) for _ in range(4)]
    empty = pa.scalar("")
    first_signature = pc.if_else(pa.array(first), pa.scalar(SIGNATURES[0]), empty)
    digits = pa.array(rng.integers(1000, 10_000, size=n)).cast(pa.string())
    join: Any = pc.binary_join_element_wise  # its type stub knows no scalar separator
    second_signature = pc.if_else(
        pa.array(second), join(pa.scalar(SIGNATURES[1]), digits, pa.scalar("b"), ""), empty
    )
    payloads: pa.Array[Any] = join(
        parts[0], parts[1], first_signature, parts[2], second_signature, parts[3], ""
    )
    return payloads
