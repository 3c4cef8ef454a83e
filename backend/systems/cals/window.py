"""What is decided on one window that may shed, and what it came to. [AL11]"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from backend.adaptive.core import Evaluations
from backend.adaptive.stats import Mean
from backend.operators.network.sampling.accuracy import sample_curve
from backend.operators.network.shedding.options import ShedAlgorithm, ShedOptions
from backend.operators.network.shedding.temporal import EVERY_LENGTH, ValidCondition
from backend.operators.network.temporal.shed_tuning import ShedProfile, ShedTuning
from backend.systems.cals.floor import AccuracyFloor
from backend.systems.cals.memory import StatePool
from storage.vocabulary.records import Decision

#: Of accuracy, that another algorithm has to bring at least.
LEAST_GAIN: Final = 0.01
#: A window that has become larger or smaller by this share is another.
_OTHER: Final = 0.125


@dataclass
class AdaptedWindow:
    """name: of its operator; lengths: the condition on valid times of its answer. n_shed: tuples
    shed since the run began; n_begun, n_ended: how often shedding has begun, and ended. time_unit:
    of valid times, '' = whole numbers. by_rows: tuples leave by the number of arrivals. turned:
    options by its knobs; pool: what it has of the memory that is shared; floor: the accuracy it is
    to have. is_auto: its algorithm is the one that was chosen by the race. is_sample: it keeps a
    sample, and is aggregated; looked: tuples of its window when its curve was made last."""

    name: str
    time_unit: str = ""
    by_rows: bool = False
    lengths: ValidCondition = EVERY_LENGTH
    turned: ShedOptions = field(default_factory=ShedOptions)
    pool: StatePool = field(default_factory=StatePool)
    floor: AccuracyFloor = field(default_factory=AccuracyFloor)
    is_auto: bool = False
    is_sample: bool = False
    looked: int = 0
    chosen: ShedAlgorithm = "cals"
    n_shed: int = 0
    n_begun: int = 0
    n_ended: int = 0
    profile: ShedProfile = field(default_factory=ShedProfile)

    @property
    def options(self) -> ShedOptions:
        """In force: its limit is the least of those by knobs and pools."""
        limits = self.pool.limited(self.turned.memory_tuples), self._floor_tuples
        limit = min((each for each in limits if each), default=0)
        algorithm = self.chosen if self.is_auto else self.turned.shed_algorithm
        return self.turned._replace(memory_tuples=limit, shed_algorithm=algorithm)

    @property
    def _floor_tuples(self) -> int:
        """Of each shard, by the accuracy it is to have; 0 = all."""
        return math.ceil(self.pool.rows(self.floor.tuples) / self.pool.n_shards)

    @property
    def held_bytes(self) -> int:
        """Of what is in memory, in the form it is kept in."""
        return self.profile.run_bytes if self.options.as_runs else self.profile.tuple_bytes

    @property
    def tuning(self) -> ShedTuning:
        """How it is executed."""
        return ShedTuning(self.options, self.lengths)

    @property
    def is_shedding(self) -> bool:
        """Whether it shed in the last batch, or an answer lacks what was shed."""
        return self.n_begun > self.n_ended

    @property
    def again(self) -> str:
        """From when on its answers are whole, if nothing more is shed; '' where they are."""
        whole = self.profile.whole_from
        if whole is None:
            return ""
        return f"once {whole:,} tuples have come" if self.by_rows else f"from tick {whole:,} on"

    @property
    def inexact(self) -> str:
        """Why its answers are not exact; '' where they are."""
        if not self.is_shedding:
            return ""
        limit = self.options.memory_tuples
        if self.is_sample:
            most = f" of at most {limit} tuples" if limit else ""
            return f"{self.name} keeps a sample{most}, from which values are estimated"
        if not limit:
            words = f"{self.name} lacks tuples that were shed before it had no limit"
            return f"{words}; answers are whole again {self.again}" if self.again else words
        words = f"{self.name} keeps {limit} tuples and sheds the others"
        if self.options.as_runs:
            words = (
                f"{self.name} keeps runs of {limit * self.pool.row_bytes} bytes and sheds the rest"
            )
        if self.pool.n_pages == 0:
            words = f"{self.name} keeps 1 tuple, as it was granted no page of memory"
        elif self.pool.is_full_of_audit:
            words = f"{self.name} keeps 1 tuple, as starts of shed ones take all of its memory"
            words += "; audit = sampled with rho_basis = memory keeps fewer"
        if limit < self._floor_tuples:
            target = self.floor.target
            words += f"; for an accuracy of {target:g} it needed {self._floor_tuples}"
        return words

    def observe(
        self, batch_id: int, profile: ShedProfile, evaluations: Evaluations, version: int
    ) -> list[Decision]:
        """A batch is over. Shedding begins with the first drop, and ends when the window holds all
        that it would without a limit."""
        self.profile = profile = self._curved(profile) if self.is_sample else profile
        self.n_shed += profile.n_dropped
        is_shedding = bool(profile.n_dropped) or not profile.is_whole
        decisions: list[Decision] = []
        if is_shedding != self.is_shedding:
            decisions.append(self._turned(is_shedding, batch_id, evaluations, version))
        decisions += self._choose(batch_id, evaluations, version)
        decisions += self._hold(batch_id, evaluations, version)
        self.pool.observe(
            profile.curve,
            profile.n_arrived,
            self.floor.tuples,
            profile.n_resident,
            profile.audit_bytes,
            profile.run_bytes,
        )
        return decisions

    def _curved(self, profile: ShedProfile) -> ShedProfile:
        """That of a sample with its curve, made anew once the window is of another size."""
        n_window = profile.n_window or 0
        is_new = abs(n_window - self.looked) > _OTHER * self.looked
        self.looked = n_window if is_new else self.looked
        if not self.looked:
            return profile
        curve = sample_curve(self.looked, profile.n_resident)._replace(is_new=is_new)
        return replace(profile, curve=curve)

    def _turned(
        self, is_shedding: bool, batch_id: int, evaluations: Evaluations, version: int
    ) -> Decision:
        """Shedding begins, or ends."""
        profile, algorithm = self.profile, self.options.shed_algorithm
        self.n_begun += is_shedding
        self.n_ended += not is_shedding
        metric, wanted, limit = self._wanted(is_shedding)
        does = "keeps a sample" if self.is_sample else f"sheds {algorithm}"
        unit = "bytes of runs" if self.options.as_runs else "tuples"
        return Decision(
            seq=evaluations.count(),
            batch=batch_id,
            algorithm=algorithm,
            kind="shedding",
            verdict="acted",
            metric=metric,
            lhs=wanted,
            relation=">" if is_shedding else "<=",
            rhs=limit or None,
            n=profile.n_arrived,
            n_sample=profile.n_arrived,
            knob_version=version,
            explanation=f"{does}: {wanted} {unit} wanted"
            if is_shedding
            else "answers are exact again",
            detail={
                "resident_tuples": profile.n_resident,
                "dropped_tuples": profile.n_dropped,
                "memory_tuples": self.options.memory_tuples,
                **({"runs_bytes": wanted, "limit_bytes": limit} if self.options.as_runs else {}),
            },
        )

    def _wanted(self, is_shedding: bool) -> tuple[str, int, int]:
        """What is compared, how much was wanted, and the limit. Where shedding begins at least one
        tuple, or byte, more was wanted than the limit allows, however much has left the window
        since."""
        profile, limit = self.profile, self.options.memory_tuples
        metric, wanted = "resident_tuples", profile.n_resident + profile.n_dropped
        if self.options.as_runs:
            metric, wanted, limit = "runs_bytes", profile.run_bytes, limit * self.pool.row_bytes
        if is_shedding:
            return metric, max(wanted, limit + 1), limit
        return metric, wanted, limit

    def _choose(self, batch_id: int, evaluations: Evaluations, version: int) -> list[Decision]:
        """Another algorithm, if the race is new, it leads, and surely by enough."""
        race, curve, now = self.profile.race, self.profile.curve, self.options.shed_algorithm
        if not (self.is_auto and race and curve is not None and curve.is_new):
            return []
        best = race[0]
        least = best.gain - best.gain_half
        if best.algorithm == now:
            return []
        is_better = least > LEAST_GAIN
        self.chosen = best.algorithm if is_better else self.chosen
        gains = f"{best.gain:.3f} ± {best.gain_half:.3f} of accuracy over {now}"
        return [
            Decision(
                seq=evaluations.count(),
                batch=batch_id,
                algorithm=best.algorithm,
                kind="shed algorithm",
                verdict="acted" if is_better else "kept",
                metric="expected_accuracy",
                lhs=least,
                relation=">" if is_better else "<=",
                rhs=LEAST_GAIN,
                n=best.n,
                n_sample=curve.n_looked,
                knob_version=version,
                explanation=f"{best.algorithm} gains {gains}",
                old=[now],
                new=[best.algorithm],
                detail={"gain": best.gain, "gain_half": best.gain_half, "least_gain": LEAST_GAIN},
            )
        ]

    def _hold(self, batch_id: int, evaluations: Evaluations, version: int) -> list[Decision]:
        """More or less memory for the accuracy that answers are to have."""
        profile, before = self.profile, self.floor.tuples
        now = Mean(profile.expected, profile.expected, profile.expected, profile.n_expected)
        accuracy = now if profile.measured is None else profile.measured.alike
        if not self.floor.observe(profile.curve, accuracy) or profile.curve is None:
            return []
        tuples, target = self.floor.tuples, self.floor.target
        whole = round(profile.curve.n_window)
        return [
            Decision(
                seq=evaluations.count(),
                batch=batch_id,
                algorithm=self.options.shed_algorithm,
                kind="accuracy floor",
                verdict="acted",
                metric="expected_accuracy",
                lhs=profile.curve.between(tuples).accuracy,
                relation=">=",
                rhs=target,
                n=profile.n_arrived,
                n_sample=profile.curve.n_looked,
                knob_version=version,
                explanation=f"keeps {tuples} of {whole} tuples for an accuracy of {target:g}",
                old=[str(before)],
                new=[str(tuples)],
                detail={
                    "points": [[point.tuples, point.accuracy] for point in profile.curve.points],
                    "tuples": tuples,
                    "window_tuples": whole,
                    "target": target,
                },
            )
        ]

    def state(self) -> dict[str, Any]:
        """What a run that is resumed goes on with, besides totals."""
        return {
            "chosen": self.chosen,
            "pool": self.pool.state(),
            "floor": self.floor.tuples,
            "looked": self.looked,
        }

    def restore(self, totals: Mapping[str, float], state: Mapping[str, Any]) -> None:
        """Go on with what was published last, and with that. totals: by property."""
        names = ("shed_total", "sheddings_total", "shed_ends_total")
        self.n_shed, self.n_begun, self.n_ended = (int(totals.get(name, 0)) for name in names)
        if state:
            self.chosen = state["chosen"]
            self.pool.restore(state["pool"])
            self.floor.tuples = state["floor"]
            self.looked = state.get("looked", 0)
