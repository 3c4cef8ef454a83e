"""Stand-in."""

from backend.operators.network.frame import OperatorFrame


class SeqWindow(OperatorFrame):
    """Stand-in."""

    def run(self, inputs, heartbeat):  # type: ignore
        raise NotImplementedError
