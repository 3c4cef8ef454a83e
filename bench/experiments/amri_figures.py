"""Fig. 8 to 10 of [W13] as relations of results at the end of equal work. Card A12"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from bench.experiments.amri_designs import (
    MOST_INDEXES,
    AmriSettings,
    drift,
    routed,
    sensed,
)
from bench.experiments.amri_ratios import RatioClaim, RatioFigure, Relation
from bench.experiments.amri_running import EddyDesign

#: "Within noise", and "about".
_NOISE, _ABOUT = 0.98, 0.9
HIGHEST, RANDOM = "CDIA-highest", "CDIA-random"
_STATIC: Final = (1, 3, 5, 7)


def assessors(settings: AmriSettings) -> list[EddyDesign]:
    """Of Fig. 8(a)."""
    return [
        settings.but(HIGHEST, assessment="cdia", combine="highest"),
        settings.but(RANDOM, assessment="cdia", combine="random"),
        settings.but("SRIA", assessment="exact"),
        settings.but("DIA", assessment="dia"),
        settings.but("CSRIA", assessment="csria"),
    ]


def schedules(settings: AmriSettings) -> list[EddyDesign]:
    """Of Fig. 8(b)."""
    names = ("hybrid", "periodic", "triggered", "continuous")
    return [settings.but(name, tuning_schedule=name) for name in names]


def migrations(settings: AmriSettings) -> list[EddyDesign]:
    """Of Fig. 8(c)."""
    return [settings.but(name, migration=name) for name in ("nothing", "all", "partial")]


def static_hashes(settings: AmriSettings) -> list[EddyDesign]:
    """Beside adaptive ones."""
    sets = [(k, settles) for k in _STATIC for settles in (False, True)]
    return [settings.hashed(k, settles) for k, settles in sets]


def peers(settings: AmriSettings) -> list[EddyDesign]:
    """Of Fig. 9(b); an even split, which is ours, and beside our settings the portfolio."""
    own = [settings.base, settings.static_bitmap, settings.hashed(MOST_INDEXES)]
    return [*own, settings.even_split, *[settings.portfolio] * settings.is_ours]


def all_peers(settings: AmriSettings) -> list[EddyDesign]:
    """With hash indexes of every number."""
    return [settings.base, settings.static_bitmap, *settings.adaptive_hash]


def hashes(settings: AmriSettings) -> list[EddyDesign]:
    """AMRI and hash indexes of every number."""
    return [settings.base, *settings.adaptive_hash]


def constant(settings: AmriSettings) -> list[EddyDesign]:
    """Of Fig. 10(a)."""
    return [settings.base, *(settings.hashed(k, True) for k in (1, 3, 5))]


def best_hash(factor: float) -> tuple[Relation, ...]:
    """So many times as much as each number of hash indexes."""
    return tuple(("AMRI", factor, f"{k} hash") for k in range(1, MOST_INDEXES + 1))


def both_ways(name: str, others: Sequence[str], least: float) -> tuple[Relation, ...]:
    """Neither is less than so much of the other."""
    return tuple(of for b in others for of in ((name, least, b), (b, least, name)))


def _gain(key: str, figure: str, n_routes: tuple[int, ...], factor: float) -> RatioFigure:
    text = f"R(AMRI) is at least {factor:g} times that of every number of adaptive hash indexes"
    claims = (RatioClaim(text, best_hash(factor)),)
    case = partial(routed, n_routes=n_routes)
    return RatioFigure(key, f"{key}: {figure}", claims, case, hashes, 0.1, 0.15)


_A2: Final = (
    RatioClaim(
        "R(CDIA-random) is above that of SRIA, DIA and CSRIA",
        tuple((RANDOM, 1.0 + 1e-9, name) for name in ("SRIA", "DIA", "CSRIA")),
    ),
    RatioClaim("R(CDIA-highest) is at least R(CDIA-random)", ((HIGHEST, 1.0, RANDOM),)),
)
RATIOS: Final = (
    RatioFigure(
        "a1", "a1: Fig. 8(a), assessment",
        (
            RatioClaim(
                "R(CDIA-highest) is at least 1.19 R(SRIA), 1.19 R(DIA), 1.30 R(CSRIA)",
                ((HIGHEST, 1.19, "SRIA"), (HIGHEST, 1.19, "DIA"), (HIGHEST, 1.3, "CSRIA")),
            ),
        ),
        drift, assessors,
    ),
    RatioFigure("a2", "a2: Fig. 8(a), CDIA-random", _A2, drift, assessors),
    RatioFigure(
        "a3", "a3: Fig. 8(a), SRIA and DIA",
        (RatioClaim("R(SRIA) = R(DIA) within noise, 2 %", both_ways("SRIA", ["DIA"], _NOISE)),),
        drift, assessors,
    ),
    RatioFigure(
        "a4", "a4: Fig. 8(b), schedules",
        (
            RatioClaim(
                "R(hybrid) is at least 1.65 R(periodic), 1.29 R(triggered), 1.18 R(continuous)",
                (
                    ("hybrid", 1.65, "periodic"),
                    ("hybrid", 1.29, "triggered"),
                    ("hybrid", 1.18, "continuous"),
                ),
            ),
        ),
        drift, schedules,
    ),
    RatioFigure(
        "a6", "a6: Fig. 8(c), migration",
        (
            RatioClaim(
                "R(nothing) is at least 1.19 R(all), 1.19 R(partial)",
                (("nothing", 1.19, "all"), ("nothing", 1.19, "partial")),
            ),
        ),
        drift, migrations,
    ),
    RatioFigure(
        "b2", "b2: Fig. 9(a), seven hash indexes",
        (
            RatioClaim(
                "R(7) is the largest of 1 to 7 adaptive hash indexes",
                tuple(("7 hash", 1.0, f"{k} hash") for k in range(1, MOST_INDEXES)),
            ),
        ),
        drift, hashes,
    ),
    RatioFigure(
        "b3", "b3: §9.3, static hash indexes",
        (
            RatioClaim(
                "Static hash indexes are worse than adaptive ones",
                tuple((f"{k} hash", 1.0 + 1e-9, f"{k} static hash") for k in _STATIC),
            ),
        ),
        drift, static_hashes,
    ),
    RatioFigure(
        "b4", "b4: Fig. 9(b), AMRI and its peers",
        (
            RatioClaim(
                "R(AMRI) is at least 1.75 R(static bitmap), 1.93 R(7 hash)",
                (("AMRI", 1.75, "static bitmap"), ("AMRI", 1.93, "7 hash")),
            ),
            RatioClaim(
                "Ours: R(AMRI) is at least that of an even split",
                (("AMRI", 1.0, "even split"),),
            ),
            RatioClaim(
                "Ours: R(portfolio) is at least 0.95 that of every other design",
                tuple(
                    ("portfolio", 0.95, name)
                    for name in ("AMRI", "static bitmap", "7 hash", "even split")
                ),
            ),
        ),
        drift, peers,
    ),
    RatioFigure(
        "b6", "b6: Fig. 9(c), readings of sensors (a surrogate)",
        (
            RatioClaim(
                "R(AMRI) is at least 1.68 times that of every number of hash indexes, 1.15 "
                "R(static bitmap)",
                (*best_hash(1.68), ("AMRI", 1.15, "static bitmap")),
            ),
        ),
        sensed, all_peers, 0.1, 0.15,
    ),
    RatioFigure(
        "c1", "c1: Fig. 10(a), constant routes",
        (
            RatioClaim("R(3 static hash) is above R(AMRI)", (("3 static hash", 1.0, "AMRI"),)),
            RatioClaim(
                "R(AMRI) is about, within 10 %, R(1 static hash), R(5 static hash)",
                both_ways("AMRI", ["1 static hash", "5 static hash"], _ABOUT),
            ),
        ),
        partial(routed, n_routes=(1, 1, 1, 1)), constant, 0.1, 0.15,
    ),
    RatioFigure(
        "c2", "c2: Fig. 10(b), one route that changes",
        (
            RatioClaim(
                "R(AMRI) is at least 1.35 times that of every number of adaptive hash indexes",
                best_hash(1.35),
            ),
        ),
        drift, hashes, 0.1, 0.15,
    ),
    _gain("c3", "Fig. 10(e), few routes: 2, 2, 2, 6", (2, 2, 2, 6), 1.24),
    _gain("c4", "Fig. 10(d), an average number: 2, 2, 6, 6", (2, 2, 6, 6), 1.43),
    _gain("c5", "Fig. 10(c), many: 2, 6, 6, 6", (2, 6, 6, 6), 1.73),
)  # fmt: skip
