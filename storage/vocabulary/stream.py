"""What STREAM's operator network publishes: operators, queues, synopses, stores, time, chains."""

from __future__ import annotations

from typing import Final

from storage.vocabulary.properties import Property, Vocabulary

STREAM: Final = Vocabulary(
    roles=("input", "select", "antijoin", "readings", "coalesce", "stub"),
    matrices=("queue curve", "progress chart"),
    properties={
        "emitted_tuples": Property(
            "tuples", ("operator",), "elements it handed on in the batch, counted once"
        ),
        "element_selectivity": Property(
            "", ("operator",), "elements out for each taken in, in the batch; more than 1 for joins"
        ),
        "in_per_s": Property("tuples/s", ("operator", "queue"), "elements it took per second"),
        "out_per_s": Property("tuples/s", ("operator",), "elements it handed on per second"),
        "processing_us": Property(
            "us/tuple", ("operator",), "processing time for each element it took in the batch"
        ),
        "time_share": Property(
            "prob", ("operator",), "share of the processing time of all operators of the unit"
        ),
        "scheduled_runs": Property(
            "runs", ("operator",), "how often the scheduler ran it in the batch"
        ),
        "chain_number": Property(
            "", ("operator",), "number of its chain in force, 0 runs first; none before a chain is"
        ),
        "chain_slope": Property(
            "tuples/us",
            ("operator",),
            "slope of its chain in force: elements it releases per microsecond of work",
        ),
        "probes": Property("probes", ("operator",), "look-ups in synopses in the batch"),
        "join_selectivity": Property(
            "", ("operator",), "share of the pairs of tuples of the batch that match"
        ),
        "coalesced_tuples": Property(
            "tuples",
            ("operator",),
            "maximal intervals of equal values there are, before conditions on valid times",
        ),
        "coalesced_share": Property(
            "prob",
            ("operator",),
            "maximal intervals for each different tuple they are made of; 1: nothing is coalesced",
        ),
        "late_tuples": Property(
            "tuples",
            ("operator",),
            "tuples of the batch that came too late for its windows; kept aside unless another "
            "query took them",
        ),
        "pending_tuples": Property(
            "tuples",
            ("operator", "system"),
            "tuples that wait in the input manager for time to go on",
        ),
        "queue_peak_tuples": Property(
            "tuples", ("queue",), "most elements that waited in it at once in the batch"
        ),
        "queue_mean_tuples": Property(
            "tuples", ("queue",), "elements that waited in it, on average over the batch's instants"
        ),
        "queue_bytes": Property("bytes", ("queue",), "bytes of the most that waited in it"),
        "state_bytes": Property(
            "bytes", ("synopsis", "store", "system"), "bytes in use; of the unit all its arrays"
        ),
        "saved_bytes": Property(
            "bytes", ("store", "system"), "bytes that would be kept once more without sharing"
        ),
        "view_offset_tuples": Property(
            "tuples", ("synopsis",), "how far the stub's view is behind its store"
        ),
        "heartbeat": Property(
            "ticks", ("system",), "the first tick that is not over for all queries"
        ),
        "heartbeat_lag": Property(
            "ticks",
            ("system", "query"),
            "from the first tick that is not over for a query to the newest timestamp of the "
            "streams it reads; of the unit the most of any query",
        ),
        "waits_s": Property(
            "s",
            ("query",),
            "how long the oldest tuple has waited for another stream that the query reads",
        ),
        "log_bytes": Property("bytes", ("system",), "bytes of the batch's log of tuples"),
        "shards": Property("shards", ("system",), "parts the network runs in"),
        "shard_skew": Property(
            "", ("system",), "processing time of the busiest shard over the mean; 1 = all alike"
        ),
        "network_us": Property(
            "us/tuple", ("system",), "processing time of all operators for each tuple that came in"
        ),
        "answer_tuples": Property(
            "tuples", ("query",), "elements of the query's answer in the batch, both signs"
        ),
        "net_tuples": Property(
            "tuples",
            ("query",),
            "elements with sign + less those with sign - in the batch: how its answer grew",
        ),
        "relation_tuples": Property(
            "tuples",
            ("query",),
            "tuples in the relation it answers; not known of a query that an earlier run began",
        ),
        "answer_value": Property(
            "number",
            ("query",),
            "last numeric column of the newest element with sign + of the batch",
        ),
    },
)
