"""The knobs of a run: of each unit, of each replayed input, and of the engine itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from backend.cql.errors import did_you_mean, listed
from backend.engine.job import RunJob
from backend.engine.knobs import ENGINE_KNOBS, INPUT_KNOBS, RATE
from backend.model.ids import source_id
from backend.model.knobs import KnobRefused, KnobSettings, KnobSpec, KnobValue
from backend.systems.contract import Refused
from storage.reading.resume import LastState
from storage.vocabulary.records import Knob

#: The scope of the engine's own knobs.
ENGINE = ""
_ONE_COUNTS = "0 while that of another unit is more: if none counts there is nothing to divide by"
#: Between the scope and the name of a knob where both are written as one word.
SEPARATOR = "/"


@dataclass(frozen=True, slots=True)
class ScopedSettings:
    """The values in force. scopes: unit id, id of an input's source or of a single entity -> its
    knobs; ENGINE -> the engine's."""

    scopes: Mapping[str, KnobSettings]

    def scope_of(self, name: str, scope: str | None) -> str:
        """The scope that is meant; None: the only one with a knob of that name. Raises Refused."""
        having = [s for s, settings in self.scopes.items() if name in settings.specs]
        if scope is not None:
            if scope not in self.scopes:
                only = having[0] if len(having) == 1 else None
                hint = f"; write {only}{SEPARATOR}{name}" if only else _hint(scope, self.scopes)
                raise Refused(f"nothing with knobs is called {scope!r}{hint}")
            if scope not in having:
                hint = _hint(name, self.scopes[scope].specs, "its knobs are")
                raise Refused(f"{scope} has no knob {name!r}{hint}")
            return scope
        if len(having) == 1:
            return having[0]
        if having:
            raise Refused(f"say which {name!r} is meant: that of {_listed(having)}")
        known = {n for settings in self.scopes.values() for n in settings.specs}
        raise Refused(f"there is no knob {name!r}{_hint(name, known, 'knobs are')}")

    def changed(self, scope: str, name: str, value: object) -> ScopedSettings:
        """With one knob changed. Raises KnobRefused."""
        turned = self.having(scope, self.scopes[scope].changed(name, value))
        if turned.scopes[scope].specs[name].weighs:
            turned.check_weights()
        return turned

    def check_weights(self) -> None:
        """Raises KnobRefused for weights that are all 0."""
        weights: dict[str, list[float]] = {}
        for settings in self.scopes.values():
            for name, spec in settings.specs.items():
                if spec.weighs:
                    weights.setdefault(name, []).append(settings.number(name))
        for name, given in weights.items():
            if not any(given):
                raise KnobRefused(name, 0, _ONE_COUNTS)

    def having(self, scope: str, settings: KnobSettings) -> ScopedSettings:
        """With one more scope, or another state of it."""
        return ScopedSettings({**self.scopes, scope: settings})

    def without(self, scope: str) -> ScopedSettings:
        """With one scope less."""
        return ScopedSettings({s: knobs for s, knobs in self.scopes.items() if s != scope})


def _hint(wrong: str, known: Iterable[str], what: str = "known are") -> str:
    """What was meant, else some of what there is."""
    known = sorted(filter(None, known))
    return did_you_mean(wrong, known) or f"; {what} {listed(known, 'and')}"


def _listed(scopes: Iterable[str]) -> str:
    return ", ".join(sorted(filter(None, scopes))) or "there is none"


def of_unit(job: RunJob, unit_id: str, specs: tuple[KnobSpec, ...]) -> KnobSettings:
    """What a unit's knobs start with. Raises KnobRefused."""
    return KnobSettings.defaults(specs, _chosen(job, unit_id, specs))


def of_frame(job: RunJob) -> ScopedSettings:
    """What the knobs of the engine and of replayed inputs start with. Raises KnobRefused."""
    scopes = {ENGINE: KnobSettings.defaults(ENGINE_KNOBS, _chosen(job, ENGINE, ENGINE_KNOBS))}
    for name, input in job.inputs.items():
        if input.rate is not None:
            chosen = _chosen(job, source_id(name), INPUT_KNOBS)
            chosen.setdefault(RATE.name, input.rate)
            scopes[source_id(name)] = KnobSettings.defaults(INPUT_KNOBS, chosen)
    return ScopedSettings(scopes)


def _chosen(job: RunJob, scope: str, specs: tuple[KnobSpec, ...]) -> dict[str, object]:
    """Values the workload gives the knobs of a scope; those that name it come last. What a knob
    sets when it is turned, one that is given sets as well."""
    chosen: dict[str, object] = {}
    for spec in specs:
        for key in (spec.name, f"{scope}{SEPARATOR}{spec.name}"):
            if key in job.knobs:
                chosen[spec.name] = job.knobs[key]
    return chosen | _set_along(chosen, specs)


def _set_along(given: Collection[str], specs: Iterable[KnobSpec]) -> dict[str, KnobValue]:
    """Knobs of the scope that are not given and that a given one sets, with the values they
    take."""
    known = {spec.name: spec.sets for spec in specs}
    pairs = [sets for name, sets in known.items() if sets is not None and name in given]
    return {name: value for name, value in pairs if name in known and name not in given}


def frame_taken_up(
    settings: ScopedSettings, last: LastState | None, asked: frozenset[str]
) -> ScopedSettings:
    """Knobs of engine and inputs as a killed run left them; ``asked`` ones stay as they are."""
    if last is None:
        return settings
    return ScopedSettings(
        {
            scope: taken_up(knobs, knobs_of(last, scope), asked)
            for scope, knobs in settings.scopes.items()
        }
    )


def knobs_of(last: LastState, scope: str) -> tuple[Knob, ...]:
    """The knobs of a scope as a killed run left them."""
    return tuple(knob for knob in last.knobs if knob.scope == scope)


def check_scopes(job: RunJob, settings: ScopedSettings) -> None:
    """Raises Refused for a value of the workload whose scope or knob the run does not have."""
    for key in job.knobs:
        scope, separator, name = key.rpartition(SEPARATOR)
        if separator:
            settings.scope_of(name, scope)


def taken_up(settings: KnobSettings, last: Iterable[Knob], asked: frozenset[str]) -> KnobSettings:
    """Settings with the values and versions a killed run left; those ``asked`` for anew, and what
    these set, stay. A value that is not allowed any more is left out; a knob that the run did not
    have is as one that it had sets it."""
    specs, recorded = settings.specs, {knob.name: knob for knob in last}
    scopes = {ENGINE, *(knob.scope for knob in recorded.values())}
    named = (name.rpartition(SEPARATOR) for name in asked)
    anew = {name for scope, _, name in named if scope in scopes}
    anew |= _set_along(anew, specs.values()).keys()
    before = _set_along(recorded, specs.values())
    values = {**settings.values, **{n: v for n, v in before.items() if n not in anew}}
    versions = dict(settings.versions)
    for knob in recorded.values():
        spec = specs.get(knob.name)
        if spec is None or knob.name in anew:
            continue
        values[knob.name] = _still(spec, knob.value, values[knob.name])
        versions[knob.name] = knob.version
    newest = max([settings.version, *versions.values()])
    return replace(settings, values=values, versions=versions, version=newest)


def _still(spec: KnobSpec, value: object, otherwise: KnobValue) -> KnobValue:
    try:
        return spec.check(value)
    except ValueError:
        return otherwise
