"""The handler that kazoo uses: results, and the wait for its sockets."""

from __future__ import annotations

import contextlib
import fcntl
import resource
import socket
import threading
from collections.abc import Iterator

import pytest

from kraft.zookeeper.kazoo_handler import Handler, Outcome


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    with one, other:
        yield one, other


def test_only_sockets_that_are_ready_are_returned(pair: tuple[socket.socket, socket.socket]) -> None:
    """As select.select: a closed peer makes a socket readable, because its recv returns at once."""
    one, other = pair
    handler = Handler()
    assert handler.select([one], [], [], 0) == ([], [], [])
    assert handler.select([], [one], [], 0) == ([], [one], [])
    other.send(b"x")
    assert handler.select([one, other], [], [], 60) == ([one], [], [])
    one.recv(1)
    other.close()
    assert handler.select([one], [], [], 60) == ([one], [], [])


def test_a_full_socket_is_not_ready_to_write(pair: tuple[socket.socket, socket.socket]) -> None:
    one, _ = pair
    one.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while one.send(b"x" * 65_536):
            pass
    assert Handler().select([], [one], [], 0) == ([], [], [])


def test_a_descriptor_above_those_of_select_is_served(pair: tuple[socket.socket, socket.socket]) -> None:
    """A node has up to 20,000 open files, and select.select takes descriptors below 1,024 only."""
    one, other = pair
    high = 2_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, high + 1), hard))
    with socket.socket(fileno=fcntl.fcntl(one.fileno(), fcntl.F_DUPFD, high)) as moved:
        other.send(b"x")
        assert Handler().select([moved], [], [], 60) == ([moved], [], [])


def test_a_callback_runs_once_whether_it_comes_before_the_result_or_after() -> None:
    calls: list[object] = []
    outcome = Outcome(threading.Lock())
    outcome.rawlink(lambda each: calls.append(each.get()))
    assert calls == []
    outcome.set(7)
    outcome.rawlink(lambda each: calls.append(each.get()))
    assert calls == [7, 7]
    outcome.set_exception(OSError())  # kazoo reports a closed connection again
    assert calls == [7, 7]
