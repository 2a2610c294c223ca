"""The row of an API: everything that a node knows of it beside its messages and its handlers.

Each API has one file, named as its key is, and that file's ``ROW`` is the only place where any of this is said. The
tables of the listeners (:mod:`kraft.api.table`), ApiVersions, the requests that may be forwarded and docs/apis.md are
made from the rows.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import attrs

from kraft.messages.registry import ApiKey


class ListenerType(enum.StrEnum):
    """The kinds of listener, as ``listeners`` in a message's spec names them."""

    BROKER = "broker"
    CONTROLLER = "controller"
    ZK_BROKER = "zkBroker"

    @property
    def handler(self) -> str:
        """The name of the function that answers at such a listener, in each API's file."""
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
    """The client quota that Kafka charges a request to."""

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
"""The oldest and the newest version that is offered."""
Permission = tuple[Operation, Resource]


@attrs.frozen
class Api:
    """One API.

    Attributes:
        key: Also names the file: ``ApiKey.CREATE_TOPICS`` is in ``create_topics.py``.
        versions: The versions offered, by the kind of listener that offers them.
        permissions: What Kafka's authorizer is asked about the client. Several pairs are for several resources in the
            request, or the second stands in for the first; see "Operations and resources on protocols" in Kafka's
            documentation. Nothing is enforced here yet.
        quota: Nothing is enforced here yet.
        forwardable: Whether a broker may pass it on to the active controller in an Envelope (KIP-590).
    """

    key: ApiKey
    versions: Mapping[ListenerType, Versions]
    permissions: tuple[Permission, ...] = ()
    quota: Quota = Quota.REQUEST
    forwardable: bool = False
