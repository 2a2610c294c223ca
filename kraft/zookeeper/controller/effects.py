"""The events of the legacy controller, and the effects that its driver performs in field order."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, Final, TypeVar

import attrs

from kraft.config.listeners import Endpoint
from kraft.zookeeper.operations import Operation, Result, ZnodeChanged


@attrs.frozen
class SessionStarted:
    """The node has a session, in which its broker is registered."""


@attrs.frozen
class StandAgain:
    """The pause after a decision that failed is over. The broker has resigned, and stands for election."""


@attrs.frozen
class SessionExpired:
    """The session is over: the ephemeral znodes are gone, and another broker may be the controller already."""


@attrs.frozen
class OperationsPerformed:
    """The results of the operations of the last effects, in their order."""

    results: tuple[Result, ...]


@attrs.frozen
class BrokerResponded:
    """The response to the BrokerRequest with this number."""

    broker_id: int
    number: int
    response: Any


@attrs.frozen
class ApiRequest:
    """A request of a broker or a client to the controller. The response has the same ``token``."""

    token: object
    message: Any
    version: int


@attrs.frozen
class RebalanceDue:
    """The deadline of the last effects has passed."""


LegacyEvent = (
    SessionStarted
    | StandAgain
    | SessionExpired
    | ZnodeChanged
    | OperationsPerformed
    | BrokerResponded
    | ApiRequest
    | RebalanceDue
)


@attrs.frozen
class BrokerRequest:
    """Send this to the broker, again after each lost connection, and report BrokerResponded.

    A broker has one of them at a time. It is void once the broker is gone or has another broker epoch.
    """

    broker_id: int
    broker_epoch: int
    endpoint: Endpoint
    number: int
    message: Any
    version: int
    waited_s: float = 0.0
    """How long its oldest change waited for the response to the last request."""


@attrs.frozen
class RoleChanged:
    """This broker became the controller of ``epoch``, or ceased to be it."""

    epoch: int
    is_active: bool
    reason: str


@attrs.define
class LegacyEffects:
    """``roles``, ``notes`` and ``unclean_elections`` are for operators.

    Unless ``operations`` is None, the next event is OperationsPerformed with their results, or SessionExpired. It is
    empty at a pause in a long decision: other tasks run before it continues. Requests and responses follow from earlier
    operations, which have succeeded. The events in ``repeated`` come again after a pause: ZooKeeper refused a read, or
    the decision ended with ``failure``, an error that nobody foresaw.
    """

    roles: list[RoleChanged] = attrs.Factory(list)
    notes: list[str] = attrs.Factory(list)
    requests: list[BrokerRequest] = attrs.Factory(list)
    responses: list[tuple[object, Any]] = attrs.Factory(list)
    repeated: list[LegacyEvent] = attrs.Factory(list)
    unclean_elections: int = 0
    operations: tuple[Operation, ...] | None = None
    deadline: float = math.inf
    failure: Exception | None = None


T = TypeVar("T")
Steps = Generator[tuple[Operation, ...], tuple[Result, ...], T]
"""A decision: it yields operations and is sent their results. It yields PAUSE after some milliseconds of work."""
PAUSE: Final[tuple[Operation, ...]] = ()


class ControllerMoved(Exception):
    """Another controller was elected: the epoch in ZooKeeper is not ours."""


class ReadRefused(Exception):
    """ZooKeeper refused to read a znode (NoAuth, ThrottledOp, SystemError and others). It may exist."""

    def __init__(self, path: str) -> None:
        super().__init__(f"ZooKeeper refused to read {path}")
