"""Generated from spec/DescribeClusterRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["DescribeClusterRequest"]


class DescribeClusterRequest(Message):
    """DescribeClusterRequest (request of API 60): versions 0-2, flexible from 0.

    v1 may describe the controllers, v2 may include fenced brokers.

    Attributes:
        include_cluster_authorized_operations: Report what the caller may do with the cluster.
        endpoint_type (1+): What to describe: 1 brokers, 2 controllers.
        include_fenced_brokers (2+): Report fenced brokers as well.
    """

    API_KEY: ClassVar[int] = 60
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("include_cluster_authorized_operations", "endpoint_type", "include_fenced_brokers")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("include_cluster_authorized_operations", "bool"),
        Field("endpoint_type", "int8", versions=(1, OPEN), default=1),
        Field("include_fenced_brokers", "bool", versions=(2, OPEN)),
    )

    def __init__(
        self,
        include_cluster_authorized_operations: bool = False,
        endpoint_type: int = 1,
        include_fenced_brokers: bool = False,
    ) -> None:
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.endpoint_type = endpoint_type
        self.include_fenced_brokers = include_fenced_brokers
