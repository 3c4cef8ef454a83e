"""What adaptive joins publish: pipelines, caches and their bids, the pool they share."""

from __future__ import annotations

from typing import Final

from storage.vocabulary.properties import Property, Vocabulary

#: What a candidate is, in the numbers of ``cache_state``: not used while its statistics are taken;
#: used; not worth its upkeep, or forbidden.
CACHE_STATES: Final = ("profiled", "used", "unused")

JOINS: Final = Vocabulary(
    roles=("pipeline",),
    matrices=("join view", "cache bids"),
    properties={
        "cache_state": Property("", ("cache",), "0 profiled, 1 used, 2 unused"),
        "hit_prob": Property(
            "prob", ("cache",), "share of the look-ups of the batch that found their key"
        ),
        "miss_prob": Property(
            "prob",
            ("cache",),
            "a look-up does not find its key: as seen in use, else as look-ups in the shadow say",
        ),
        "cache_probes": Property("probes", ("cache",), "look-ups of the batch, in all pipelines"),
        "cache_entries": Property("entries", ("cache",), "keys it has an entry for"),
        "cache_evictions": Property(
            "entries", ("cache",), "entries of the batch that gave way to another key"
        ),
        "used_bytes": Property("bytes", ("cache", "pool"), "bytes in use"),
        "granted_bytes": Property(
            "bytes", ("cache", "pool"), "bytes of the pool it has; of the pool all it gave"
        ),
        "wanted_bytes": Property(
            "bytes", ("cache",), "bytes of all the entries that it is expected to have"
        ),
        "pool_bytes": Property(
            "bytes", ("pool",), "bytes caches of the join may take together in each shard"
        ),
        "cache_benefit": Property(
            "cost/tuple",
            ("cache",),
            "what its hits save for each element of the join, look-ups paid",
        ),
        "cache_upkeep": Property(
            "cost/tuple", ("cache",), "what its upkeep takes for each element of the join"
        ),
        "cache_bid": Property(
            "cost/tuple/KB",
            ("cache",),
            "benefit less upkeep for each KB that it is expected to take",
        ),
        "pool_price": Property(
            "cost/tuple/KB", ("pool",), "the lowest bid that is served; none while memory is left"
        ),
        "plain_cost": Property(
            "cost/tuple", ("pool",), "what the join would take for each element without caches"
        ),
        "cached_cost": Property(
            "cost/tuple", ("pool",), "what it takes for each element with the caches in use"
        ),
        "arrival_share": Property(
            "prob", ("operator",), "share of the elements of the join that come in by the pipeline"
        ),
        "profiled_tuples": Property(
            "tuples", ("operator",), "elements of the batch that went through it to be profiled"
        ),
        "pipeline_cost": Property(
            "cost/tuple", ("operator",), "what an element that comes in by it takes, without caches"
        ),
    },
)
