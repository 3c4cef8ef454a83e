"""What a check comes to, from how full the window is and how long ago the last switch was."""

from __future__ import annotations

from backend.systems.agreedy.knobs import Settings
from storage.vocabulary.kinds import Verdict


def verdict_of(settings: Settings, held: int, is_violated: bool, waited: int | None) -> Verdict:
    """held: dropped profile tuples in the window; waited: tuples since the last switch, or None.

    A window or stage shorter than min_samples can never be full enough, so the lesser counts.
    """
    if held < _least_window(settings):
        return "thin"
    if not is_violated:
        return "below_threshold"
    if settings.algorithm == "static":
        return "pinned"
    if waited is not None and waited < settings.cooldown_tuples:
        return "cooldown"
    return "switched"


def _least_window(settings: Settings) -> int:
    if settings.algorithm == "sweep":
        return min(settings.min_samples, settings.stage_tuples)
    return settings.min_samples
