"""tests.abuse.client: the waits of a campaign come from it."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from kraft.testing import EmbeddedCluster
from tests.abuse.campaign import neighbour
from tests.abuse.client import Asked, running_client
from tests.fuzz.strike import Address


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with EmbeddedCluster() as cluster:
        host, port = cluster.bootstrap_servers.split(":")
        with neighbour((host, int(port))) as friend:
            friend.prepare()
        yield host, int(port)


def test_a_client_asks_until_it_is_told_and_begins_again(address: Address) -> None:
    with running_client(address, "neighbour") as client:
        for _ in range(2):
            client.begin()
            asked = client.cease()
            assert asked.waits
            assert all(0 < wait < 60 for wait in asked.waits)
            assert not asked.is_lost


def test_the_client_of_the_controller_notes_the_epoch(address: Address) -> None:
    """A broker forwards DescribeQuorum to the active controller."""
    with running_client(address, "controller") as client:
        client.begin()
        (epoch,) = client.cease().epochs
    assert epoch > 0


def test_a_closed_connection_is_noted_and_another_one_made() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, running_client(server.getsockname(), "neighbour") as client:
        for _ in range(2):
            client.begin()
            server.accept()[0].close()
            asked = client.cease()
            assert asked.is_lost


def test_a_p99_is_below_one_wait_in_a_hundred() -> None:
    asked = Asked([0.001] * 98, [3])
    asked.add(Asked([0.5, 0.004], [3, 4], is_lost=True))
    assert (round(asked.p99_ms()), round(asked.worst_ms()), asked.epochs, asked.is_lost) == (500, 500, [3, 4], True)
    asked.add(Asked([0.001]))
    assert round(asked.p99_ms()) == 4
