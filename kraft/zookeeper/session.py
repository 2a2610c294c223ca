"""ZooKeeper sessions on Trio, through the client library kazoo.

``session`` is a scope: its ephemeral znodes live as long as the block. An expired session never comes back, so its
owner leaves the block and enters another. A lost connection is no expiry: operations wait, and run when kazoo has
connected again. Kazoo's threads touch Trio only by ``TrioToken.run_sync_soon``.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any

import attrs
import trio
from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import (
    BadVersionError,
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
)
from kazoo.retry import KazooRetry

from kraft.world.slices import Slices
from kraft.world.world import World
from kraft.zookeeper.kazoo_handler import Handler, Outcome
from kraft.zookeeper.operations import (
    Check,
    ChildNames,
    Children,
    Create,
    Delete,
    Failure,
    Get,
    Multi,
    MultiFailed,
    Operation,
    Result,
    Set,
    Write,
    WriteResult,
    Znode,
    ZnodeChanged,
)

logger = logging.getLogger("kraft.zookeeper")
_KAZOO = logging.getLogger("kraft.zookeeper.kazoo")
_KAZOO.setLevel(logging.ERROR)  # it has two lines for each attempt to connect

RECONNECT_MAX_S = 1.0
"""The longest pause between two attempts to connect."""
STOP_LIMIT_S = 15.0
"""Of kazoo's ``stop``, which itself waits for 10 s at most."""
OPERATIONS_IN_FLIGHT = 1_000
_STARTED_IN_A_ROW = 50
RETRY_PAUSE_S = 0.1
ATTEMPTS_IN_A_SESSION = 3

_FAILURES = {
    NodeExistsError: Failure.NODE_EXISTS,
    NoNodeError: Failure.NO_NODE,
    BadVersionError: Failure.BAD_VERSION,
    NotEmptyError: Failure.NOT_EMPTY,
}
_TRY_AGAIN = (ConnectionLoss, ConnectionClosedError)
_NOT_THE_CAUSE = (RolledBackError, RuntimeInconsistency)


class SessionState(Enum):
    """Whether operations run at once, wait for a connection, or never run again."""

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    EXPIRED = "expired"


class SessionLost(Exception):
    """The session has expired or is closed. Whether the last operations were performed is unknown."""


class ZooKeeperUnavailable(Exception):
    """No server of the ensemble accepted the session in time."""


class OperationFailed(Exception):
    """ZooKeeper did not perform a required operation."""

    def __init__(self, operation: Operation, failure: Failure) -> None:
        super().__init__(f"{operation}: {failure.value}")
        self.failure = failure


@attrs.frozen
class _ZnodeWatcher:
    """Called by kazoo once: at a change, or when the connection is lost, after which changes would go unseen."""

    path: str
    report: Callable[[str], None] = attrs.field(eq=False)

    def __call__(self, event: object) -> None:
        self.report(self.path)


class _Outcomes:
    """The values or exceptions of operations under way, in their order.

    A lost connection fails all requests that kazoo has, and kazoo keeps later ones for the next connection. So none
    starts after a failed one: it would be performed before that one is performed again. Kazoo cannot go past a failure
    while another operation starts, because ``_arrived`` needs the lock.

    ``finish`` is called once, when no more operations start and all have arrived; in the thread of the last of them.
    """

    def __init__(self, finish: Callable[[], None]) -> None:
        self._values: list[Any] = []
        self._first_lost: int | None = None
        self._missing = 1
        """The requests under way, and one more while operations may still start."""
        self._finish = finish
        self._lock = threading.RLock()

    def performed(self) -> list[Any]:
        """The outcomes of the operations before the first one that must be performed again."""
        return self._values[: self._first_lost]

    def start(self, operation: Callable[[], Sequence[Any]]) -> bool:
        """Start an operation, unless the connection was lost since the first one. Its last request has its outcome."""
        with self._lock:
            if self._first_lost is not None:
                return False
            index = len(self._values)
            self._values.append(None)
            requests = operation()
            self._missing += len(requests)
        for request in requests:
            request.rawlink(partial(self._arrived, index, request is requests[-1]))
        return True

    def all_started(self) -> None:
        self._one_less()

    def _arrived(self, index: int, is_last: bool, result: Outcome) -> None:
        with self._lock:
            if is_last:
                self._values[index] = result.value if result.exception is None else result.exception
            if isinstance(result.exception, _TRY_AGAIN):
                self._first_lost = index if self._first_lost is None else min(index, self._first_lost)
        self._one_less()

    def _one_less(self) -> None:
        with self._lock:
            self._missing -= 1
            is_last = self._missing == 0
        if is_last:
            self._finish()


class ZooKeeperSession:
    """One session. Made by ``session``."""

    def __init__(self, client: Any, chroot: str) -> None:
        self.state = SessionState.SUSPENDED
        self._client = client
        self._chroot = chroot
        self._token = trio.lowlevel.current_trio_token()
        self._changed: dict[str, None] = {}
        self._new_state: SessionState | None = None
        self._stirred = trio.Event()
        client.add_listener(self._listen)

    @property
    def identity(self) -> tuple[int, bytes] | None:
        """The session's id, which owns its ephemeral znodes, and its password; None while there is no connection."""
        identity: tuple[int, bytes] | None = self._client.client_id
        return identity

    async def next_event(self) -> SessionState | ZnodeChanged:
        """Wait for the next change of the session's state or of a watched znode.

        Changes that wait are merged: there is at most one for each path, so the memory is bounded by what is watched.
        """
        while True:
            if self._new_state is not None:
                state, self._new_state = self._new_state, None
                return state
            if self._changed:
                path = next(iter(self._changed))
                del self._changed[path]
                return ZnodeChanged(path)
            await self._stirred.wait()

    async def require(self, operation: Operation) -> Result:
        """Perform one operation that must succeed.

        Raises:
            OperationFailed: ZooKeeper did not perform it.
            SessionLost: the session is over.
        """
        (result,) = await self.perform((operation,))
        if isinstance(result, Failure):
            raise OperationFailed(operation, result)
        if isinstance(result, MultiFailed):
            raise OperationFailed(operation, result.failure)
        return result

    async def perform(self, operations: Sequence[Operation]) -> tuple[Result, ...]:
        """Perform operations in order, without waiting for one result before the next, and return their results.

        While the connection is lost this waits; a caller that must not wait gives it a deadline. The operations whose
        responses were lost are performed again, and only then the later ones. So a write that succeeded may have
        BAD_VERSION, NODE_EXISTS or NO_NODE as result.

        Raises SessionLost if the session is over.
        """
        results: list[Result] = []
        while len(results) < len(operations):
            await self._connected()
            chunk = operations[len(results) : len(results) + OPERATIONS_IN_FLIGHT]
            outcomes = await self._attempt(chunk)
            results += map(self._result, chunk, outcomes)
            if len(outcomes) < len(chunk):
                # Kazoo reports the lost connection in a moment, unless it has connected again already.
                with trio.move_on_after(RETRY_PAUSE_S):
                    await self._stirred.wait()
        if self.state is SessionState.EXPIRED:
            raise SessionLost
        return tuple(results)

    async def create_all(self, paths: Sequence[str]) -> None:
        """Create persistent znodes with their parents, unless they exist."""
        for path in paths:
            parts = path.strip("/").split("/")
            for depth in range(1, len(parts) + 1):
                (result,) = await self.perform((Create("/" + "/".join(parts[:depth])),))
                if isinstance(result, Failure) and result is not Failure.NODE_EXISTS:
                    raise OperationFailed(Create(path), result)

    async def _connected(self) -> None:
        while self.state is SessionState.SUSPENDED:
            await self._stirred.wait()
        if self.state is SessionState.EXPIRED:
            raise SessionLost

    async def _attempt(self, operations: Sequence[Operation]) -> list[Any]:
        """Start the operations; return for each the value or the exception that kazoo gives.

        After a lost connection the list has only those before the first one whose response was lost.
        """
        done, slices = trio.Event(), Slices(_STARTED_IN_A_ROW, _STARTED_IN_A_ROW)
        outcomes = _Outcomes(partial(self._in_trio, done.set))
        for operation in operations:
            if not outcomes.start(partial(self._start, operation)):
                break
            await slices.spend()
        outcomes.all_started()
        await done.wait()
        return outcomes.performed()

    def _in_trio(self, function: Callable[..., None], *arguments: Any) -> None:
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(function, *arguments)

    def _start(self, operation: Operation) -> tuple[Any, ...]:
        """Queue the requests of an operation; return what kazoo gives for each. The last one has the result."""
        path = "" if isinstance(operation, Multi) else self._real(operation.path)
        match operation:
            case Get(watch=watch):
                if not watch:
                    return (self._client.get_async(path),)
                # An exists also watches for the creation of a znode that is missing. The requests keep their order, so
                # no change after the one that the read returns goes unseen. The connection may be lost between them.
                watched = self._client.exists_async(path, watch=self._watcher(operation.path))
                return watched, self._client.get_async(path)
            case Children(watch=watch):
                watcher = self._watcher(operation.path) if watch else None
                return (self._client.get_children_async(path, watch=watcher),)
            case Create(data=data, ephemeral=ephemeral, sequence=sequence):
                return (self._client.create_async(path, data or b"", ephemeral=ephemeral, sequence=sequence),)
            case Set(data=data, version=version):
                return (self._client.set_async(path, data, version),)
            case Delete(version=version):
                return (self._client.delete_async(path, version),)
            case Multi(writes):
                transaction = self._client.transaction()
                for write in writes:
                    self._add(transaction, write)
                return (transaction.commit_async(),)

    def _add(self, transaction: Any, write: Write) -> None:
        path = self._real(write.path)
        match write:
            case Create(data=data, ephemeral=ephemeral, sequence=sequence):
                transaction.create(path, data or b"", ephemeral=ephemeral, sequence=sequence)
            case Set(data=data, version=version):
                transaction.set_data(path, data, version)
            case Delete(version=version):
                transaction.delete(path, version)
            case Check(version=version):
                transaction.check(path, version)

    def _result(self, operation: Operation, outcome: Any) -> Result:
        """The result of one operation from what kazoo gives: a value, or an exception."""
        if isinstance(outcome, SessionExpiredError):
            raise SessionLost from outcome
        if isinstance(outcome, Exception):
            return _failure(outcome)
        match operation:
            case Get():
                data, stat = outcome
                data = data or b""  # Kafka creates some znodes without data
                return Znode(data, stat.version, stat.czxid, stat.ctime)
            case Children():
                return ChildNames(tuple(outcome))
            case Multi(writes):
                for index, each in enumerate(outcome):
                    if isinstance(each, Exception) and not isinstance(each, _NOT_THE_CAUSE):
                        return MultiFailed(index, _failure(each))
                return tuple(self._written(write, each) for write, each in zip(writes, outcome, strict=True))
            case _:
                return self._written(operation, outcome)

    def _written(self, write: Write, outcome: Any) -> WriteResult:
        match write:
            case Create():
                return str(outcome).removeprefix(self._chroot)
            case Set():
                return int(outcome.version)
            case _:
                return None

    def _real(self, path: str) -> str:
        return self._chroot + path if path != "/" else self._chroot or "/"

    def _watcher(self, path: str) -> _ZnodeWatcher:
        return _ZnodeWatcher(path, partial(self._in_trio, self._note_change))

    def _listen(self, state: Any) -> None:
        """In a thread of kazoo."""
        states = {KazooState.CONNECTED: SessionState.CONNECTED, KazooState.SUSPENDED: SessionState.SUSPENDED}
        self._in_trio(self._note_state, states.get(state, SessionState.EXPIRED))

    def _note_state(self, state: SessionState) -> None:
        if self.state is not SessionState.EXPIRED:  # Kazoo begins another session then, which is not this one.
            if state is SessionState.SUSPENDED:
                logger.warning("the connection with ZooKeeper is lost; changes of the cluster wait until it is back")
            elif state is SessionState.CONNECTED:
                logger.info("connected to ZooKeeper")
            self.state = self._new_state = state
            self._stir()

    def _note_change(self, path: str) -> None:
        self._changed[path] = None
        self._stir()

    def _stir(self) -> None:
        self._stirred.set()
        self._stirred = trio.Event()


def split_connect(connect: str) -> tuple[str, str]:
    """Split ``zookeeper.connect`` into the hosts and the chroot path, which is empty if there is none."""
    hosts, slash, path = connect.partition("/")
    return hosts, (slash + path).rstrip("/")


@contextlib.asynccontextmanager
async def session(
    world: World, connect: str, session_timeout_s: float, connection_timeout_s: float = math.inf
) -> AsyncIterator[ZooKeeperSession]:
    """Open a session on ``zookeeper.connect``, and create the chroot path if it is missing.

    Resource handling: the session is closed, and its threads have ended, when the block ends.

    Raises ZooKeeperUnavailable if there was no session after ``connection_timeout_s``.
    """
    hosts, chroot = split_connect(connect)
    # A server that is about to start accepts a connection and may never answer. Kazoo gives up after the session
    # timeout divided by the number of hosts, so with one host the session would have expired.
    client = KazooClient(
        ",".join([hosts] * ATTEMPTS_IN_A_SESSION),
        timeout=session_timeout_s,
        handler=Handler(),
        connection_retry=KazooRetry(max_tries=-1, max_delay=RECONNECT_MAX_S),
        logger=_KAZOO,
    )
    opened = ZooKeeperSession(client, "")
    try:
        client.start_async()
        with trio.move_on_after(connection_timeout_s):
            await opened._connected()
        if opened.state is not SessionState.CONNECTED:
            raise ZooKeeperUnavailable(f"no session with ZooKeeper at {hosts} after {connection_timeout_s:g} s")
        if chroot:
            await opened.create_all((chroot,))
            opened._chroot = chroot
        yield opened
    finally:
        opened.state = SessionState.EXPIRED
        with trio.move_on_after(STOP_LIMIT_S, shield=True):
            await world.in_thread(partial(_close, client))


def _close(client: Any) -> None:
    with contextlib.suppress(KazooException):
        client.stop()
        client.close()


def _failure(error: Exception) -> Failure:
    return next((failure for kind, failure in _FAILURES.items() if isinstance(error, kind)), Failure.REFUSED)
