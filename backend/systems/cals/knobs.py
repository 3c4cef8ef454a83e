"""The knobs of windows that shed: what people may turn, with unit, range and help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast, get_args

from backend.model.knobs import Knobs, knob
from backend.operators.network.shedding.accuracy import AccuracyMetric
from backend.operators.network.shedding.options import (
    Audit,
    RhoBasis,
    ShedAlgorithm,
    ShedOptions,
    StateForm,
)

ALGORITHMS: Final = get_args(ShedAlgorithm)
#: The best on evidence.
AUTO: Final = "auto"
AUDITS: Final = get_args(Audit)
#: By which windows bid: the sum of accuracies, or the lowest one.
SUM, WORST = OBJECTIVES = "sum", "worst first"


@dataclass(frozen=True, slots=True)
class CalsKnobs(Knobs):
    """The knobs of the windows of a unit and their values in force."""

    shed_algorithm: str = knob(
        "cals",
        choices=(*ALGORITHMS, AUTO),
        help="Which tuple goes when a window is over its limit: cals, the one whose loss splits no "
        "run and takes least of one; cals-v and cals-i look at one of the two; cals-m, after which "
        "the accuracy of all coalesced tuples is highest, whatever their lengths: as cals it does "
        "not look at the condition on valid time; reach does; rand, drawn by a hash of arrival "
        "numbers: evenly until tuples leave the window, then the newest are likelier to be kept, "
        "as what was shed does not come back; oldest. auto: the one "
        "that is most accurate in the race, where audit is not off.",
    )
    memory_tuples: int = knob(
        0,
        low=0,
        high=1_000_000_000,
        unit="tuples",
        scale="log",
        help="Tuples that a window may keep in a shard, M; more are shed. 0: as many as there are, "
        "so that answers are exact. What was shed never comes back.",
    )
    state_form: str = knob(
        "runs",
        choices=get_args(StateForm),
        help="How a window with a limit keeps its tuples. runs: values once, starts and ends as "
        "differences, and M stands for the bytes that M tuples take as such: all are kept, "
        "exactly, until their runs take more. tuples: M tuples, as in the paper, and always of "
        "windows of readings (valid_key).",
    )
    state_pool_bytes: int = knob(
        0,
        low=0,
        high=1 << 40,
        unit="bytes",
        scale="log",
        help="Bytes that the tuples of a window may take in memory, over all its shards, with the "
        "starts that are kept of shed ones; 0 = no limit of its own. As the pool of the run, it is "
        "obeyed within a batch: what does not fit is shed.",
    )
    shed_weight: float = knob(
        1.0,
        low=0,
        high=1000,
        scale="log",
        weighs=True,
        help="What the accuracy of these answers is worth against that of others: the bids of "
        "their windows for memory count so many times. 0: they give way to all others, of which "
        "one has to count.",
    )
    shed_objective: str = knob(
        "sum",
        choices=OBJECTIVES,
        help="What memory that is short is divided for: sum, a page goes where it adds most "
        "accuracy, by weight and by tuples; worst first, to the window whose answers lack most "
        "accuracy, by weight.",
    )
    accuracy_price: float = knob(
        1_000_000.0,
        low=0,
        high=1_000_000,
        unit="us/tuple",
        scale="log",
        help="Microseconds a tuple that one per cent of accuracy is worth, by which windows bid "
        "against caches. The largest value: accuracy first, windows are served before caches.",
    )
    accuracy_floor: float = knob(
        0.0,
        low=0,
        high=1,
        unit="prob",
        help="Accuracy of answers (R1) to be held with the least memory: a window keeps as many "
        "tuples as its accuracy over memory asks for, and fewer only while the interval of what is "
        "measured lies above. memory_tuples and pools of memory hold beside it. 0: off.",
    )
    low_water: float = knob(
        1.0,
        low=0.1,
        high=1,
        unit="prob",
        help="Share of the limit down to which tuples are shed once it is exceeded; 1: one at a "
        "time.",
    )
    rho_basis: str = knob(
        "exact",
        choices=get_args(RhoBasis),
        help="What a loss is a share of: exact, the coalesced tuple had nothing been "
        "shed, for which starts of shed tuples are kept; memory, what is left of it.",
    )
    delta_weight: float = knob(
        1.0,
        low=0,
        high=100,
        scale="log",
        help="Weight of a coalesced tuple that a loss makes, against one that it takes.",
    )
    accuracy_metric: str = knob(
        "R1",
        choices=get_args(AccuracyMetric),
        help="How the accuracy of answers is measured: R1, kept lengths over pieces; R2, likeness "
        "of values times that of intervals; R3, kept lengths divided by pieces.",
    )
    audit: str = knob(
        "sampled",
        choices=AUDITS,
        help="What accuracy is measured on: exact, all tuples that were shed are kept beside, by "
        "their starts; sampled, some value groups are kept whole beside; off, it is only expected.",
    )
    audit_groups: int = knob(
        64,
        low=2,
        high=1_000_000,
        unit="groups",
        scale="log",
        help="With audit = sampled one of so many value groups is kept whole beside.",
    )

    sample_prob: float = knob(
        0.0,
        low=0,
        high=1,
        unit="prob",
        help="Probability with which a tuple of a window that is aggregated is kept, at the most; "
        "where memory_tuples or a pool of memory ask for less, it is less. Values are then "
        "estimated, each with its 95 % interval. 0: with the largest that memory allows.",
    )

    @property
    def sampling(self) -> ShedOptions:
        """As windows take them that are aggregated: by chance, and not audited."""
        return ShedOptions(
            "rand",
            self.memory_tuples,
            low_water=self.low_water,
            audit="off",
            sample_prob=self.sample_prob,
        )

    @property
    def options(self) -> ShedOptions:
        """As windows take them; cals where the algorithm is to be chosen."""
        algorithm = "cals" if self.shed_algorithm == AUTO else self.shed_algorithm
        return ShedOptions(
            shed_algorithm=cast(ShedAlgorithm, algorithm),
            memory_tuples=self.memory_tuples,
            rho_basis=cast(RhoBasis, self.rho_basis),
            delta_weight=self.delta_weight,
            low_water=self.low_water,
            accuracy_metric=cast(AccuracyMetric, self.accuracy_metric),
            audit=cast(Audit, self.audit),
            audit_groups=self.audit_groups,
            state_form=cast(StateForm, self.state_form),
        )
