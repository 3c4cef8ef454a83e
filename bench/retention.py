"""A join short of memory by each rule of what its windows keep, beside the whole one, in one run.

All take the same batches of two streams, whose keys are skewed in the same way, in opposite ways
or not at all, with the same limit in bytes. Each result has to be one of the whole join; told are
those that are there, the memory that was held, and the time for an element.
"""

from __future__ import annotations

import time
from typing import Final, NamedTuple

import numpy as np

from backend.adaptive.core import Evaluations
from backend.cql import parse_query
from backend.model.schema import Schema
from backend.operators.network.core.blocks import Block, Column64, Ints
from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.tuning import as_tuned
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.shards.making import make
from backend.operators.network.stores.retaining import RetainTuning
from backend.operators.network.stores.retaining_window import RetainingWindow
from backend.systems.retention.join import SeenWindow, seen_join
from backend.systems.retention.knobs import OFF, RETENTIONS
from backend.systems.retention.planning import retained_joins, spans
from backend.systems.retention.ranked import adapted_join
from backend.systems.stream.compiling import compile_queries
from bench.cals import tell
from bench.stream_data import DifferentResults

SCHEMAS: Final = {name: Schema.parse("k bigint, n bigint") for name in "AB"}
_TEXT: Final = "Select A.n, B.n From A [Rows {rows}], B [Rows {rows}] Where A.k = B.k"
#: How the keys of the second stream are skewed beside those of the first.
ALIKE, OPPOSITE, EVEN = "alike", "opposite", "even"
#: What is aimed at: results of prob and life over those of rand where keys are skewed alike.
_OVER_RAND: Final = 1.0


class RetentionSizes(NamedTuple):
    """rows: of a window; share: of its bytes, that are there; n_keys: of both streams."""

    rows: int = 2000
    batch: int = 200
    n_batches: int = 60
    n_keys: int = 2000
    share: float = 0.25


FULL: Final = RetentionSizes()
SMALL: Final = RetentionSizes(60, 12, 30, 40)


class Kept(NamedTuple):
    """results: int64[n, 2], each by the numbers of its tuples; held: most bytes at the end of a
    batch, and their mean, of the later half; ns: for an element. standing, expected: results in the
    answer, and the share of all that it is expected to have, means of the later half."""

    results: Ints
    most: int
    mean: float
    ns: float
    standing: float
    expected: float


class RetentionLane:
    """The join by one rule. limit_bytes: of both windows."""

    def __init__(self, sizes: RetentionSizes, rule: str, limit_bytes: int) -> None:
        query = parse_query("q", _TEXT.format(rows=sizes.rows), SCHEMAS)
        self._plan = compile_queries([query], since={"q": 0}, tick_us=1)
        (join,), _ = retained_joins(self._plan, ["q"])
        self._join = adapted_join(join, "universe" if rule == OFF else rule)
        self._join.spans = spans(self._plan, join)
        self._join.turn(1.0, 0 if rule == OFF else limit_bytes)
        self._regions, self._evaluations = MemoryRegions(), Evaluations()
        self._strings = Strings(self._regions.scope("strings"))
        self._results, self._bytes, self._ns = list[Ints](), list[int](), list[float]()
        self._net, self._expected = list[int](), list[float]()

    def step(self, batch: int, keys: Ints) -> None:
        """keys: int64[2, n], of the tuples of both streams; two come at each tick."""
        n, join = keys.shape[1], self._join
        tau = np.arange(batch * n, batch * n + n)
        tunings = {
            own.window: join.tuned(RetainTuning(own.place), own) for own in join.join.windows
        }
        clock = Clock(int(tau[0]), dict.fromkeys("AB", (int(tau[0]), tau)))
        plan = as_tuned(self._plan, tunings)
        around = Surroundings(plan, self._regions, self._strings, clock, tunings=tunings)
        begun = time.thread_time_ns()
        blocks, windows = dict[str, Block](), dict[str, SeenWindow]()
        for each in plan.operators:
            if isinstance(each.work, StreamInput):
                every = (keys["AB".index(each.work.stream)], tau)
                columns = tuple(Column64(every[place]) for place in each.work.columns)
                blocks[each.id] = Block(tau, np.ones(n, np.int8), columns, tau)
                continue
            operator = make(each, around)
            blocks[each.id] = operator.run([blocks[id] for id in each.inputs], int(tau[-1]) + 1)
            if isinstance(operator, RetainingWindow):
                seen = SeenWindow(operator.n_bytes, operator.n_tuples, operator.profile())
                windows[each.id] = seen
        seen_now = seen_join(join.seen, windows, windows, {})
        join.observe(batch, seen_now, self._evaluations, 1)
        self._ns.append((time.thread_time_ns() - begun) / (2 * n))
        self._bytes.append(seen_now.n_bytes)
        answer, share = blocks[plan.answers["q"].operator], join.expected_share
        self._results.append(_came(answer))
        self._net.append(int(answer.sign.sum()))
        self._expected.append(1.0 if share is None else share)

    def kept(self) -> Kept:
        """Of all batches."""
        half = len(self._bytes) // 2
        late = self._bytes[half:]
        return Kept(
            results=np.concatenate(self._results),
            most=max(late),
            mean=float(np.mean(late)),
            ns=float(np.median(self._ns[half:])),
            standing=float(np.cumsum(self._net)[half:].mean()),
            expected=float(np.mean(self._expected[half:])),
        )


def _came(block: Block) -> Ints:
    """int64[n, 2]: results that come; those that go and come again at one tick are none."""
    rows = np.array([block.tau, *(column.values for column in block.columns)]).T
    each, at = np.unique(rows, axis=0, return_inverse=True)
    counts = np.zeros(len(each), np.int64)
    np.add.at(counts, at.ravel(), block.sign)
    return each[counts > 0, 1:]


def keys_of(sizes: RetentionSizes, skew: str, seed: int) -> Ints:
    """int64[2, n]: of all tuples; Zipf's law with exponent 1, ranks drift to other keys."""
    rng, n = np.random.default_rng(seed), sizes.batch * sizes.n_batches
    weights = 1 / np.arange(1, sizes.n_keys + 1)
    drawn = rng.choice(sizes.n_keys, (2, n), p=weights / weights.sum())
    if skew == OPPOSITE:
        drawn[1] = sizes.n_keys - 1 - drawn[1]
    elif skew == EVEN:
        drawn = rng.integers(0, sizes.n_keys, (2, n))
    return (drawn + np.arange(n) // (4 * sizes.rows) * 37) % sizes.n_keys


def measured(sizes: RetentionSizes, skew: str) -> dict[str, Kept]:
    """All rules over the same batches. Raises DifferentResults."""
    keys = keys_of(sizes, skew, 1)
    whole = RetentionLane(sizes, OFF, 0)
    for batch in range(sizes.n_batches):
        whole.step(batch, keys[:, batch * sizes.batch :][:, : sizes.batch])
    every = whole.kept()
    limit, there = round(sizes.share * every.most), set(map(tuple, every.results.tolist()))
    kept = {OFF: every}
    for rule in RETENTIONS[1:]:
        lane = RetentionLane(sizes, rule, limit)
        for batch in range(sizes.n_batches):
            lane.step(batch, keys[:, batch * sizes.batch :][:, : sizes.batch])
        kept[rule] = lane.kept()
        if not there.issuperset(map(tuple, kept[rule].results.tolist())):
            raise DifferentResults(f"{rule} has results that the whole join has not")
    return kept


def main(sizes: RetentionSizes = FULL) -> None:
    """Print all tables."""
    print(
        f"\ntwo windows of {sizes.rows:,} rows, {sizes.batch:,} tuples of each a batch, "
        f"{sizes.n_keys:,} keys, limit {sizes.share:g} of the bytes of whole windows"
    )
    for skew in (ALIKE, OPPOSITE, EVEN):
        kept = measured(sizes, skew)
        whole = kept[OFF]
        print(
            f"keys {skew:12}{'results':>12}{'of all':>9}{'most':>8}{'mean':>8}{'ns':>9}"
            f"{'answer':>9}{'expected':>10}"
        )
        for rule, own in kept.items():
            shares = [len(own.results) / len(whole.results), own.most / whole.most]
            shares.append(own.mean / whole.mean)
            print(
                f"  {rule:15}{len(own.results):12,}{shares[0]:9.3f}{shares[1]:8.3f}"
                f"{shares[2]:8.3f}{own.ns:9,.0f}{own.standing / whole.standing:9.3f}"
                f"{own.expected:10.3f}"
            )
        if skew == ALIKE:
            for rule in ("prob", "life"):
                gain = len(kept[rule].results) / max(1, len(kept["rand"].results))
                tell(f"results of {rule} over rand", gain, _OVER_RAND)


def small() -> None:
    """The same in seconds: results are compared, numbers mean little."""
    main(SMALL)
