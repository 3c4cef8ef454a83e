"""What eddies publish: states with their index bits, access patterns, routes, regret."""

from __future__ import annotations

from typing import Final

from storage.vocabulary.properties import Property, Vocabulary

#: Columns of the matrix of access patterns. counted, delta: N and δ of the last assessment. Facts
#: of its rows: ``folded into``, a pattern or None; ``asked by``, routes in force that lead there.
#: ``seen``: the state with all it was asked (storage.vocabulary.amri_windows.StateSeen).
PATTERN_COLUMNS: Final = (
    *("requests", "share", "reported", "predicted"),
    *("compared", "matched", "buckets"),
    *("counted", "delta"),
)

AMRI: Final = Vocabulary(
    roles=("stem", "bit index"),
    matrices=("access patterns", "bits by partition", "routes by origin"),
    properties={
        "search_requests": Property(
            "requests", ("operator", "synopsis"), "search requests of the batch"
        ),
        "compared_per_request": Property(
            "tuples", ("operator", "synopsis"), "tuples compared for a search request"
        ),
        "matched_per_request": Property(
            "tuples", ("operator", "synopsis"), "tuples that matched a search request"
        ),
        "wasted_comparisons": Property(
            "tuples", ("synopsis",), "tuples compared in the batch that did not match"
        ),
        "buckets_per_request": Property(
            "buckets", ("synopsis",), "buckets visited for a search request"
        ),
        "state_tuples": Property("tuples", ("synopsis",), "tuples in the window of the state"),
        "index_bytes": Property(
            "bytes", ("index",), "bytes of directories, codes and links of the state"
        ),
        "index_bits": Property("bits", ("index",), "bits of the configuration of new partitions"),
        "hash_indexes_used": Property(
            "indexes", ("index",), "hash indexes of the state", absent_is_zero=True
        ),
        "partitions": Property("partitions", ("index",), "partitions with tuples"),
        "configurations_used": Property(
            "configurations", ("index",), "different configurations among these"
        ),
        "migrated_tuples": Property(
            "tuples", ("index",), "tuples bucketed anew in the batch", absent_is_zero=True
        ),
        "migrating_share": Property(
            "prob", ("index",), "share of the partitions that still are to migrate"
        ),
        "assessed_requests": Property(
            "requests", ("synopsis",), "requests that the assessment under way has counted"
        ),
        "assessment_entries": Property(
            "entries", ("synopsis",), "access patterns in the table of the assessment"
        ),
        "exploration_share": Property(
            "prob", ("operator",), "share of the elements that took another route than the best"
        ),
        "regret_spent": Property(
            "cost",
            ("synopsis",),
            "counted work of searches and migrations until the last assessment",
        ),
        "regret_fixed": Property(
            "cost",
            ("synopsis",),
            "modelled work of these searches with the best single configuration",
        ),
        "regret_sequence": Property(
            "cost", ("synopsis",), "modelled work of these searches with the best sequence of them"
        ),
    },
)
