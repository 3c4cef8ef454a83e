"""Operators on their way to the workers: what is large goes once, whatever changes around it."""

from __future__ import annotations

import io
import pickle
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pyarrow as pa
from pyspark import Broadcast, cloudpickle
from pyspark.sql import SparkSession

from backend.hosts.networks import HostJob
from backend.hosts.spark.session.shipping import ship_module
from backend.model.functions import Functions
from backend.model.sending import CallsFunctions, SentOnce

#: Objects that are large and do not change; operators come and go around them.
_LARGE: Final = (SentOnce, pa.Table)
#: What tells a large object from all others: of the run, and of it in the run.
Number: TypeAlias = tuple[str, int]
#: In a worker: what was unpacked.
_UNPACKED: Final[dict[Number, Any]] = {}


@dataclass(frozen=True)
class Parcel:
    """A job, pickled; in place of large objects it has their numbers."""

    job: bytes
    large: Mapping[Number, Broadcast[bytes]]

    def unpacked(self) -> HostJob:
        """The job again, in a worker. Large objects are unpacked once a worker."""
        for number in _UNPACKED.keys() - self.large.keys():
            del _UNPACKED[number]
        for number in self.large.keys() - _UNPACKED.keys():
            _UNPACKED[number] = pickle.loads(self.large[number].value)
        job: HostJob = _Unpickler(io.BytesIO(self.job)).load()
        return job


class Shipping:
    """What the workers of a run hold. A large object is sent when it is first part of a job, and
    freed when it is no more."""

    def __init__(self, session: SparkSession) -> None:
        self._context = session.sparkContext
        self._run, self._n_sent = uuid.uuid4().hex, 0
        self._sent: dict[int, tuple[Any, Number, Broadcast[bytes]]] = {}

    def parcel(self, job: HostJob) -> Parcel:
        """The job, ready to be sent. Raises pickle.PicklingError."""
        for input in job.tasks.inputs.values():
            for operator in input.operators.values():
                if isinstance(operator, CallsFunctions):
                    _by_value(operator.functions)
        for task in job.networks:
            _by_value(task.job.functions)
        out = io.BytesIO()
        pickler = _Pickler(out, self)
        pickler.dump(job)  # type: ignore[no-untyped-call]  # pyspark's own copy has no types
        self._free(pickler.used)
        return Parcel(out.getvalue(), {number: sent for _, number, sent in self._sent.values()})

    def number_of(self, large: Any) -> Number:
        """The number of an object, which is sent unless it was."""
        if id(large) not in self._sent:
            sent = self._context.broadcast(packed(large))
            self._sent[id(large)] = (large, (self._run, self._n_sent), sent)
            self._n_sent += 1
        return self._sent[id(large)][1]

    def close(self) -> None:
        """Free everything."""
        self._free(set())

    def _free(self, used: set[int]) -> None:
        for key in self._sent.keys() - used:
            self._sent.pop(key)[2].unpersist()


def packed(job: Any) -> bytes:
    """As workers can unpickle it; a network's job with the functions it calls."""
    if isinstance(job, CallsFunctions):
        _by_value(job.functions)
    data: bytes = cloudpickle.dumps(job)  # type: ignore[no-untyped-call]  # as above
    return data


class _Pickler(cloudpickle.Pickler):
    def __init__(self, out: io.BytesIO, shipping: Shipping) -> None:
        super().__init__(out)  # type: ignore[no-untyped-call]  # as above
        self._shipping = shipping
        self.used: set[int] = set()

    def persistent_id(self, obj: Any) -> Number | None:
        """The number of a large object; None for what is pickled where it stands."""
        if not isinstance(obj, _LARGE):
            return None
        self.used.add(id(obj))
        return self._shipping.number_of(obj)


class _Unpickler(pickle.Unpickler):
    def persistent_load(self, pid: Any) -> Any:
        """The large object."""
        return _UNPACKED[pid]


def _by_value(functions: Functions) -> None:
    """Functions of a workload's own module are sent whole: workers cannot import it."""
    modules = dict.fromkeys(function.call.__module__ for function in functions.functions.values())
    for name in modules:
        ship_module(sys.modules[name])
