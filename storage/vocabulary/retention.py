"""What joins publish that keep less than all: which share, what went, what all results come to."""

from __future__ import annotations

from typing import Final

from storage.vocabulary.properties import Property, Vocabulary

RETENTION: Final = Vocabulary(
    roles=("retained window", "retained join"),
    properties={
        "key_share": Property(
            "prob", ("monitor",), "share of the values of the key whose tuples are kept"
        ),
        "missing_share": Property(
            "prob", ("monitor",), "share of the values whose tuples are not kept"
        ),
        "missed_tuples": Property(
            "tuples", ("monitor",), "tuples that were not kept, or no more, in the batch"
        ),
        "missed_total": Property("tuples", ("monitor",), "the same since the run began"),
        "lost_share": Property(
            "prob",
            ("monitor",),
            "share of its join's results that lack a tuple of this window, whatever the other "
            "windows keep, expected: by groups of values, or of a sample",
        ),
        "sample_share": Property(
            "prob",
            ("monitor",),
            "share of the results that are there, of a sample: with universe of values, the least "
            "that a window with tuples of that time kept; with rand of combinations",
        ),
        "expected_share": Property(
            "prob",
            ("monitor",),
            "share of the answer as it stands that is there, expected: combinations of tuples with "
            "equal keys in the windows over those of whole ones, by groups of values",
        ),
        "result_scale": Property("", ("monitor",), "results there would be for each that is there"),
        "windows_bytes": Property("bytes", ("monitor",), "bytes of the windows that keep less"),
        "sampled_results": Property("tuples", ("monitor",), "results of these values in the batch"),
        "estimated_results": Property(
            "tuples", ("monitor",), "results that the batch would have had, estimated"
        ),
        "estimated_low": Property(
            "tuples", ("monitor",), "lower end of the 95 % interval of that, by groups of values"
        ),
        "estimated_high": Property("tuples", ("monitor",), "upper end of that interval"),
    },
)
