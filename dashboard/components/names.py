"""What people call properties, knobs and systems: words in place of the names of the record.

The name of the record stays at hand: on hover and on keyboard focus (modules/terms.js). A name
nobody listed is its own words, without the unit that its value shows anyway.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.face import told
from dashboard.components.attributes import attrs

NAMES: Final[Mapping[str, str]] = {
    "tuples_per_s": "Throughput",
    "visits_per_tuple": "Visits per tuple",
    "dropping_ratio": "Dropping ratio d",
    "batch_ms": "Batch time",
    "backlog_tuples": "Backlog",
    "n_tuples": "Tuples in the batch",
    "n_matched": "Matched in the batch",
    "n_answered": "Results in the batch",
    "answered_total": "Results so far",
    "profile_share": "Profiled",
    "misfits_total": "Misfits so far",
    "tuples_total": "Tuples so far",
    "matched_total": "Matched so far",
    "decisions_total": "Evaluations so far",
    "commit_ms": "Recording",
    "reached_tuples": "Reached by",
    "survival_prob": "Alive after it",
    "files_read": "Files begun",
    "files_waiting": "Files waiting",
    "files_refused": "Files refused",
    "refuted_groups": "Refuted row groups",
    "row_groups": "Row groups",
    "drop_prob": "Drop probability",
    "size_tuples": "Waiting",
    "flow_tuples": "Handed over",
    "matched_tuples": "Matched",
    "n_sampled": "Profiled tuples",
    "sample_us_per_tuple": "Cost of profiling",
    "run_pool_bytes": "Pool of the run",
    "profile_prob": "Profile probability p",
    "min_samples": "Least samples",
    "cooldown_tuples": "Cool-down",
    "policy": "Who decides",
    "caution": "Caution of the autopilot",
    "rate": "Input rate",
    "at_end": "At the end of the input",
    "reject_sample_every": "Evaluations stored, every",
    "max_batch_tuples": "Largest batch",
    "intake": "Intake",
    "speed": "Speed of replay",
}
_UNITS: Final = re.compile(r"_(tuples|us|ms|s|bytes|prob|total)$")

#: A name of the record that is given a value in a sentence.
_VALUED: Final = re.compile(r"\b[a-z][a-z0-9_]*(?= = )")


def _listed(name: str) -> str:
    """The words listed for a name by the engine or by a system, ''."""
    return NAMES.get(name) or told("words").get(name, "")


def is_listed(name: str) -> bool:
    """Whether somebody lists words for a name."""
    return bool(_listed(name))


def words_of(name: str) -> str:
    """What people call a property, a knob, a system, or a part of one, 'asc.macro_sequence'."""
    words = _listed(name)
    if words:
        return words
    system, _, part = name.partition(".")
    if part and (whose := _listed(system)):
        return f"{whose}, {words_of(part).lower()}"
    plain = _UNITS.sub("", name).removeprefix("n_").replace("_", " ").strip() or name
    return plain[0].upper() + plain[1:]


def named(sentence: str) -> str:
    """A sentence of the record; what has a value in it, 'mu = 0.1', is called as people do."""
    return _VALUED.sub(lambda match: _listed(match[0]) or match[0], sentence)


def term(name: str, meaning: str = "") -> Component:
    """Those words, with the name of the record and its meaning on hover and focus."""
    data = attrs(data_raw=name, data_meaning=meaning)
    return html.Span(words_of(name), className="pw-term", tabIndex=0, **data)
