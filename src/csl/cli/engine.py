"""The options of commands that spread their work: over threads of this machine, or over a Ray cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from csl.errors import InputError, nearest

if TYPE_CHECKING:
    from csl.engine.engine import Engine

ENGINES = ("threads", "ray")

ThreadsOption = Annotated[int, typer.Option("--threads", min=1, help="Threads; the result is the same for any number.")]
EngineOption = Annotated[str, typer.Option("--engine", help="threads or ray; the result is the same.")]
AddressOption = Annotated[
    str | None,
    typer.Option("--address", help="Of a running Ray cluster; default: Ray workers here, as many as threads."),
]


@contextmanager
def engine_of(threads: int, name: str = "threads", address: str | None = None) -> "Iterator[Engine]":
    """Open the engine that the options name, and close it at the end."""
    if name not in ENGINES:
        raise InputError(f"--engine {name}: no such engine; {nearest(name, ENGINES)}")
    if address and name != "ray":
        raise InputError("--address is of a Ray cluster; give --engine ray too")
    if name == "threads":
        from csl.engine.threads import Threads

        yield Threads(threads)
        return
    from csl.engine.ray import Ray

    with Ray(address, threads) as engine:
        yield engine
