"""Expected losses: the identity of B3, sums that add up, and what leaves the window with them."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.shedding.accuracy import AccuracyMetric, accuracy_parts
from backend.operators.network.shedding.audits import estimated, measured
from backend.operators.network.shedding.options import (
    Audit,
    RhoBasis,
    ShedAlgorithm,
    ShedOptions,
)
from backend.operators.network.shedding.receipts import ChargeKey, ChargeSums, LossLedger
from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.slides import WindowExtent
from backend.operators.network.shedding.temporal import (
    AnswerShape,
    TemporalTuple,
    ValidCondition,
    coalesced,
)
from tests.unit.cals.cases import ALGORITHMS, ALL, B4, contiguous, streams

LIMITS = st.integers(1, 9)


def filled(options: ShedOptions, stream: list[TemporalTuple], least: int = 0) -> SheddingWindow:
    """Without a limit until now."""
    answer = AnswerShape(lengths=ValidCondition(least))
    window = SheddingWindow(options._replace(memory_tuples=0), ALL, answer)
    for new in stream:
        assert window.arrive(new) == []
    return window


@given(st.sampled_from(ALGORITHMS), streams(), LIMITS, st.sampled_from([0, 4]))
def test_what_drops_are_expected_to_cost_is_what_they_cost(
    algorithm: ShedAlgorithm, stream: list[TemporalTuple], limit: int, least: int
) -> None:
    """As long as the window stands: sums, and drop by drop."""
    options = ShedOptions(algorithm, limit, audit="exact")
    window = filled(options, stream, least)
    receipts = window.turn(options)
    truth = measured(window)
    assert truth is not None
    assert window.expected_accuracy == pytest.approx(truth.accuracy.value)
    assert truth.alike == truth.accuracy
    losses = sum(receipt.predicted_loss for receipt in receipts)
    assert 1 - losses == pytest.approx(truth.accuracy.value)
    shares = window.ledger.shares(window.n_exact)
    assert sum(share for _, share in shares.values()) == pytest.approx(losses)
    assert sum(sums.n for sums, _ in shares.values()) == len(receipts)
    assert {key.reason for key in shares} <= {"turned"}


@given(streams(), LIMITS)
def test_the_first_drop_from_an_intact_window_is_predicted_by_the_identity(
    stream: list[TemporalTuple], limit: int
) -> None:
    options = ShedOptions("cals-i", max(1, len(stream) - 1), audit="exact")
    window = filled(options, stream)
    n = window.n_exact
    for receipt in window.turn(options):
        wanted = 1 - (n - receipt.rho) / (n + receipt.delta)
        assert receipt.predicted_loss == pytest.approx(wanted)


@given(st.sampled_from(["cals", "oldest"]), contiguous(), LIMITS)
def test_without_the_exact_runs_what_went_from_a_run_is_remembered(
    algorithm: ShedAlgorithm, stream: list[TemporalTuple], limit: int
) -> None:
    options = ShedOptions(
        algorithm,
        limit,
        rho_basis="memory",
        audit="off",
    )
    window = filled(options, stream)
    assert not options.needs_exact
    window.turn(options)
    truth = accuracy_parts(coalesced(stream), coalesced(window.memory)).accuracy()
    assert window.expected_accuracy == pytest.approx(truth)
    assert len(window.beside) == 0
    assert measured(window) is None


def test_a_receipt_tells_the_run_before_and_after() -> None:
    window = SheddingWindow(ShedOptions("cals", 4), ALL)
    receipts = [receipt for new in B4 for receipt in window.arrive(new)]
    (receipt,) = receipts
    assert receipt.dropped == B4[2]
    assert receipt.before == ((80,), 0, 6)
    assert receipt.after == (((80,), 0, 5),)
    assert (receipt.delta, receipt.rho, receipt.reason) == (0, 1 / 6, "limit")
    assert receipt.predicted_loss == pytest.approx(1 / 18)
    shares = window.ledger.shares(window.n_exact)
    assert list(shares) == [ChargeKey((80,), "limit")]
    sums, share = shares[ChargeKey((80,), "limit")]
    assert sums == ChargeSums(1, 1 / 6)
    assert share == pytest.approx(1 / 18)


def test_the_memory_basis_is_a_share_of_the_run_in_memory() -> None:
    stream = [TemporalTuple(k, (1,), k, k + 1) for k in range(1, 5)]
    cases: dict[RhoBasis, list[float]] = {"exact": [1 / 3, 1 / 4], "memory": [1 / 3, 1 / 3]}
    for basis, wanted in cases.items():
        options = ShedOptions("cals", 2, basis)
        window = SheddingWindow(options, ALL)
        receipts = [receipt for new in stream for receipt in window.arrive(new)]
        assert [receipt.rho for receipt in receipts] == wanted


def test_charges_leave_with_their_tuples() -> None:
    ledger = LossLedger(WindowExtent("rows", 1000))
    ledger.book(5, ChargeKey((1,), "limit"), ChargeSums(1, 0.5, 1, 0))
    ledger.book(900, ChargeKey((1,), "limit"), ChargeSums(1, 1.0, 0, 1))
    assert ledger.loss(9) == pytest.approx(2.5 / 10)
    ledger.release(5)
    assert ledger.sums.n == 2
    ledger.release(6)
    assert ledger.loss(9) == pytest.approx(1 / 9)
    ledger.release(903)
    assert (ledger.sums, ledger.loss(9)) == (ChargeSums(), 0)


def test_values_and_lengths_that_are_not_in_the_answer_cost_nothing() -> None:
    answer = AnswerShape(lambda values: values[0] != 2, ValidCondition(3))
    stream = [
        TemporalTuple(1, (2,), 0, 5),
        TemporalTuple(2, (1,), 5, 7),
        TemporalTuple(3, (3,), 7, 11),
        TemporalTuple(4, (4,), 11, 15),
    ]
    window = SheddingWindow(ShedOptions("oldest", 1, audit="exact"), ALL, answer)
    receipts = [receipt for new in stream for receipt in window.arrive(new)]
    assert [receipt.charge.lost for receipt in receipts] == [0, 0, 1]
    assert window.n_exact == 2
    assert window.expected_accuracy == pytest.approx(1 / 2)


def test_a_run_that_grows_into_the_answer_is_charged_what_went_before() -> None:
    """And credited once what is left of it is in the answer, too."""
    answer = AnswerShape(lengths=ValidCondition(3))
    window = SheddingWindow(ShedOptions("oldest", 1, audit="exact"), ALL, answer)
    costs = []
    for number, (start, end) in enumerate(((0, 1), (1, 2), (2, 3), (3, 6)), 1):
        receipts = window.arrive(TemporalTuple(number, (1,), start, end))
        costs += [receipt.predicted_loss for receipt in receipts]
        truth = measured(window)
        assert truth is not None
        if window.n_exact:
            assert window.expected_accuracy == pytest.approx(truth.accuracy.value)
    assert window.expected_accuracy == pytest.approx(3 / 6)
    assert costs == pytest.approx([0, 0, 1 / 6])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("least", [6, 20, 40])
def test_thresholds_on_lengths_are_expected_to_cost_what_they_cost(
    algorithm: ShedAlgorithm, least: int
) -> None:
    """While the window moves: on average, and never far from it for long."""
    rng, start, value = random.Random(least), 0, 0
    answer = AnswerShape(lengths=ValidCondition(least))
    options = ShedOptions(algorithm, 75, audit="exact")
    window = SheddingWindow(options, WindowExtent("rows", 150), answer)
    errors = []
    for number in range(1, 700):
        value = rng.randrange(12) if rng.random() > 0.8 else value
        end = start + rng.randint(1, 6)
        window.arrive(TemporalTuple(number, (value,), start, end))
        start = end
        if number > 200 and number % 10 == 0 and (truth := measured(window)) is not None:
            errors.append(abs(truth.accuracy.value - window.expected_accuracy))
    assert sum(errors) / len(errors) < 0.04


def test_a_sample_of_value_groups_estimates_the_accuracy() -> None:
    """The interval covers what all groups say, nearly always."""
    covered = 0
    for seed in range(60):
        stream = [
            TemporalTuple(k, ((k * k * 7 + seed * k + k // 3) % 89,), 2 * k, 2 * k + 1 + k % 2)
            for k in range(1, 401)
        ]
        window = filled(ShedOptions("rand", 200, audit="sampled", audit_groups=3), stream)
        window.turn(window.options._replace(memory_tuples=200, seed=seed))
        sample = measured(window)
        assert sample is not None
        assert {one.values for one in window.beside} == {
            one.values for one in stream if window.is_audited(one.values)
        }
        assert 10 < sample.n_groups < 50
        truth = accuracy_parts(coalesced(stream), coalesced(window.memory)).accuracy()
        covered += sample.accuracy.low <= truth <= sample.accuracy.high
    assert covered >= 52


@pytest.mark.parametrize("metric", ["R1", "R2", "R3"])
def test_all_groups_together_leave_nothing_to_estimate(metric: AccuracyMetric) -> None:
    groups = [accuracy_parts(coalesced(B4), coalesced(B4[:k])) for k in (2, 3)]
    whole = estimated(groups, metric, 1.0)
    assert whole.low == whole.value == whole.high
    some = estimated(groups, metric, 0.5)
    assert some.low < some.value < some.high
    assert estimated(groups[:1], metric, 0.5).low == 0


def test_nothing_is_measured_on_what_was_not_kept_beside() -> None:
    """Without an audit what was dropped is nowhere: what is left is not all there was."""
    window = SheddingWindow(ShedOptions("oldest", 3, audit="off"), WindowExtent("rows", 10))
    stream = [TemporalTuple(k, (k % 3,), k, k + 1) for k in range(1, 31)]
    for new in stream[:10]:
        window.arrive(new)
    for audit in ("exact", "sampled"):
        window.turn(window.options._replace(audit=audit, audit_groups=2))
        assert measured(window) is None
    window.turn(window.options._replace(audit="exact"))
    for new in stream[10:16]:
        window.arrive(new)
        assert measured(window) is None
    for new in stream[16:]:
        window.arrive(new)
    truth = measured(window)
    assert truth is not None
    assert truth.accuracy.value == pytest.approx(0.3)


def test_expected_and_measured_are_compared_under_one_metric() -> None:
    options = ShedOptions("oldest", 2, audit="exact", accuracy_metric="R2")
    window = SheddingWindow(options, ALL)
    for new in B4:
        window.arrive(new)
    truth = measured(window)
    assert truth is not None
    assert truth.accuracy.value == pytest.approx(truth.parts.accuracy("R2"))
    assert truth.accuracy.value < window.expected_accuracy - 0.05
    assert truth.alike.value == pytest.approx(window.expected_accuracy)


@pytest.mark.parametrize("audit", ["exact", "sampled", "off"])
def test_what_is_kept_beside_is_all_that_was_dropped_and_is_audited(audit: Audit) -> None:
    """16 of 48 values are audited, more or less; 40 of the tuples stay in memory."""
    options = ShedOptions("oldest", 40, audit=audit, audit_groups=3)
    window = SheddingWindow(options, ALL)
    dropped = []
    for number in range(1, 97):
        receipts = window.arrive(TemporalTuple(number, (number % 48,), number, number + 1))
        dropped += [receipt.dropped for receipt in receipts]
    assert len(dropped) == 56
    assert window.n_beside == sum(window.is_audited(one.values) for one in dropped)
    assert (window.n_beside > 0) == (audit != "off")
    assert audit != "sampled" or len(window.beside) < len(window.memory)
