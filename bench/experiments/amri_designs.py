"""The designs that experiments on AMRI compare, with the paper's settings and ours. [W13] §9"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import Final, NamedTuple

import numpy as np

from bench.experiments.amri_data import DealtPhase, EddyCase, dealt, drifting
from bench.experiments.amri_running import EddyDesign
from storage.vocabulary.amri import AS_IN_THE_PAPER

#: Tuples of a window, of a phase in a stream; phases; requests of windows of assessment.
WINDOW, PHASE, N_PHASES = 10_000, 5_000, 40
PERIOD, TRIGGER = 60_000, 100_000
#: Of hash indexes, those of a state that is asked by every pattern.
MOST_INDEXES: Final = 7


class AmriSizes(NamedTuple):
    """How much is run. scale: share of the paper's windows, phases and periods; repeats: seeds from
    ``seed`` on."""

    scale: float = 1.0
    seed: int = 1
    repeats: int = 3

    def tuples(self, full: float) -> int:
        """So many of the paper are so many here."""
        return max(1, round(self.scale * full))

    @property
    def window(self) -> int:
        """Tuples of a window, a few at least."""
        return max(40, self.tuples(WINDOW))

    @property
    def rng(self) -> np.random.Generator:
        """Draws phases."""
        return np.random.default_rng(self.seed)

    @property
    def seeds(self) -> range:
        """Of the tuples."""
        return range(self.seed, self.seed + self.repeats)

    def setup(self, *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        """Conditions all figures have."""
        phase = max(1, self.window // 2)
        return (
            ("windows", f"{self.window:,} tuples of each of four streams; partitions of a quarter"),
            ("phases", f"{N_PHASES} of {phase:,} tuples a stream, behind two windows of training"),
            ("seeds", f"{self.repeats} from {self.seed} on; numbers are means"),
            *more,
        )


class AmriSettings(NamedTuple):
    """name: of a way to set AMRI; base: a design with it, tuned all along."""

    name: str
    base: EddyDesign
    is_ours: bool = False

    def but(self, name: str, **knobs: object) -> EddyDesign:
        """The same with other knobs."""
        return self.base.with_knobs(**knobs)._replace(name=name)

    def assessed(self, error: float, theta: float) -> AmriSettings:
        """As Fig. 9(c) and 10 have it: another error, and windows two thirds as long."""
        known = dict(self.base.knobs)
        own = {"epsilon": error, "theta": theta} if known["assessment"] == "cdia" else {}
        for name, share in (("period_requests", 2 / 3), ("trigger_requests", 4 / 5)):
            requests = known[name]
            assert isinstance(requests, int)
            own[name] = max(100, round(requests * share))
        return self._replace(base=self.base.with_knobs(**own))

    @property
    def static_bitmap(self) -> EddyDesign:
        """The best bits of training."""
        return self.but("static bitmap")._replace(settles=True)

    def hashed(self, k: int, settles: bool = False) -> EddyDesign:
        """The k patterns that are asked most, followed or those of training."""
        words = "static hash" if settles else "hash"
        return self.but(f"{k} {words}", access="hash", hash_indexes=k)._replace(settles=settles)

    @property
    def even_split(self) -> EddyDesign:
        """As many bits for each attribute, never changed."""
        return self.but("even split")._replace(settles=True, trains=False)

    @property
    def portfolio(self) -> EddyDesign:
        """Bits and hash indexes together."""
        return self.but("portfolio", access="portfolio")

    @property
    def adaptive_hash(self) -> list[EddyDesign]:
        """With 1 to 7 indexes."""
        return [self.hashed(k) for k in range(1, MOST_INDEXES + 1)]


def near_bits(window: int) -> int:
    """B near log2 W."""
    return math.ceil(math.log2(window))


def common(window: int, scale: float) -> dict[str, object]:
    """What both settings have."""
    return {
        "router": "greedy",
        "period_requests": max(100, round(scale * PERIOD)),
        "trigger_requests": max(100, round(scale * TRIGGER)),
    }


def published(window: int, scale: float, bits: int = 64) -> AmriSettings:
    """The paper's. bits: B."""
    name = f"the paper's settings, B = {bits}"
    knobs = {**AS_IN_THE_PAPER, **common(window, scale), "index_bits": bits}
    return AmriSettings(name, EddyDesign("AMRI", tuple(knobs.items())))


def ours(window: int, scale: float, bits: int | None = None) -> AmriSettings:
    """Ours. bits: B, None: near log2 W."""
    knobs = {**common(window, scale), "index_bits": bits or near_bits(window)}
    knobs["assessment"] = "exact"
    return AmriSettings("our settings", EddyDesign("AMRI", tuple(knobs.items())), True)


def settings_of(sizes: AmriSizes) -> tuple[AmriSettings, ...]:
    """The paper's, the paper's with as many bits as a window can use, and ours."""
    of = partial(published, sizes.window, sizes.scale)
    return of(), of(near_bits(sizes.window)), ours(sizes.window, sizes.scale)


# ------------------------------------------------------------------ cases


def drift_of(window: int, phase: int, n_phases: int, seed: int) -> EddyCase:
    """Data drawn anew every so many tuples of a stream; routes as the router chooses."""
    n_drawn = n_phases + 2 * window // phase
    phases = drifting(n_drawn, np.random.default_rng(seed))
    return EddyCase(f"drift of {phase}", window, phase, n_phases, 2 * window, phases)


def _case(sizes: AmriSizes, name: str, phases: tuple[DealtPhase, ...]) -> EddyCase:
    window = sizes.window
    return EddyCase(name, window, max(1, window // 2), N_PHASES, 2 * window, phases)


@cache
def drift(sizes: AmriSizes) -> EddyCase:
    """The paper's: phases of half a window."""
    return drift_of(sizes.window, max(1, sizes.window // 2), N_PHASES, sizes.seed)


@cache
def routed(sizes: AmriSizes, n_routes: tuple[int, ...]) -> EddyCase:
    """The streams use so many routes, phase by phase."""
    return _case(sizes, f"routes {n_routes}", dealt(n_routes, sizes.rng))


@cache
def sensed(sizes: AmriSizes) -> EddyCase:
    """Readings of sensors."""
    return _case(sizes, "sensors", ())
