"""``python -m bench [NAME]``: measurements beside their peers, in one run."""

from __future__ import annotations

import sys
from collections.abc import Callable

from bench import chosen, filters, live, monitoring, peers, scale, selection

BENCHES: dict[str, Callable[[], None]] = {
    "selection": selection.main,
    "chosen": chosen.main,
    "monitoring": monitoring.main,
    "live": live.main,
    "scale": scale.main,
    "peers": peers.main,
    "filters": filters.main,
}


def main(names: list[str]) -> int:
    """Run the named benches, all without names; 2 for an unknown name."""
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"no bench is called {unknown[0]!r}; there are: {', '.join(BENCHES)}")
        return 2
    for name in names or BENCHES:
        BENCHES[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
