"""Workers of a Ray cluster: of this machine alone, or of many.

State that is kept goes into Ray's object store once, from where each machine takes it once; of state that grows, only
the new ends follow. Each stretch is a task. Ray repeats a task whose worker or machine is lost, and since results are
put together in the order of the stretches, a loss costs time and changes nothing. Machines need the same version of
CSL. The driver, which runs the algorithm, is not repeated: its checkpoints are for that.
"""

import os
import socket
from collections.abc import Callable
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from csl import __version__
from csl.engine.engine import CHUNKS, Arrays, Engine, Growing, Kept, are_few
from csl.engine.threads import Threads
from csl.engine.worker import Call, Piece, pack, unpack, work
from csl.errors import CslError, InputError

PATIENCE = 5  # seconds to wait for the machine of an address; Ray itself waits for minutes
RETRIES = 5  # of a stretch whose worker is lost; one that kills every worker must come to an end
_numbers = count()  # of calls and of pieces of state; never used again, as workers remember them


class Ray(Engine):
    """Workers, one for each CPU of a cluster."""

    def __init__(self, address: str | None = None, threads: int = 1) -> None:
        """Join the cluster at an address; without one, start workers on this machine, as many as threads."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone
        try:
            import ray  # noqa: PLC0415 — an extra, and slow to import
        except ModuleNotFoundError as error:
            raise InputError("the Ray engine needs ray: pip install 'compositional-structure-learner[ray]'") from error
        self._ray, self._local = ray, Threads(threads)
        self._own = not ray.is_initialized()
        if self._own:
            _check_reachable(address)
            options: dict[str, Any] = {"address": address} if address else {"address": "local", "num_cpus": threads}
            try:
                ray.init(**options, include_dashboard=False, log_to_driver=False, logging_level="error")
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise InputError(f"cannot join the Ray cluster at {address or 'local'}: {error}") from error
        self.number = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.sent = 0
        self._work = ray.remote(num_cpus=1, max_retries=RETRIES)(work)
        self._pieces: WeakKeyDictionary[Kept[Any] | Growing, Piece] = WeakKeyDictionary()
        self._lengths: WeakKeyDictionary[Growing, list[int]] = WeakKeyDictionary()

    @property
    def local(self) -> Threads:
        """The threads of the driver."""
        return self._local

    def close(self) -> None:
        """Leave the cluster, or end the workers of this machine."""
        if self._own:
            self._ray.shutdown()

    def __enter__(self) -> "Ray":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def chunks(
        self, function: Callable[..., Any], items: Any, *state: Any, parts: int = 0, least: int | None = None
    ) -> list[Any]:
        """Apply the function to stretches, in tasks."""
        if not parts and are_few(items, least):
            return self._local.chunks(function, items, *state, parts=1)
        pieces = {place: self._piece(part) for place, part in enumerate(state) if isinstance(part, Kept | Growing)}
        rest = [None if place in pieces else part for place, part in enumerate(state)]
        call, kept = self._put((function, rest)), {piece.key for piece in self._pieces.values()}
        about = Call(__version__, next(_numbers), pieces, kept)
        tasks = []
        for stretch in np.array_split(items, parts or CHUNKS * self.number):
            packed = pack(stretch)
            self.sent += len(packed)
            tasks.append(self._work.remote(self._ray.get, about, call, packed))
        return self._results(tasks)

    def _results(self, tasks: list[Any]) -> list[Any]:
        """Wait for all tasks; an error of the function is raised as it was there."""
        errors = self._ray.exceptions
        try:
            return [unpack(packed) for packed in self._ray.get(tasks)]
        except errors.RayTaskError as error:
            raise error.cause from error
        except errors.RayError as error:
            line = str(error).strip().partition("\n")[0]
            raise CslError(f"the cluster lost a piece of work {RETRIES + 1} times: {line}") from error

    def _put(self, value: object) -> Any:
        packed = pack(value)
        self.sent += len(packed)
        return self._ray.put(packed)

    def _piece(self, state: Kept[Any] | Growing) -> Piece:
        """Give where workers find kept state, after putting there what is not there yet."""
        if state not in self._pieces:
            refs = [self._put(state.value)] if isinstance(state, Kept) else []
            self._pieces[state] = Piece(next(_numbers), isinstance(state, Growing), refs)
        piece = self._pieces[state]
        if isinstance(state, Growing):
            end = self._new_end(state)
            if any(map(len, end)) or not piece.refs:
                piece = self._pieces[state] = piece._replace(refs=[*piece.refs, self._put(end)])
        return piece

    def _new_end(self, state: Growing) -> Arrays:
        """Take what was added to growing arrays since the last time."""
        arrays = state.value
        lengths = self._lengths.get(state, [0] * len(arrays))
        self._lengths[state] = [len(array) for array in arrays]
        return tuple(array[length:] for array, length in zip(arrays, lengths, strict=True))


def _check_reachable(address: str | None) -> None:
    """Refuse an address that nobody answers at."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # auto, or what Ray itself refuses at once
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"no Ray cluster answers at {address} ({error}); is it `ray start`ed there?") from error
