"""Decisions on routes, schedules, bits and partitions as records, with both sides."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from backend.adaptive.core import Evaluations
from backend.adaptive.evidence import plan_detail
from backend.adaptive.headroom import recorded, saving
from backend.adaptive.planlog.steered import SteeredLook
from backend.adaptive.words import count, significant
from backend.systems.amri.bit_choices import TOLERANCE, ChosenBits
from backend.systems.amri.division import DividedBits
from backend.systems.amri.entries import AssessmentReport
from backend.systems.amri.knobs import AmriKnobs
from backend.systems.amri.migration import SliceChoice
from backend.systems.amri.mixing import AccessMethods, ChosenMix
from backend.systems.amri.pricing import PatternCosts
from backend.systems.amri.routing import Order, RouteChoice
from backend.systems.amri.schedule import ScheduleEvent
from backend.systems.amri.sides import Sides
from backend.systems.amri.states import StateIndex
from backend.systems.amri.view import EddyView
from storage.vocabulary.amri_costs import Bits
from storage.vocabulary.looks import LookFacts
from storage.vocabulary.records import Decision

#: Kinds of decisions.
ROUTE, SLOT, BITS, SLICES = "route", "schedule slot", "index bits", "migration"
MIX, DIVISION = "access methods", "bit division"
#: What costs and samples of all decisions are, and how what became of them is measured: what
#: changed, on what, and what both costs are of.
_COUNTED: Final = {
    "cost_unit": "work per search request",
    "samples": "search requests",
}
_FOLLOWED: Final = {"on": "search requests", "alike": "same patterns"}
_ROUTES_FOLLOWED: Final = {
    "cost_unit": "work per element",
    "followed": {"what": ROUTE, "on": "elements sent the old way", "alike": "same batches"},
}


@dataclass(frozen=True, slots=True)
class EddyLook:
    """When something is looked at. n: elements of the batch; n_requests: search requests of it;
    eddy: its name; about: what decisions begin with, '' in a unit with one eddy."""

    batch: int
    n: int
    n_requests: int
    knobs: AmriKnobs
    evaluations: Evaluations
    view: EddyView
    eddy: str
    about: str

    def decision(
        self, kind: str, sides: Sides, words: str, detail: Mapping[str, Any], **more: Any
    ) -> Decision:
        """A record."""
        near = recorded(sides.headroom)
        interval = {} if sides.interval is None else {"interval": list(sides.interval)}
        return Decision(
            seq=self.evaluations.count(),
            batch=self.batch,
            algorithm="amri",
            kind=kind,
            verdict=sides.verdict,
            metric=sides.metric,
            lhs=sides.lhs,
            relation=sides.relation,
            rhs=sides.rhs,
            n=self.n,
            n_sample=sides.n or self.n_requests,
            knob_version=self.knobs.version,
            explanation=f"{self.about}{words}",
            detail={
                "eddy": self.eddy, **_COUNTED, "followed": {"what": kind, **_FOLLOWED}, **detail,
                **interval, **near,
            },
            **more,
        )  # fmt: skip


def look_decision(look: EddyLook, steered: SteeredLook) -> Decision:
    """A look of the autopilot at a state."""
    facts = LookFacts("amri", look.evaluations.count(), look.batch, 0, look.knobs.version)
    return steered.decision(facts)


def with_note(decision: Decision, note: str) -> Decision:
    """A record whose sentence goes on with a note; '': as it was."""
    words = f"{decision.explanation}; {note}" if note else decision.explanation
    return replace(decision, explanation=words)


def shortage(state: StateIndex) -> str:
    """A state that has to be scanned for want of memory; '': it has none of that."""
    wished, tuning, sizes = state.wished, state.tuning, state.sizes
    each = [sizes.by_bits] * any(wished.bits) + [sizes.module] * bool(wished.modules)
    if tuning.bits or tuning.modules or not each:
        return ""
    return (
        f"scanned: its smallest index takes {count(math.ceil(min(each)))} bytes, its share of "
        f"the memory is {count(math.floor(state.n_bytes))}"
    )


def bits_text(names: Collection[str], bits: Bits) -> str:
    """``a 4, b 0, c 8``."""
    return ", ".join(f"{name} {n}" for name, n in zip(names, bits, strict=True))


def route_decision(look: EddyLook, port: int, before: Order, choice: RouteChoice) -> Decision:
    """The route of an origin: the price of the order in force and of the cheapest."""
    assert choice.sides is not None
    view, prices = look.view, dict(choice.prices)
    best, low = choice.prices[0]
    origin = view.names[port]
    words = (
        f"elements of {origin} go {view.route(choice.order)} instead of {view.route(before)}"
        if choice.sides.holds
        else f"elements of {origin} still go {view.route(before)}"
    )
    words += f": {significant(prices[before])} against {significant(low)} a tuple"
    if choice.sides.verdict == "pinned":
        words += "; its route is pinned"
    if choice.sides.verdict == "cooldown":
        words += "; another route changed, and indexes follow it first"
    detail = {
        "origin": origin,
        "prices": [[view.route(order), price] for order, price in choice.prices],
        "current": view.route(before),
        "hysteresis": look.knobs.route_hysteresis,
        **_ROUTES_FOLLOWED,
    }
    sides = choice.sides
    if sides.verdict == "below_threshold":
        least = look.knobs.route_hysteresis
        near = saving(view.route((port, *best)), prices[before], low, least, "")
        sides = sides._replace(headroom=(near,))
    return look.decision(
        ROUTE,
        sides,
        words,
        detail,
        old=plan_detail(None, "route", [view.names[k] for k in (port, *before)]),
        new=plan_detail(None, "route", [view.names[k] for k in (port, *best)]),
        predicted_old=prices[before],
        predicted_new=low,
    )


def schedule_decision(look: EddyLook, event: ScheduleEvent) -> Decision:
    """A look for the state whose requests changed most."""
    assert event.sides is not None
    name, (before, now) = look.view.names[event.state], event.requests
    done = {
        "switched": "is assessed",
        "kept": "is under assessment already",
    }.get(event.sides.verdict, "is not assessed out of its turn")
    words = f"{name} {done}: its requests went from {count(before)} to {count(now)} in a window"
    detail = {
        "state": name,
        "slot": event.slot,
        "before": before,
        "now": now,
        "assessed_already": event.sides.verdict == "kept",
    }
    return look.decision(SLOT, _as_acted(event.sides), words, detail)


def _as_acted(sides: Sides) -> Sides:
    """Of what is done without another plan."""
    return sides._replace(verdict="acted") if sides.holds else sides


def selection_decision(look: EddyLook, state: int, chosen: ChosenBits) -> Decision:
    """The bits of a state after an assessment."""
    names = look.view.attributes[state]
    return look.decision(
        BITS,
        chosen.sides,
        _selection_words(look.view.names[state], names, chosen),
        _selection_detail(look, state, chosen),
        old=plan_detail(None, "bits", list(names), bits=list(chosen.old)),
        new=plan_detail(None, "bits", list(names), bits=list(chosen.new)),
        predicted_old=chosen.costs[0],
        predicted_new=chosen.costs[1],
    )


def _selection_words(name: str, names: Sequence[str], chosen: ChosenBits) -> str:
    old, new = bits_text(names, chosen.old), bits_text(names, chosen.new)
    words = {
        "switched": f"{name} takes the bits {new} instead of {old}",
        "pinned": f"{name} keeps its pinned bits {old}",
        "kept": f"{name} keeps the bits {old}, the cheapest",
        "thin": f"{name} keeps the bits {old}: {new} look cheaper, too few requests say so",
    }.get(chosen.sides.verdict, f"{name} keeps the bits {old}: {new} save too little yet")
    if chosen.rolled_back:
        words = f"{name} goes back to the bits {new}: a request costs more under {old}"
    return f"{words}; {count(chosen.report.total)} requests were assessed"


def _selection_detail(look: EddyLook, state: int, chosen: ChosenBits) -> dict[str, Any]:
    view, selection, report = look.view, chosen.selection, chosen.report
    return {
        "state": view.names[state],
        "attributes": list(view.attributes[state]),
        "counted": _counted(look, state, chosen.by_pattern, chosen.old, chosen.new),
        "requests": report.total,
        "frequencies": {
            view.pattern(state, pattern): share for pattern, share in report.frequencies.items()
        },
        "cheapest_of_window": list(selection.bits),
        "candidates": selection.n_candidates,
        "terms": selection.n_terms,
        "greedy": selection.is_greedy,
        "search_bound": selection.search_bound,
        "min_gain": look.knobs.min_gain,
        "tolerance": TOLERANCE,
        "basis": dict(chosen.basis),
        "dropped": report.dropped,
        "folded": report.moved,
    }


def _counted(
    look: EddyLook, state: int, by_pattern: Sequence[PatternCosts], old: Bits, new: Bits
) -> list[Mapping[str, Any]]:
    """What bits followed from, as tables: by attribute who asks for it, by pattern what a request
    takes, at which weight it counts in the costs of the decision."""
    view, names = look.view, look.view.attributes[state]
    total = sum(of.requests for of in by_pattern)
    asking = [
        sum(of.requests for of in by_pattern if (of.pattern or 0) >> (len(names) - 1 - k) & 1)
        for k in range(len(names))
    ]
    attributes = zip(names, old, new, asking, strict=True)
    patterns = [
        [
            "no requests" if of.pattern is None else view.pattern(state, of.pattern),
            of.requests,
            of.compared / of.requests if of.requests else None,
            of.share,
            of.old,
            of.new,
        ]
        for of in by_pattern
    ]
    return [
        {
            "about": f"Attributes, of {count(total)} requests",
            "columns": ["Attribute", "Bits before", "Bits after", "Requests with it"],
            "rows": [list(row) for row in attributes],
        },
        {
            "about": "Requests by access pattern",
            "columns": ["Pattern", "Requests", "Compared", "Weight", "Cost before", "Cost after"],
            "rows": patterns,
        },
    ]


def mix_decision(look: EddyLook, state: int, chosen: ChosenMix) -> Decision:
    """The bits and hash indexes of a state after an assessment."""
    view, old, new = look.view, chosen.old, chosen.new
    names = view.attributes[state]
    outcome = {
        "switched": f"takes {_mix_text(look, state, new)} instead of {_mix_text(look, state, old)}",
        "kept": f"keeps {_mix_text(look, state, old)}, the cheapest mix",
    }.get(
        chosen.sides.verdict,
        f"keeps {_mix_text(look, state, old)}: {_mix_text(look, state, new)} would save too little",
    )
    report = chosen.report
    detail = {
        "state": view.names[state],
        "attributes": list(names),
        "counted": _counted(look, state, chosen.by_pattern, old.bits, new.bits),
        "requests": report.total,
        "min_gain": look.knobs.min_gain,
        "basis": dict(chosen.basis),
        "greedy": chosen.is_greedy,
        "serves": [[p, m] for p, m in new.serves.items()],
    }
    return look.decision(
        MIX,
        chosen.sides,
        f"{view.names[state]} {outcome}; {count(report.total)} requests were assessed",
        detail,
        old=plan_detail(None, "bits", list(names), bits=list(old.bits), modules=list(old.modules)),
        new=plan_detail(None, "bits", list(names), bits=list(new.bits), modules=list(new.modules)),
        predicted_old=chosen.costs[0],
        predicted_new=chosen.costs[1],
    )


def _mix_text(look: EddyLook, state: int, access: AccessMethods) -> str:
    """``the bits a 4, b 8 with hash indexes on <a,*>``."""
    modules = ", ".join(look.view.pattern(state, module) for module in access.modules)
    parts = [f"the bits {bits_text(look.view.attributes[state], access.bits)}"] * any(access.bits)
    parts += [f"hash indexes on {modules}"] * bool(modules)
    return " with ".join(parts) or "no index"


def thin_decision(
    look: EddyLook, state: int, report: AssessmentReport, access: AccessMethods
) -> Decision:
    """An assessment in which no pattern was frequent enough: all stays as it is."""
    view, knobs = look.view, look.knobs
    names, total = view.attributes[state], report.total
    shares = [(entry.n + entry.delta) / total for p, entry in report.entries.items() if p]
    least = knobs.theta - knobs.epsilon * (knobs.assessment == "csria")
    most = max(shares, default=0.0)
    sides = Sides(
        "share of the most frequent pattern, least share", most, ">=", least, "thin", n=total
    )
    plan = plan_detail(
        None, "bits", list(names), bits=list(access.bits), modules=list(access.modules)
    )
    words = (
        f"{view.names[state]} keeps {_mix_text(look, state, access)}: no access pattern reached "
        f"{100 * least:g} % of the requests; {count(total)} requests were assessed"
    )
    detail = {"state": view.names[state], "attributes": list(names), "requests": total}
    kind = BITS if knobs.access == "bitmap" else MIX
    return look.decision(kind, sides, words, detail, old=plan, new=plan)


def division_decision(look: EddyLook, states: Sequence[str], divided: DividedBits) -> Decision:
    """The bits of all states together."""
    gains, losses = divided.gains, divided.losses
    here = max(range(len(states)), key=lambda s: gains[s])
    there = min(range(len(states)), key=lambda s: losses[s])
    words = {
        "switched": f"the states share their bits as {bits_text(states, divided.new)}",
        "kept": f"the states keep their bits {bits_text(states, divided.old)}, the best division",
    }.get(divided.sides.verdict, f"the states keep their bits {bits_text(states, divided.old)}")
    words += (
        f": the next bit of {states[here]} saves {significant(gains[here])}, the last one of "
        f"{states[there]} {significant(losses[there])}"
    )
    detail = {
        "states": list(states),
        "gains": list(gains),
        "losses": list(losses),
        "curves": [list(curve) for curve in divided.curves],
        "min_gain": look.knobs.min_gain,
    }
    return look.decision(
        DIVISION,
        _as_acted(divided.sides),
        words,
        detail,
        old=plan_detail(None, "bits", list(states), bits=list(divided.old)),
        new=plan_detail(None, "bits", list(states), bits=list(divided.new)),
    )


def slices_decision(
    look: EddyLook, state: int, moved: Sequence[SliceChoice], migrating: Collection[int]
) -> Decision:
    """Which partitions take on the bits in force: search saved in their life against the cost."""
    name, n = look.view.names[state], len(moved)
    worth = max(moved, key=lambda choice: choice.sides.lhs - choice.sides.rhs)
    words = f"{count(len(migrating))} of {count(n)} partitions of {name} take on the bits in force"
    slices = [
        {
            "partition": choice.partition.number,
            "tuples": choice.partition.n_tuples,
            "bits": list(choice.partition.bits),
            "saved": choice.sides.lhs,
            "cost": choice.sides.rhs,
            "requests": choice.requests,
            "break_even": choice.break_even,
            "migrates": choice.partition.number in migrating,
        }
        for choice in moved
    ]
    sides = worth.sides._replace(verdict="acted" if migrating else "below_threshold")
    return look.decision(SLICES, sides, words, {"state": name, "slices": slices})
