"""What derived sentences come to, from the rows of a store alone, number by number."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Sequence
from typing import Any

Z = 1.959963984540054


def values(db: sqlite3.Connection, entity: str, name: str) -> dict[int, float]:
    """Batch -> value, where it is known."""
    text = (
        "select l.batch_id, l.value from series s join samples l on l.series_id = s.id "
        "where s.entity_id = ? and s.property = ? and l.value is not null"
    )
    return dict(db.execute(text, (entity, name)).fetchall())


def owner(db: sqlite3.Connection, name: str) -> str:
    """The one entity with a property."""
    ((entity,),) = db.execute("select entity_id from series where property = ?", (name,)).fetchall()
    return str(entity)


def saved_of_first_order(db: sqlite3.Connection, until: int) -> tuple[float, float]:
    """What adapting saved and half its interval, as shares of what the first order would have
    cost: at each entry, times the tuples since the one before."""
    saved, error, first = (
        values(db, owner(db, name), name)
        for name in ("regret_saved_total", "regret_saved_se", "regret_first")
    )
    tuples = values(db, "system", "tuples_total")
    whole = before = 0.0
    for batch in sorted(tuples):
        if batch <= until and batch in first:
            whole += first[batch] * (tuples[batch] - before)
            before = tuples[batch]
    return saved[until] / whole, Z * error[until] / whole


def switches(db: sqlite3.Connection, first: int, last: int) -> int:
    """Changes of the plan by decisions of some batches."""
    text = "select count(*) from decisions where verdict = 'switched' and batch between ? and ?"
    return int(db.execute(text, (first, last)).fetchone()[0])


def switches_until(db: sqlite3.Connection, time: float | None) -> int:
    """Changes of the plan by decisions up to a time, None = all."""
    text = "select count(*) from decisions where verdict = 'switched' and (? is null or time <= ?)"
    return int(db.execute(text, (time, time)).fetchone()[0])


def evaluations_after(db: sqlite3.Connection, time: float) -> int:
    """Decisions recorded later."""
    return int(db.execute("select count(*) from decisions where time > ?", (time,)).fetchone()[0])


def mean_and_half(numbers: Sequence[float]) -> tuple[float, float]:
    """A mean and half its 95 % interval."""
    n = len(numbers)
    mean = math.fsum(numbers) / n
    squares = math.fsum((number - mean) ** 2 for number in numbers)
    return mean, Z * math.sqrt(squares / (n - 1) / n)


def change(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """By what share a mean changed, and half the interval of that."""
    (old, old_half), (new, new_half) = mean_and_half(before), mean_and_half(after)
    return (new - old) / old, math.sqrt(old_half**2 + new_half**2) / old


def as_told(share: float, half: float) -> str:
    """'+6.0 % ± 5.9'."""
    sign = "−" if f"{share:+.3%}"[0] == "-" else "+"
    return f"{sign}{abs(100 * share):.1f} % ± {100 * half:.1f}"


def pages_by_price(db: sqlite3.Connection, batch: int) -> list[tuple[float, str, int]]:
    """Each page that is bid for as of a batch: what a KiB of it saves, its consumer and its bytes,
    the dearest first."""
    text = (
        "select row_stats from matrices where kind = 'memory bids' and batch_id <= ? "
        "order by batch_id desc limit 1"
    )
    ((told,),) = db.execute(text, (batch,)).fetchall()
    stats: dict[str, list[Any]] = json.loads(told)
    pages = []
    for place, tiers in enumerate(stats["tiers"]):
        one = {name: column[place] for name, column in stats.items()}
        scale = one["rate"] * (1.0 if one["ranked"] else one["weight"] / one["n_shards"]) / 4
        for n, priority in tiers:
            price = math.inf if priority is None else priority * scale
            pages += [(price, one["consumer"], 4096 * one["n_shards"])] * n
    return sorted(pages, key=lambda page: -page[0])


def auction(
    pages: Sequence[tuple[float, str, int]], limit: int | None, own: dict[str, int]
) -> tuple[float, float | None]:
    """What is saved, and the lowest page served where one is not. limit: bytes of all, None = none;
    own: of consumers."""
    left, saved, prices, is_short = limit, 0.0, list[float](), False
    for price, consumer, n_bytes in pages:
        if own[consumer] < n_bytes or (left is not None and left < n_bytes):
            is_short = True
            continue
        own = {**own, consumer: own[consumer] - n_bytes}
        left = None if left is None else left - n_bytes
        if not math.isinf(price):
            prices.append(price)
            saved += price * n_bytes / 1024
    return saved, min(prices, default=None) if is_short else None
