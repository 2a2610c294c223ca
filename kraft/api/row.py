"""The row of an API: all that a node knows of it, except its messages and its handlers.

Each API has one file with the name of its key, and ``ROW`` in that file is the only place for these facts. The tables
of the listeners (:mod:`kraft.api.table`), ApiVersions, the forwardable requests and docs/apis.md come from the rows.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import attrs

from kraft.messages.registry import ApiKey


class ListenerType(enum.StrEnum):
    """The kinds of listener, with their names in the ``listeners`` of a message's spec."""

    BROKER = "broker"
    CONTROLLER = "controller"
    ZK_BROKER = "zkBroker"

    @property
    def handler(self) -> str:
        """The name of the handler for this kind of listener, in each API's file."""
        return f"at_{self.name.lower()}"


class Operation(enum.IntEnum):
    """Kafka's ``AclOperation``, with its codes."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


class Resource(enum.IntEnum):
    """Kafka's ``ResourceType``, with its codes."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5


class Quota(enum.StrEnum):
    """The client quota that Kafka applies to a request."""

    NONE = "none"
    """Exempt, as most requests between nodes are."""
    REQUEST = "request"
    """The share of the handlers' time (KIP-124)."""
    PRODUCE = "produce"
    """Bytes written, and the handlers' time."""
    FETCH = "fetch"
    """Bytes read, and the handlers' time. Followers are exempt."""
    CONTROLLER_MUTATION = "controller mutation"
    """Partitions created and deleted (KIP-599), and the handlers' time."""


Versions = tuple[int, int]
"""The lowest and the highest offered version."""
Permission = tuple[Operation, Resource]


@attrs.frozen
class Api:
    """One API.

    Attributes:
        key: Also names the file: ``ApiKey.CREATE_TOPICS`` is in ``create_topics.py``.
        versions: The versions offered, by the kind of listener that offers them.
        permissions: The operations and resources that Kafka's authorizer checks. Several pairs are for several
            resources in the request, or the second is an alternative to the first; see "Operations and resources on
            protocols" in Kafka's documentation. Nothing is enforced here yet.
        quota: Nothing is enforced here yet.
        forwardable: Whether a broker may forward it to the active controller in an Envelope (KIP-590).
    """

    key: ApiKey
    versions: Mapping[ListenerType, Versions]
    permissions: tuple[Permission, ...] = ()
    quota: Quota = Quota.REQUEST
    forwardable: bool = False
