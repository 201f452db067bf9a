"""Calls side by side on the workers of a Ray cluster: of this machine, or of many that share a file system.

Ray repeats a call whose worker or machine is lost. A call is a whole run, which then resumes from its folder: a loss
costs time and changes nothing. Machines need the same version of CSL.
"""

import os
import socket
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from csl import __version__
from csl.errors import CslError, InputError

PATIENCE = 5  # seconds to wait for the machine of an address; Ray itself waits for minutes
RETRIES = 5  # of a call whose worker is lost; one that kills every worker must come to an end

T = TypeVar("T")


def call_each(
    function: Callable[..., T], calls: Iterable[tuple[Any, ...]], address: str | None = None, workers: int = 1
) -> list[T]:
    """Call a function for each of these arguments, on the cluster at an address, or on so many workers started here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone
    try:
        import ray  # noqa: PLC0415 — an extra, and slow to import
    except ModuleNotFoundError as error:
        raise InputError("--engine ray needs ray: pip install 'compositional-structure-learner[ray]'") from error
    _check_reachable(address)
    options: dict[str, Any] = {"address": address} if address else {"address": "local", "num_cpus": workers}
    try:
        ray.init(**options, include_dashboard=False, log_to_driver=False, logging_level="error")
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise InputError(f"cannot join the Ray cluster at {address or 'local'}: {error}") from error
    try:
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(_call)
        return list(ray.get([task.remote(__version__, function, arguments) for arguments in calls]))
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error  # as it was there
    except ray.exceptions.RayError as error:
        line = str(error).strip().partition("\n")[0]
        raise CslError(f"the cluster lost a run {RETRIES + 1} times: {line}") from error
    finally:
        ray.shutdown()


def _call(version: str, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    if version != __version__:
        raise InputError(f"a worker has csl {__version__}, not {version}; install one version everywhere")
    return function(*arguments)


def _check_reachable(address: str | None) -> None:
    """Refuse an address that nobody answers at."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # auto, or what Ray itself refuses at once
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"no Ray cluster answers at {address} ({error}); is it `ray start`ed there?") from error
