"""The handler that kazoo uses: results, and the wait for its sockets."""

from __future__ import annotations

import contextlib
import fcntl
import resource
import socket
import threading
from collections.abc import Iterator

import pytest

from kraft.zookeeper.kazoo_handler import Handler, Outcome, Wakeups


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


def is_ready(wakeups: Wakeups) -> bool:
    return bool(Handler().select([wakeups], [], [], 0)[0])


def test_a_thread_is_woken_while_requests_wait() -> None:
    """Kazoo receives once for each request that it has taken, also for one that it dropped with a lost connection."""
    reader, writer = Handler().create_socket_pair()
    assert not is_ready(reader)
    for _ in range(3):
        writer.send(b"\0")
    for _ in range(3):
        assert is_ready(reader)
        reader.recv(1)
    assert not is_ready(reader)
    reader.recv(1)
    writer.send(b"\0")
    assert is_ready(reader)
    writer.close()
    reader.close()
    for _ in range(2):
        with pytest.raises(OSError, match="Bad file descriptor"):
            writer.send(b"\0")


def test_no_wakeup_is_lost_between_two_threads() -> None:
    wakeups, count = Wakeups(), 20_000
    sender = threading.Thread(target=lambda: [wakeups.send(b"\0") for _ in range(count)])
    sender.start()
    for _ in range(count):
        assert Handler().select([wakeups], [], [], 60)[0], "a request waits, and nobody was woken"
        wakeups.recv(1)
    sender.join()
    assert not is_ready(wakeups)
    wakeups.close()
