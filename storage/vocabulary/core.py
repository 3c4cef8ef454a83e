"""What the engine and every system publish."""

from __future__ import annotations

from typing import Final

from storage.vocabulary.files import FILES
from storage.vocabulary.kinds import EventKind, words_of
from storage.vocabulary.load import LOAD
from storage.vocabulary.market import BIDS
from storage.vocabulary.planlog import RECORD, SAMPLING
from storage.vocabulary.properties import Property, Vocabulary
from storage.vocabulary.relations import RELATION

CORE: Final = Vocabulary(
    roles=(
        "source",
        "output",
        "project",
        "window",
        "join",
        "aggregate",
        "distinct",
        "set operation",
        "relation to stream",
        "queue",
        "synopsis",
        "store",
        "cache",
        "index",
        "pool",
        "run pool",
        "profile",
        "query",
        "system",
    ),
    matrices=(LOAD, BIDS, FILES, RELATION, SAMPLING),
    long_parts=frozenset({"choices"}),
    staying_parts=frozenset({RECORD}),
    events=words_of(EventKind),
    properties={
        "used_bytes": Property("bytes", ("cache", "pool"), "bytes in use, in all shards"),
        "granted_bytes": Property(
            "bytes",
            ("cache", "pool"),
            "bytes of the pool it has, in all shards; of the pool all it gave",
        ),
        "pool_bytes": Property(
            "bytes",
            ("pool",),
            "bytes caches of the join may take together, in all shards; of the run's pool those of "
            "all units, none where they have no common limit",
        ),
        "pool_price": Property(
            "cost/tuple/KB",
            ("pool",),
            "the lowest bid that is served, in the run's pool for each element of all joins and in "
            "the unit of its bids; none while memory is left",
        ),
        "tuples_per_s": Property(
            "tuples/s",
            ("system",),
            "tuples filtered per second since the batch before ended, waiting for input included",
        ),
        "batch_ms": Property("ms", ("system",), "duration of the batch, source to recorded"),
        "n_tuples": Property("tuples", ("system",), "tuples in the batch"),
        "n_matched": Property(
            "tuples",
            ("system",),
            "tuples of the batch satisfying >= 1 query; none where only networks answer",
        ),
        "n_answered": Property(
            "tuples",
            ("system",),
            "tuples of the batch that satisfy a query of a unit, and elements of the answers of "
            "networks",
        ),
        "dropping_ratio": Property(
            "prob",
            ("system",),
            "d: share of the tuples of the batch (of the unit) that satisfy no query; none where "
            "only networks answer",
        ),
        "visits_per_tuple": Property("visits/tuple", ("system",), "operators visited per tuple"),
        "inexact": Property(
            "",
            ("query",),
            "1 where answers of the query may differ from those of its text; the event of kind "
            "'exactness' before of its unit says why",
            absent_is_zero=True,
        ),
        "profile_share": Property("prob", ("system",), "share of the batch's tuples profiled"),
        "kept_bytes": Property(
            "bytes",
            ("system",),
            "bytes of what the unit had learnt between plans when the batch before was recorded",
        ),
        "misfits_total": Property("tuples", ("system",), "tuples kept aside since the run began"),
        "tuples_total": Property(
            "tuples", ("system",), "tuples filtered (by the unit) since the run began"
        ),
        "matched_total": Property(
            "tuples",
            ("system", "query"),
            "tuples satisfying the query (any query) since the run began",
        ),
        "answered_total": Property("tuples", ("system",), "n_answered since the run began"),
        "backlog_tuples": Property(
            "tuples", ("system",), "tuples that arrived and wait for a batch"
        ),
        "commit_ms": Property(
            "ms", ("system",), "time the store took for the previous batch's record"
        ),
        "store_bytes": Property(
            "bytes", ("system",), "size of the introspection store of all runs before the batch"
        ),
        "decisions_total": Property(
            "decisions", ("system",), "trigger evaluations since the run began, stored or not"
        ),
        "partition_skew": Property(
            "", ("system",), "tuples of the largest task of the batch over the mean; 1 = all alike"
        ),
        "reached_tuples": Property("tuples", ("operator",), "tuples of the batch that visited it"),
        "refuted_groups": Property(
            "row groups",
            ("operator",),
            "row groups of the files of the source that were not read, as their statistics refute "
            "every query",
        ),
        "row_groups": Property(
            "row groups", ("operator",), "row groups that the source came to since it was opened"
        ),
        "files_read": Property(
            "files", ("operator",), "files of the source that were begun since it was opened"
        ),
        "files_waiting": Property(
            "files", ("operator",), "files of the source that are listed and were not begun"
        ),
        "files_refused": Property(
            "files", ("operator",), "files of the source that cannot be read, or not to their end"
        ),
        "survival_prob": Property(
            "prob",
            ("operator",),
            "share of the batch's tuples alive after it, in the running order",
        ),
        "drop_prob": Property(
            "prob", ("operator",), "P(dropped given reached); selectivity is 1 - it"
        ),
        "size_tuples": Property(
            "tuples", ("queue", "synopsis", "store", "cache"), "tuples waiting in it, or kept in it"
        ),
        "flow_tuples": Property("tuples", ("queue",), "tuples handed over by it in the batch"),
        "matched_tuples": Property(
            "tuples",
            ("query",),
            "tuples of the batch that satisfy the query; of more than 500 queries those that match "
            "most, the others in turn",
            absent_is_zero=True,
        ),
        "n_sampled": Property("tuples", ("monitor",), "tuples profiled in the batch"),
        "window_tuples": Property("tuples", ("monitor",), "tuples in the profile window"),
        "sample_us_per_tuple": Property("us/tuple", ("monitor",), "cost of profiling one tuple"),
    },
)
