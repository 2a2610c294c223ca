"""Generated from spec/BrokerRegistrationChangeRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["BrokerRegistrationChangeRecord"]


class BrokerRegistrationChangeRecord(Message):
    """BrokerRegistrationChangeRecord (metadata record, type 17): versions 0-3, flexible from 0.

    v1 controlled shutdown, v2 log directories, v3 cordoned ones (KIP-1066).

    Attributes:
        broker_id: Id of the broker.
        broker_epoch: Epoch of the registration that changes.
        fenced: -1 unfences, 1 fences, 0 leaves it.
        in_controlled_shutdown (1+): 1 starts a controlled shutdown, 0 leaves it.
        log_dirs (2+): Ids of the online log directories; empty if unchanged.
        cordoned_log_dirs (3+): Ids of the log directories that take no new replicas; null if unchanged.
    """

    API_KEY: ClassVar[int] = 17
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("broker_id", "broker_epoch", "fenced", "in_controlled_shutdown", "log_dirs", "cordoned_log_dirs")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("broker_id", "int32"),
        Field("broker_epoch", "int64"),
        Field("fenced", "int8", tag=0, tagged=(0, OPEN)),
        Field("in_controlled_shutdown", "int8", versions=(1, OPEN), tag=1, tagged=(1, OPEN)),
        Field("log_dirs", "[]uuid", versions=(2, OPEN), tag=2, tagged=(2, OPEN)),
        Field(
            "cordoned_log_dirs", "[]uuid", versions=(3, OPEN), nullable=(3, OPEN), tag=3, tagged=(3, OPEN), default=None
        ),
    )

    def __init__(
        self,
        broker_id: int = 0,
        broker_epoch: int = 0,
        fenced: int = 0,
        in_controlled_shutdown: int = 0,
        log_dirs: list[UUID] = NEW,
        cordoned_log_dirs: list[UUID] | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.fenced = fenced
        self.in_controlled_shutdown = in_controlled_shutdown
        self.log_dirs = [] if log_dirs is NEW else log_dirs
        self.cordoned_log_dirs = cordoned_log_dirs
