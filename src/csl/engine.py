"""Work over many items, spread over threads, for kernels that release the GIL. Nothing is copied.

A function is applied to chunks of items, and the results come in order: any number of threads gives the same bytes.
Even a single thread is one beside the main thread, which waits, or takes results as they come: so Ctrl-C is answered
while a kernel runs. Work is cut into chunks of about a quarter of a second, so that progress can be shown and work
nobody waits for any more soon ends. How long an item takes is known from the chunks before, also of earlier calls.
"""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np

from csl.errors import InputError
from csl.log import Log

log = Log("engine")
PACE = 0.25  # seconds that a chunk should take, at most
BRIEF = 0.001  # seconds that it should take, at least: less is not worth a second thread
LOOK = 0.5  # seconds between two looks at whether a signal came
SHOWN = 1.0  # seconds after which progress is shown


class Threads:
    """A pool of threads; `number` chunks are worked on at once."""

    def __init__(self, number: int = 1) -> None:
        if number < 1:
            raise InputError(f"threads must be at least 1, not {number}")
        self.number = number
        self._started: tuple[int, ThreadPoolExecutor] | None = None  # and the process that they are of
        self._paces: dict[Callable[..., Any], float] = {}  # seconds that an item of a function takes

    def __reduce__(self) -> tuple[type["Threads"], tuple[int]]:
        return Threads, (self.number,)  # another process starts threads of its own

    @property
    def _pool(self) -> ThreadPoolExecutor:
        """The threads; a forked process has none and starts its own."""
        if self._started is None or self._started[0] != os.getpid():
            self._started = os.getpid(), ThreadPoolExecutor(self.number)
        return self._started[1]

    def chunks(
        self,
        function: Callable[..., Any],
        items: Any,
        *state: Any,
        parts: int = 0,
        doing: str = "",
    ) -> list[Any]:
        """Call `function(chunk, *state)` for chunks of `items`; return the results in order.

        `parts` fixes the number of chunks, for results that depend on it, such as sums of floats. If it takes long,
        progress is reported with the words `doing`.
        """
        if parts:
            chunks, number = np.array_split(items, parts), self.number
            turns = [chunks[k * parts // number : (k + 1) * parts // number] for k in range(number)]  # one a thread
            some = [self._submit(lambda turn: [function(chunk, *state) for chunk in turn], turn) for turn in turns]
            return [result for future in some for result in _result(future)]
        return list(self.stream(function, items, *state, doing=doing))

    def map(self, function: Callable[..., Any], items: Any, *state: Any, doing: str = "") -> Any:
        """Like `chunks`, for functions that return one result an item: the results as one array."""
        return np.concatenate(self.chunks(function, items, *state, doing=doing))

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that may take long, so that Ctrl-C is answered meanwhile."""
        return _result(self._submit(function, *arguments))

    def stream(self, function: Callable[..., Any], items: Any, *state: Any, doing: str = "") -> Iterator[Any]:
        """Like `chunks`, but yield results as they come: threads go on while the caller works with one."""
        if not len(items):
            yield self.call(function, items, *state)  # for its shape

        def timed(chunk: Any) -> tuple[Any, int, float]:
            begin = time.perf_counter()
            return function(chunk, *state), len(chunk), time.perf_counter() - begin

        most = 1 if self.number == 1 else 2 * self.number  # chunks under way or waiting
        start, at, done, size = time.perf_counter(), 0, 0, 0
        waiting: deque[Future[tuple[Any, int, float]]] = deque()
        try:
            while done < len(items):
                while at < len(items) and len(waiting) < most:
                    pace = self._paces.get(function)
                    share = -(-(len(items) - at) // most)  # all threads should come to the end together
                    size = max(int(BRIEF / pace), min(share, int(PACE / pace)), 1) if pace else 2 * size or 1
                    waiting.append(self._submit(timed, items[at : at + size]))
                    at += size
                result, number, seconds = _result(waiting.popleft())
                self._paces[function] = max(seconds, 1e-6) / number
                done += number
                yield result
                if doing and time.perf_counter() - start > SHOWN:
                    log.progress(f"{doing}: {done:,} of {len(items):,}")
        finally:
            for future in waiting:
                future.cancel()

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Let a thread of the pool do it; a thread that is not the main one can do it itself."""
        if self.number > 1 or threading.current_thread() is threading.main_thread():
            return self._pool.submit(function, *arguments)
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future


def _result(future: Future[Any]) -> Any:
    """Wait for a result; Python may miss a signal that comes when the wait begins, and sees it when the wait ends."""
    while not future.done():
        with suppress(TimeoutError):
            future.exception(LOOK)
    return future.result()


ONE_THREAD = Threads(1)
