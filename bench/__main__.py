"""``python -m bench [--full] [NAME]``: measurements beside their peers, in one run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from bench import (
    adapt,
    amri,
    cals,
    chosen,
    cluster,
    drift,
    fastpath,
    filters,
    growth,
    hour,
    joins,
    kmon,
    live,
    monitoring,
    peers,
    pictures,
    retention,
    scale,
    selection,
    stream,
)

BENCHES: dict[str, Callable[[], None]] = {
    "selection": selection.main,
    "chosen": chosen.main,
    "drift": drift.main,
    "adapt": adapt.main,
    "monitoring": monitoring.main,
    "live": live.main,
    "scale": scale.main,
    "peers": peers.main,
    "filters": filters.main,
    "fastpath": fastpath.main,
    "stream": stream.main,
    "joins": joins.main,
    "kmon": kmon.main,
    "amri": amri.main,
    "cals": cals.main,
    "retention": retention.main,
    "growth": growth.main,
    "hour": hour.main,
}
#: Run when they are named alone: one does not end by itself, one measures nothing.
LASTING: dict[str, Callable[[], None]] = {"cluster": cluster.main, "pictures": pictures.main}
#: Those that have a longer form.
FULL: dict[str, Callable[[], None]] = {
    "adapt": partial(adapt.main, full=True),
    "fastpath": partial(fastpath.main, full=True),
    "scale": partial(scale.main, full=True),
}


def main(words: list[str]) -> int:
    """Run the named benches, all without names; 2 for an unknown name."""
    names = [word for word in words if word != "--full"]
    benches = {**BENCHES, **FULL} if len(names) < len(words) else BENCHES
    known = {**benches, **LASTING}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no bench is called {unknown[0]!r}; there are: {', '.join(known)}")
        return 2
    for name in names or BENCHES:
        known[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
