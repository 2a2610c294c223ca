"""The client for programs without an event loop: a Trio loop in its own thread, behind plain methods.

A :class:`BlockingCluster` belongs to the process and thread that made it: make it where it is used. It holds a thread
and sockets, so it can be neither pickled nor used after a fork.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar

import attrs
import trio

from kraft.client.cluster import CONNECT_TIMEOUT_S, TIMEOUT_S, Cluster, open_cluster
from kraft.client.retry import GaveUp

CLOSE_TIMEOUT_S = 10.0

T = TypeVar("T")
Job = Callable[[], Awaitable[None]]


@attrs.frozen
class _Failed:
    """An error on its way from the loop's thread to the caller's."""

    error: Exception


class BlockingCluster:
    """A :class:`~kraft.client.cluster.Cluster` for synchronous code. Use it as a context manager.

    One thread uses it, for one call or stream at a time.
    """

    def __init__(self, bootstrap: str, client_id: str = "kraft", *, retry_timeout_s: float = 0.0) -> None:
        self._retry_timeout_s = retry_timeout_s
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._ready = threading.Event()
        self._failure: Exception | None = None
        self._loop: _Loop | None = None
        self._thread = threading.Thread(target=self._run, name="kraft client", daemon=True)

    def __enter__(self) -> BlockingCluster:
        """Connect, and try again for ``retry_timeout_s``.

        Raises:
            ConfigError: an address is malformed.
            ClusterUnreachable: no server responds.
            GaveUp: the same, after ``retry_timeout_s``.
        """
        self._thread.start()
        servers = self._bootstrap.count(",") + 1
        if not self._ready.wait(self._retry_timeout_s + servers * (CONNECT_TIMEOUT_S + TIMEOUT_S)):
            raise GaveUp(f"no connection to {self._bootstrap}: no answer in time")
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections and end the thread. A second call does nothing."""
        loop, self._loop = self._loop, None
        if loop is not None:
            trio.from_thread.run_sync(loop.jobs.close, trio_token=loop.token)
            self._thread.join(CLOSE_TIMEOUT_S)

    def call(self, ask: Callable[[Cluster], Awaitable[T]], timeout_s: float) -> T:
        """Run an async function with the cluster, and return its result.

        Raises its errors, and GaveUp after ``timeout_s``.
        """
        loop = self._running()

        async def bounded() -> T:
            with trio.move_on_after(timeout_s):
                return await ask(loop.cluster)
            raise GaveUp(f"no answer from {self._bootstrap} within {timeout_s:g} seconds")

        return trio.from_thread.run(bounded, trio_token=loop.token)

    @contextmanager
    def stream(self, make: Callable[[Cluster], Callable[[], Awaitable[T | None]]], ahead: int) -> Iterator[Iterator[T]]:
        """Iterate over the results of an async function, up to the first None.

        ``make`` returns the function. While the caller handles one result, the loop gets up to ``ahead`` more. The
        iterator raises the function's errors. The function bounds its own time.
        """
        loop = self._running()
        advance = make(loop.cluster)
        send, receive = trio.open_memory_channel[T | _Failed](ahead - 1)
        scope = trio.CancelScope()

        async def fill() -> None:
            with scope:
                async with send:
                    try:
                        while (item := await advance()) is not None:
                            await send.send(item)
                    except Exception as error:
                        await send.send(_Failed(error))

        def items() -> Iterator[T]:
            while True:
                try:
                    item = trio.from_thread.run(receive.receive, trio_token=loop.token)
                except trio.EndOfChannel:
                    return
                if isinstance(item, _Failed):
                    raise item.error
                yield item

        trio.from_thread.run(loop.jobs.send, fill, trio_token=loop.token)
        try:
            yield items()
        finally:
            trio.from_thread.run_sync(scope.cancel, trio_token=loop.token)

    def _running(self) -> _Loop:
        if self._loop is None:
            raise RuntimeError("the client is open only inside its with block")
        return self._loop

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except Exception as failure:
            self._failure = failure
        finally:
            self._ready.set()

    async def _main(self) -> None:
        """Own the connections and the tasks of streams, until ``close``."""
        jobs, incoming = trio.open_memory_channel[Job](0)
        async with open_cluster(self._bootstrap, self._client_id, retry_timeout_s=self._retry_timeout_s) as cluster:
            self._loop = _Loop(cluster, jobs, trio.lowlevel.current_trio_token())
            self._ready.set()
            async with trio.open_nursery() as nursery:
                async for job in incoming:
                    nursery.start_soon(job)
                nursery.cancel_scope.cancel()


@attrs.frozen(eq=False)
class _Loop:
    """The parts of the loop that the caller's thread uses."""

    cluster: Cluster
    jobs: trio.MemorySendChannel[Job]
    token: trio.lowlevel.TrioToken
