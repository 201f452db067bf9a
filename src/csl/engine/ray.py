"""Workers of a Ray cluster: of this machine, or of many.

State that is broadcast goes into Ray's object store once, from where each machine takes it once; of state that grows,
only the new ends follow. Each chunk is a task. Ray repeats a task whose worker or machine is lost, and since results
are put together in the order of the chunks, a loss costs time and changes nothing. Machines need the same version of
CSL. The driver, which runs the algorithm, is not repeated: its checkpoints are for that.
"""

import os
import socket
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from csl import __version__
from csl.engine.engine import CHUNKS, Broadcast, Engine, Growing, are_few
from csl.engine.threads import Threads
from csl.engine.worker import Call, Shared, pack, unpack, work
from csl.errors import CslError, InputError

PATIENCE = 5  # seconds to wait for the machine of an address; Ray itself waits for minutes
RETRIES = 5  # of a chunk whose worker is lost; one that kills every worker must come to an end
_numbers = count()  # of calls and of shared state; never used again, as workers remember them


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
        self._shared: WeakKeyDictionary[Broadcast[Any] | Growing, Shared] = WeakKeyDictionary()
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
        self,
        function: Callable[..., Any],
        items: Any,
        *state: Any,
        parts: int = 0,
        least: int | None = None,
        doing: str = "",
    ) -> list[Any]:
        """Apply the function to chunks, in tasks."""
        if not parts and are_few(items, least):
            return self._local.chunks(function, items, *state, least=least, doing=doing)
        shared = {k: self._share(part) for k, part in enumerate(state) if isinstance(part, Broadcast | Growing)}
        rest = [None if k in shared else part for k, part in enumerate(state)]
        body, in_use = self._put((function, rest)), {known.key for known in self._shared.values()}
        call, tasks = Call(__version__, next(_numbers), shared, in_use), []
        for chunk in np.array_split(items, parts or CHUNKS * self.number):
            packed = pack(chunk)
            self.sent += len(packed)
            tasks.append(self._work.remote(self._ray.get, call, body, packed))
        return list(map(unpack, self._results(tasks)))

    def each(self, function: Callable[..., Any], items: Iterable[Any], *state: Any) -> list[Any]:
        """Call `function(item, *state)` for each item, side by side; return the results in order."""
        task = self._ray.remote(num_cpus=1, max_retries=RETRIES)(function)
        return self._results([task.remote(item, *state) for item in items])

    def _results(self, tasks: list[Any]) -> list[Any]:
        """Wait for all tasks; an error of the function is raised as it was there."""
        errors = self._ray.exceptions
        try:
            return list(self._ray.get(tasks))
        except errors.RayTaskError as error:
            raise error.cause from error
        except errors.RayError as error:
            line = str(error).strip().partition("\n")[0]
            raise CslError(f"the cluster lost a task {RETRIES + 1} times: {line}") from error

    def _put(self, value: object) -> Any:
        packed = pack(value)
        self.sent += len(packed)
        return self._ray.put(packed)

    def _share(self, state: Broadcast[Any] | Growing) -> Shared:
        """Return where workers find state, after putting there what is not there yet."""
        if state not in self._shared:
            refs = [self._put(state.value)] if isinstance(state, Broadcast) else []
            self._shared[state] = Shared(next(_numbers), isinstance(state, Growing), refs)
        shared = self._shared[state]
        if isinstance(state, Growing):
            arrays = state.value
            lengths = self._lengths.get(state, [0] * len(arrays))
            end = arrays._make(array[length:] for array, length in zip(arrays, lengths, strict=True))
            self._lengths[state] = [len(array) for array in arrays]
            if any(map(len, end)) or not shared.refs:
                shared = self._shared[state] = shared._replace(refs=[*shared.refs, self._put(end)])
        return shared


def _check_reachable(address: str | None) -> None:
    """Refuse an address that nobody answers at."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # auto, or what Ray itself refuses at once
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"no Ray cluster answers at {address} ({error}); is it `ray start`ed there?") from error
