"""Stand-in."""

from backend.operators.network.frame import OperatorFrame


class WindowJoin(OperatorFrame):
    """Stand-in."""

    def run(self, inputs, heartbeat):  # type: ignore
        raise NotImplementedError
