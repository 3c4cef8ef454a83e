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
        "wanted_bytes": Property(
            "bytes",
            ("cache",),
            "bytes of all the entries that it is expected to have, in all shards",
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
        "plain_cost": Property(
            "cost/tuple", ("pool",), "what the join would take for each element without caches"
        ),
        "cached_cost": Property(
            "cost/tuple", ("pool",), "what it takes for each element with the caches in use"
        ),
        "element_share": Property(
            "prob", ("pool",), "elements of the join for each element of all joins, lately"
        ),
        "caching_elements_total": Property(
            "tuples", ("pool",), "elements of the join since the run began"
        ),
        "caching_spent_total": Property(
            "cost", ("pool",), "what they cost with the caches in force at the time"
        ),
        "caching_plain_total": Property(
            "cost",
            ("pool",),
            "what they would have cost without caches; less the spent it is the saving",
        ),
        "caching_best_total": Property(
            "cost",
            ("pool",),
            "what they would have cost with the best caches in hindsight, for each stretch between "
            "changes of the candidates; the spent less it is the regret. Looked for at decisions, "
            "in between those that were found last are priced",
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
