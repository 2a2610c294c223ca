"""A sample of the attacks, small enough for every run: bounds on the work done, none on the time.

The long form is ``python -m tests.abuse``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kraft.testing import EmbeddedCluster
from tests.abuse import attacks
from tests.abuse.attacks import Attack
from tests.abuse.campaign import Outcome, neighbour, strike
from tests.fuzz.strike import Address, Neighbour


@pytest.fixture(scope="module")
def address() -> Iterator[Address]:
    with EmbeddedCluster() as cluster:
        host, port = cluster.bootstrap_servers.split(":")
        yield host, int(port)


@pytest.fixture(scope="module")
def friend(address: Address) -> Iterator[Neighbour]:
    """A client on a connection from before the attacks."""
    with neighbour(address) as friend:
        friend.prepare()
        yield friend


@contextmanager
def struck(address: Address, friend: Neighbour, attack: Attack) -> Iterator[Outcome]:
    """The outcome of an attack, after which the neighbour writes and reads its records."""
    attack.prepare(friend)
    yield strike(address, list(attack.frames()))
    friend.live()


@pytest.mark.parametrize(
    "attack",
    [
        Attack("tags in the header", lambda: attacks.tags_in_header(1 << 14)),
        Attack("tags in the body", lambda: attacks.tags_in_body(1 << 14)),
        Attack("empty names", lambda: attacks.empty_names(1 << 20)),
        Attack("partition numbers", lambda: attacks.numbers(2 << 20)),
    ],
    ids=lambda attack: attack.name,
)
def test_more_elements_than_any_client_sends_close_the_connection(
    address: Address, friend: Neighbour, attack: Attack
) -> None:
    """Bytes that become a hundred times as many are refused while they are decoded (``MAX_ELEMENTS``)."""
    with struck(address, friend, attack) as outcome:
        assert outcome.closed


def test_the_largest_honest_requests_are_answered(address: Address, friend: Neighbour) -> None:
    """100,000 topics in one Metadata request: more than any cluster has."""
    with struck(address, friend, Attack("", lambda: attacks.unknown_topics(100_000))) as outcome:
        assert outcome.frames == 1
        assert outcome.received_bytes > 100_000 * len("unknown-1")
