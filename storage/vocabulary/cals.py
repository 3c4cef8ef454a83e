"""What windows that shed publish: what is kept, what was dropped, how accurate answers are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from storage.vocabulary.properties import Property, Vocabulary
from storage.vocabulary.records import Json

#: Columns of the receipts of a batch: the tuple's valid time, its run before and what is left of it
#: in so many pieces, δ⁺, ρ⁻, and the accuracy it is predicted to cost.
RECEIPT_COLUMNS: Final = (
    *("start", "end", "run_start", "run_end", "left", "pieces"),
    *("delta", "rho", "predicted_loss"),
)

#: Of accuracy over memory: tuples of the window that are kept, that is so many in a shard, in so
#: many bytes; the accuracy of answers once the window holds no others, and at once.
CURVE_COLUMNS: Final = ("tuples", "limit", "bytes", "accuracy", "at_once")
#: Of the race: accuracy of what an algorithm would have left, what it gains over the one in force,
#: and half of their 95 % intervals.
RACE_COLUMNS: Final = ("accuracy", "half", "gain", "gain_half")

#: What the paper's windows do, by knob.
AS_IN_THE_PAPER: Final[Mapping[str, Json]] = {
    "shed_algorithm": "cals",
    "state_form": "tuples",
    "low_water": 1.0,
    "delta_weight": 1.0,
    "accuracy_metric": "R1",
}

CALS: Final = Vocabulary(
    roles=("shed",),
    matrices=(
        *("shed receipts", "shed groups", "shed runs", "accuracy by memory"),
        "race of the algorithms",
    ),
    properties={
        "resident_tuples": Property("tuples", ("operator",), "tuples of the window in memory"),
        "limited_tuples": Property(
            "tuples",
            ("operator",),
            "tuples, each a row, that take as much as what is kept: what its limit is of",
        ),
        "limit_tuples": Property(
            "tuples",
            ("operator",),
            "tuples it may keep in a shard, or, as runs, whose bytes it may, by knobs and pools; "
            "0 = all",
        ),
        "shed_tuples": Property("tuples", ("operator",), "tuples shed in the batch"),
        "shed_total": Property("tuples", ("operator",), "tuples shed since the run began"),
        "sheddings_total": Property(
            "number", ("operator",), "how often shedding has begun since the run began"
        ),
        "shed_ends_total": Property(
            "number", ("operator",), "how often answers were whole again since"
        ),
        "memory_ratio": Property(
            "prob",
            ("operator",),
            "share of the window's tuples that is in memory; none where it is not known",
        ),
        "shed_share": Property(
            "prob", ("operator",), "share of the window's tuples that was shed; none likewise"
        ),
        "kept_runs": Property(
            "tuples", ("operator",), "coalesced tuples of what is in memory, before conditions"
        ),
        "tuples_bytes": Property(
            "bytes", ("operator",), "bytes of what is in memory, kept tuple by tuple"
        ),
        "runs_bytes": Property(
            "bytes",
            ("operator",),
            "bytes of the same as runs: values once, starts and ends as differences; in form runs "
            "those it holds",
        ),
        "audit_bytes": Property(
            "bytes", ("operator",), "bytes of what is kept beside to measure accuracy"
        ),
        "inclusion_prob": Property(
            "prob",
            ("operator",),
            "probability with which a window that is aggregated keeps the next tuple, the least of "
            "its shards",
        ),
        "expected_accuracy": Property(
            "prob",
            ("operator",),
            "accuracy that drops were expected to leave, R1; of a sample 1 less half of the 95 % "
            "interval of its count, as a share",
        ),
        "whole_from_tick": Property(
            "ticks",
            ("operator",),
            "from which tick on answers are whole again if nothing more is shed; none while they "
            "are, and of windows of rows",
        ),
        "whole_from_tuples": Property(
            "tuples",
            ("operator",),
            "of windows of rows, with which tuple of the stream; none likewise",
        ),
        "measured_accuracy": Property(
            "prob", ("operator",), "accuracy of the groups that are audited; none without any"
        ),
        "accuracy_low": Property(
            "prob", ("operator",), "lower end of the 95 % interval of the measured accuracy"
        ),
        "accuracy_high": Property(
            "prob", ("operator",), "upper end of the 95 % interval of the measured accuracy"
        ),
        "value_similarity": Property(
            "prob", ("operator",), "share of coalesced tuples that both answers have, eq. 2"
        ),
        "interval_similarity": Property(
            "prob", ("operator",), "share of the length of exact coalesced tuples that is kept"
        ),
        "audited_groups": Property(
            "number", ("operator",), "value groups that accuracy was measured on"
        ),
        "unchanged_coalesced": Property(
            "tuples", ("operator",), "exact coalesced tuples that the answer has whole, audited"
        ),
        "lost_coalesced": Property(
            "tuples", ("operator",), "exact coalesced tuples of which nothing is left, audited"
        ),
        "shortened_coalesced": Property(
            "tuples", ("operator",), "exact coalesced tuples that are shorter, audited"
        ),
        "split_coalesced": Property(
            "tuples", ("operator",), "exact coalesced tuples that are in pieces, audited"
        ),
        "stray_coalesced": Property(
            "tuples", ("operator",), "pieces in the answer whose exact tuple is not, audited"
        ),
        "extraneous_coalesced": Property(
            "tuples", ("operator",), "pieces in the answer beside the first of each, audited"
        ),
        "accuracy_remainder": Property(
            "prob",
            ("operator",),
            "expected less measured accuracy, both R1: what no drop is charged for",
        ),
        "remainder_low": Property(
            "prob", ("operator",), "lower end of the 95 % interval of that remainder"
        ),
        "remainder_high": Property(
            "prob", ("operator",), "upper end of the 95 % interval of that remainder"
        ),
    },
)
