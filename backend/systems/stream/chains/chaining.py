"""Whether the chains in force are still those of the stream: pure numbers in, a decision out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, NamedTuple, Self

from backend.adaptive.core import Evaluations
from backend.adaptive.evidence import choices_detail
from backend.adaptive.headroom import recorded, saving, waiting_for
from backend.adaptive.words import arrows, number, numbers, percent, too_thin
from backend.operators.network.core.job import Policy
from backend.systems.joined import numbered
from backend.systems.stream.chains.bursts import waiting
from backend.systems.stream.chains.headroom import chain_headroom
from backend.systems.stream.chains.measured import NetworkProfile
from backend.systems.stream.chains.progress import Paths, Step, progress, slopes_of
from storage.vocabulary.headroom import Headroom
from storage.vocabulary.kinds import Verdict
from storage.vocabulary.records import Decision, DecisionOutcome

#: Other chains must keep less in queues by this share.
MIN_GAIN: Final = 0.05
#: So many batches in a row: what a few operators cost in one may be the machine's doing.
IN_A_ROW: Final = 3
#: Tuples of a batch that a decision takes.
MIN_TUPLES: Final = 100
#: Policies that schedule by chains.
BY_CHAINS: Final = ("greedy", "chain")
#: Policies whose queues are predicted (bursts.waiting).
PREDICTED: Final[tuple[Policy, ...]] = ("fifo", "greedy", "chain")
WAITING: Final = "of a burst wait on average"


@dataclass(frozen=True, slots=True)
class Chaining:
    """The chains in force. slopes: operator -> slope (elements per us) and chain number, as in a
    Schedule; none before the first batch is over."""

    slopes: Mapping[str, tuple[float, int]] = field(default_factory=dict)

    @property
    def chains(self) -> tuple[tuple[str, ...], ...]:
        """The operators of each chain, the steepest chain first; inside one as they stand."""
        ordered = sorted(self.slopes, key=lambda id: self.slopes[id][1])
        return tuple(tuple(own) for _, own in groupby(ordered, lambda id: self.slopes[id][1]))

    def state(self) -> dict[str, Any]:
        """As JSON-typed data."""
        return {id: list(slope) for id, slope in self.slopes.items()}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Self:
        """As ``state`` has it."""
        return cls({id: (slope, chain) for id, (slope, chain) in state.items()})


def chain_statistics(
    steps: Paths, profile: NetworkProfile, names: Mapping[str, str]
) -> dict[str, tuple[float, str]]:
    """What chains are made of: of each operator the elements it hands on for each it takes, and
    what one costs; of each path its share of a burst. names: of operators."""
    of_ids = {step.id: step for path in steps for step in path}
    called = numbered([names.get(id, id) for id in of_ids])
    shares, firsts = _arrivals(steps, profile), {path[0].id for path in steps}
    statistics: dict[str, tuple[float, str]] = {}
    for name, (id, step) in zip(called, of_ids.items(), strict=True):
        statistics |= {f"passed {name}": (step.passed, ""), f"cost {name}": (step.cost, "us")}
        statistics |= {f"share {name}": (shares.get(id, 0.0), "prob")} if id in firsts else {}
    return statistics


class ChainCheck(NamedTuple):
    """What a check came to: the decision (its plan version is for the caller to fill in), and the
    chains to adopt, or None."""

    decision: Decision
    verdict: Verdict
    adopted: Chaining | None


class ChainWatch:
    """Compares the chains in force with those of the profile, batch by batch."""

    def __init__(self, evaluations: Evaluations | None = None) -> None:
        self.evaluations = evaluations or Evaluations()
        self._followed: tuple[int, Chaining, Chaining] | None = None
        self._in_a_row = 0  # batches in which other chains kept less

    def forget(self) -> None:
        """The operators or the policy are others: what became of the last switch cannot be told."""
        self._followed, self._in_a_row = None, 0

    def state(self) -> list[Any]:
        """As JSON-typed data."""
        if self._followed is None:
            return [self._in_a_row, None]
        seq, *chainings = self._followed
        return [self._in_a_row, [seq, *(chaining.state() for chaining in chainings)]]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on where ``state`` was taken."""
        self._in_a_row, followed = state
        if followed is not None:
            seq, old, new = followed
            self._followed = seq, Chaining.restored(old), Chaining.restored(new)

    def check(
        self,
        batch_id: int,
        n_tuples: int,
        steps: Paths,
        profile: NetworkProfile,
        policy: Policy,
        running: Chaining,
        names: Mapping[str, str],
        knob_version: int,
    ) -> ChainCheck:
        """Whether to go over to other chains. n_tuples: that came in; steps: of the plan with the
        profile; names: of operators."""
        seq, first = self.evaluations.count(), not running.slopes
        comparison = _Comparison.of(steps, profile, policy, running)
        verdict = self._lasting(comparison.verdict(policy, n_tuples), running)
        adopted = comparison.fresh if verdict == "switched" else None
        decision = Decision(
            seq=seq,
            batch=batch_id,
            algorithm="greedy" if policy == "greedy" else "chain",
            kind="chains",
            verdict=verdict,
            metric="n_chains" if first else "memory_gain",
            lhs=float(len(comparison.fresh.chains)) if first else comparison.gain,
            relation=">" if first else ">=",
            rhs=0.0 if first else MIN_GAIN,
            n=n_tuples,
            n_sample=round(sum(profile.n_in.values())),
            knob_version=knob_version,
            explanation=comparison.explained(verdict, policy, n_tuples, self._in_a_row),
            old=comparison.listed(running, names),
            new=comparison.listed(comparison.fresh, names),
            predicted_old=comparison.before,
            predicted_new=comparison.after,
            detail=comparison.detail(running, names, policy, self._in_a_row)
            | _other_policies(comparison, policy)
            | recorded(self._headroom(verdict, comparison, policy, n_tuples, names)),
        )
        if adopted is not None:
            self._followed, self._in_a_row = (seq, running, adopted), 0
        return ChainCheck(decision, verdict, adopted)

    def _lasting(self, verdict: Verdict, running: Chaining) -> Verdict:
        """The verdict on a batch, with those before it: a gain has to last."""
        if verdict != "thin":
            self._in_a_row = self._in_a_row + 1 if verdict == "switched" else 0
        if verdict == "switched" and running.slopes and self._in_a_row < IN_A_ROW:
            return "kept"
        return verdict

    def _headroom(
        self,
        verdict: Verdict,
        comparison: _Comparison,
        policy: Policy,
        n_tuples: int,
        names: Mapping[str, str],
    ) -> list[Headroom]:
        """What chains that were kept are waiting for."""
        if verdict == "thin":
            return [waiting_for(n_tuples, MIN_TUPLES, "tuples of a batch")]
        if verdict == "below_threshold":
            return chain_headroom(policy, comparison.steps, names)
        if verdict != "kept":
            return []
        if comparison.gain >= MIN_GAIN:
            n = self._in_a_row
            words = f"that gain has to last for {IN_A_ROW} batches in a row, so far {n}"
            lasting = waiting_for(n, IN_A_ROW, "batches")
            return [lasting._replace(words=words, unit="")]
        gain, least = numbers(100 * comparison.gain, 100 * MIN_GAIN)
        held = numbers(comparison.after, comparison.before)
        less = f"{gain} %" if comparison.gain >= 0.0005 else "no"  # of what 5 % are needed
        words = f"other chains would queue {less} less, at least {least} % is needed"
        cost = saving("", comparison.before, comparison.after, MIN_GAIN, "of a burst")
        return [cost._replace(words=f"{words} ({held[0]} against {held[1]})")]

    def outcomes(
        self,
        batch_id: int,
        n_tuples: int,
        steps: Paths,
        profile: NetworkProfile,
        policy: Policy,
        waited: float,
    ) -> tuple[DecisionOutcome, ...]:
        """What became of the last switch: both chains on what was measured under the new one.
        waited: elements that were in queues, for each that came in."""
        followed, self._followed = self._followed, None
        if followed is None or not n_tuples:
            return ()
        seq, old, new = followed
        by_chains: Policy = policy if policy in BY_CHAINS else "chain"
        arrivals = _arrivals(steps, profile)
        before, after = (
            waiting(by_chains, steps, arrivals, chaining.slopes) for chaining in (old, new)
        )
        n = round(sum(profile.n_in.values()))
        return (DecisionOutcome(seq, batch_id, waited, n_tuples, after, before, n),)


class _Comparison(NamedTuple):
    """arrivals: first operator of a path -> its share of a burst; before, after: elements that wait
    in one (WAITING) under the chains in force and under the fresh ones."""

    steps: Paths
    arrivals: Mapping[str, float]
    running: Chaining
    fresh: Chaining
    before: float
    after: float

    @classmethod
    def of(
        cls, steps: Paths, profile: NetworkProfile, policy: Policy, running: Chaining
    ) -> _Comparison:
        by_chains: Policy = policy if policy in BY_CHAINS else "chain"
        fresh, arrivals = Chaining(slopes_of(by_chains, steps)), _arrivals(steps, profile)
        after = before = waiting(by_chains, steps, arrivals, fresh.slopes)
        if running.chains != fresh.chains:
            before = waiting(by_chains, steps, arrivals, running.slopes)
        return cls(steps, arrivals, running, fresh, before, after)

    @property
    def gain(self) -> float:
        return 1 - self.after / self.before if self.before > 0 else 0.0

    def verdict(self, policy: Policy, n_tuples: int) -> Verdict:
        if policy not in BY_CHAINS:
            return "pinned"
        if n_tuples < MIN_TUPLES:
            return "thin"
        if self.running.chains == self.fresh.chains:
            return "below_threshold"
        if not self.running.slopes:
            return "switched"
        return "switched" if self.gain >= MIN_GAIN else "kept"

    def explained(self, verdict: Verdict, policy: Policy, n_tuples: int, in_a_row: int) -> str:
        n, before, after = len(self.fresh.chains), *numbers(self.before, self.after)
        chains = f"{n} chain{'' if n == 1 else 's'}"
        if verdict == "thin":
            return too_thin(n_tuples, MIN_TUPLES, "tuples of the batch")
        if verdict == "pinned":
            return f"the scheduler is {policy}; by chains {after} of a burst would wait"
        if verdict == "below_threshold":
            return f"the same {chains}: {number(self.after)} of a burst waits on average"
        if not self.running.slopes:
            waits = f"{number(self.after)} of a burst waits on average"
            return f"the operators were measured: {chains}, {waits}"
        change = f"{percent(abs(self.gain))} {'more' if self.gain < 0 else 'less'}"
        words = f"other chains would queue {change} of a burst ({after} against {before})"
        if verdict == "kept" and in_a_row:
            return f"{words}, in {in_a_row} of the {IN_A_ROW} batches in a row it takes"
        return f"{words}; {percent(MIN_GAIN)} less is enough to switch"

    @staticmethod
    def listed(chaining: Chaining, names: Mapping[str, str]) -> list[str]:
        return [arrows([names.get(id, id) for id in own]) for own in chaining.chains]

    def detail(
        self, running: Chaining, names: Mapping[str, str], policy: Policy, in_a_row: int
    ) -> dict[str, Any]:
        return {
            "cost_unit": WAITING,
            "policy": policy,
            "chains": _told(self.fresh, names),
            "chains_before": _told(running, names),
            "charts": [_chart(path, names, self.arrivals) for path in self.steps],
            "gain": self.gain,
            "min_gain": MIN_GAIN,
            "in_a_row": in_a_row,
            "in_a_row_needed": IN_A_ROW,
        }


def _other_policies(comparison: _Comparison, policy: Policy) -> dict[str, Any]:
    """What would wait under each scheduler; nothing where what waits now is not predicted, or where
    elements go on in other paths, which a prediction leaves out."""
    is_whole = not any(step.beside for path in comparison.steps for step in path)
    if policy not in PREDICTED or not comparison.running.slopes or not is_whole:
        return {}
    costs: dict[str, float] = {
        scheduler: waiting(
            scheduler, comparison.steps, comparison.arrivals, _fresh(scheduler, comparison).slopes
        )
        for scheduler in PREDICTED
    }
    now = comparison.before if policy in BY_CHAINS else costs[policy]
    return choices_detail("scheduler", now, costs)


def _fresh(policy: Policy, comparison: _Comparison) -> Chaining:
    return Chaining(slopes_of(policy if policy in BY_CHAINS else "chain", comparison.steps))


def _arrivals(steps: Paths, profile: NetworkProfile) -> dict[str, float]:
    taken = [profile.n_in.get(path[0].id, 0.0) for path in steps]
    n = sum(taken)
    return (
        {path[0].id: n_taken / n for path, n_taken in zip(steps, taken, strict=True)} if n else {}
    )


def _told(chaining: Chaining, names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        {"operators": [names.get(id, id) for id in own], "slope": chaining.slopes[own[0]][0]}
        for own in chaining.chains
    ]


def _chart(
    path: Sequence[Step], names: Mapping[str, str], arrivals: Mapping[str, float]
) -> dict[str, Any]:
    return {
        "operators": [names.get(step.id, step.id) for step in path],
        "points": [[point.time, point.size] for point in progress(path)],
        "steps": [[step.cost, step.passed, step.beside] for step in path],
        "share": arrivals.get(path[0].id, 0.0),
    }
