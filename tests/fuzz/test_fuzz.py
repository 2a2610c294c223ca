"""Any bytes on any listener: an answer with an error code, or a closed connection with one line in the log.

The long form of this is ``python -m tests.fuzz``.
"""

from __future__ import annotations

import logging
import random
import resource
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraft.messages.fetch_request import FetchRequest
from kraft.messages.registry import ApiKey
from kraft.testing import EmbeddedCluster
from tests.fuzz.frames import Attack, attack, framed, header, message, mutated, request
from tests.fuzz.strike import CLIENT_APIS, CONTROL_APIS, Address, Neighbour, Tally, neighbour, strike
from tests.support.sweep import sweep

USES_UP_TOPICS = frozenset({ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS})
"""Each version of these needs the topics anew. Making them takes most of the time of the test, so others share them."""
MAX_GROWTH_KIB = 300 * 1024


class Failures(logging.Handler):
    """Collects log records with a traceback: no input of a peer may cause one."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info or record.levelno >= logging.ERROR:
            self.found.append(logging.Formatter().format(record))


class Street:
    """The node under attack and the other client."""

    def __init__(self, cluster: EmbeddedCluster, friend: Neighbour, failures: Failures) -> None:
        self.client = _address(cluster.bootstrap_servers)
        self.controller = _address(cluster.controller)
        self.friend = friend
        self.failures = failures

    def attack(self, address: Address, attacks: list[Attack]) -> None:
        tally = Tally()
        for each in attacks:
            strike(address, each, tally)
        self.friend.live()
        assert tally.faults == []
        assert self.failures.found == []


def _address(text: str) -> Address:
    host, port = text.split(":")
    return host, int(port)


@pytest.fixture(scope="module")
def street() -> Iterator[Street]:
    failures = Failures()
    logger = logging.getLogger("kraft")
    logger.addHandler(failures)
    try:
        with EmbeddedCluster() as cluster, neighbour(_address(cluster.bootstrap_servers)) as friend:
            friend.prepare()
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            yield Street(cluster, friend, failures)
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MAX_GROWTH_KIB
        # Leaving the block stops the node under control: had a task died, it would be raised here.
    finally:
        logger.removeHandler(failures)


quietly = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@quietly
@given(seed=st.integers(0, 2**32))
def test_anything_at_the_client_listener(street: Street, seed: int) -> None:
    rng = random.Random(seed)
    street.attack(street.client, [attack(rng, CLIENT_APIS) for _ in range(10)])


@quietly
@given(seed=st.integers(0, 2**32))
def test_anything_at_the_controller_listener(street: Street, seed: int) -> None:
    rng = random.Random(seed)
    street.attack(street.controller, [attack(rng, CONTROL_APIS) for _ in range(10)])


@sweep(("key",), ((key,) for key in CLIENT_APIS))
def test_every_api_in_every_version(street: Street, key: int) -> None:
    """Whole requests with strange content, the same broken, and the same cut off."""
    oldest, newest = CLIENT_APIS[key]
    for version in range(oldest, newest + 1):
        rng = random.Random(f"{key} {version}")
        attacks = []
        for _ in range(4):
            body = request(rng, key, version)
            head = header(key, version, 0)
            attacks += [
                Attack("whole", framed(head + body), ((key, version),)),
                Attack("broken", framed(head + mutated(rng, body)), ((key, version),)),
                Attack("cut off", framed(head + body[: rng.randrange(len(body) + 1)]), ((key, version),)),
            ]
        street.attack(street.client, attacks)
        if version == newest or key in USES_UP_TOPICS:
            street.friend.tidy()


def test_messages_are_the_same_for_the_same_seed() -> None:
    assert message(random.Random(3), FetchRequest, 12) == message(random.Random(3), FetchRequest, 12)
