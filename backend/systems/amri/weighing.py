"""What the plan log has of the looks at an eddy: routes, and access methods of states. [B05] §7

Access methods where no autopilot decides on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from backend.adaptive.planlog.logged import Statistics, Weighed, statistics
from backend.systems.amri.eddy import AdaptedEddy
from backend.systems.amri.following import SearchedStretch
from backend.systems.amri.mixing import AccessMethods
from backend.systems.amri.routing import route_work
from backend.systems.amri.steering import INDEX_OF, PER_REQUEST, method_words
from backend.systems.amri.telling import BITS, MIX, ROUTE
from backend.systems.cores import CoreNews
from storage.vocabulary.records import Decision, DecisionOutcome, Json

#: Subjects end with an origin, or a state.
ROUTE_OF: Final = "route of "
PER_ELEMENT: Final = "work/element"


def news(
    eddy: AdaptedEddy,
    records: Sequence[Decision | DecisionOutcome],
    access: Sequence[AccessMethods],
) -> CoreNews:
    """What a batch led to. access: by state, the methods that it ran with."""
    decisions = [record for record in records if isinstance(record, Decision)]
    weighed = tuple(each for decision in decisions for each in _weighed(eddy, decision))
    searched = {} if eddy.knobs.is_piloted else dict(_searched(eddy, access))
    ran = dict(_routed(eddy)) | searched
    return CoreNews(tuple(records), False, ran, weighed).about(eddy.name)


def _routed(eddy: AdaptedEddy) -> Iterator[tuple[str, tuple[int, float]]]:
    """By origin, the elements that took the route in force, and their work."""
    for name, taken in zip(eddy.view.names, eddy.taken, strict=True):
        n, *work = next(iter(taken.values()), (0,))
        if n:
            yield ROUTE_OF + name, (n, float(route_work(*work)))


def _searched(
    eddy: AdaptedEddy, access: Sequence[AccessMethods]
) -> Iterator[tuple[str, tuple[int, float]]]:
    """By state, the search requests, and their work."""
    for name, methods, state in zip(eddy.view.names, access, eddy.states, strict=True):
        n, work = SearchedStretch.of(methods, state).spent
        if n:
            yield INDEX_OF + name, (n, work)


def _weighed(eddy: AdaptedEddy, decision: Decision) -> Iterator[Weighed]:
    detail = decision.detail
    if decision.kind == ROUTE:
        measured = _of_route(eddy, eddy.view.names.index(detail["origin"]))
        yield Weighed(decision, ROUTE_OF + detail["origin"], PER_ELEMENT, measured)
    elif decision.kind in (BITS, MIX) and decision.predicted_old is not None:
        state = eddy.view.names.index(detail["state"])
        old, new = (_methods(eddy, state, plan) for plan in (decision.old, decision.new))
        spelt, measured = replace(decision, old=old, new=new), _of_index(eddy, state, detail)
        yield Weighed(spelt, INDEX_OF + detail["state"], PER_REQUEST, measured)


def _of_route(eddy: AdaptedEddy, origin: int) -> Statistics:
    """S: of each search request on the way of any order, what comes out of it and what it takes."""
    graph, view = eddy.view.graph, eddy.view
    asked = graph.steps(origin, graph.orders(origin)).asked
    names = [f"{view.names[state]} {view.pattern(state, pattern)}" for state, pattern in asked]
    out, took = ([means.of(*each) for each in asked] for means in (eddy.fan_outs, eddy.searched))
    return statistics(names, out=("", out), took=(PER_REQUEST, took))


def _of_index(eddy: AdaptedEddy, state: int, detail: Json) -> Statistics:
    """S: the share of the requests that ask for each attribute, and the tuples that they find."""
    rows, total = detail["counted"][0]["rows"], max(1, detail["requests"])
    shares = [n / total for *_, n in rows]
    stored = float(eddy.states[state].report.n_searched)
    asked = statistics([row[0] for row in rows], asked=("prob", shares))
    return {**asked, "stored": (stored, "tuples")}


def _methods(eddy: AdaptedEddy, state: int, plan: Json) -> Json:
    """A plan with the bits of each attribute, and hash indexes."""
    words = method_words(eddy.view.attributes[state], plan["bits"], plan.get("modules", ()))
    return {**plan, "order": words}
