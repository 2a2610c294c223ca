"""Generated from spec/BrokerHeartbeatRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["BrokerHeartbeatRequest"]


class BrokerHeartbeatRequest(Message):
    """BrokerHeartbeatRequest (request of API 63): versions 0-2, flexible from 0.

    v1 reports failed log directories, v2 cordoned ones.

    Attributes:
        broker_id: Id of the broker.
        broker_epoch: Epoch the controller gave this broker at registration; -1 if unknown.
        current_metadata_offset: Metadata offset the broker has applied.
        want_fence: Whether the broker asks to be, or stay, fenced.
        want_shut_down: Whether the broker asks for a controlled shutdown.
        offline_log_dirs (1+): Ids of the log directories that failed.
        cordoned_log_dirs (2+): Ids of the log directories that take no new replicas, or null if unchanged.
    """

    API_KEY: ClassVar[int] = 63
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "broker_id",
        "broker_epoch",
        "current_metadata_offset",
        "want_fence",
        "want_shut_down",
        "offline_log_dirs",
        "cordoned_log_dirs",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32"),
        Field("broker_epoch", "int64", default=-1),
        Field("current_metadata_offset", "int64"),
        Field("want_fence", "bool"),
        Field("want_shut_down", "bool"),
        Field("offline_log_dirs", "[]uuid", versions=(1, OPEN), tag=0, tagged=(1, OPEN)),
        Field(
            "cordoned_log_dirs", "[]uuid", versions=(2, OPEN), nullable=(2, OPEN), tag=1, tagged=(2, OPEN), default=None
        ),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = -1,
        current_metadata_offset: int = 0,
        want_fence: bool = False,
        want_shut_down: bool = False,
        offline_log_dirs: list[UUID] = NEW,
        cordoned_log_dirs: list[UUID] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.current_metadata_offset = current_metadata_offset
        self.want_fence = want_fence
        self.want_shut_down = want_shut_down
        self.offline_log_dirs = [] if offline_log_dirs is NEW else offline_log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
