"""One broker's session on a ZooKeeper in memory, as ``kraft.zookeeper.config_store`` uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import trio

from kraft.zookeeper.operations import Operation, Result
from kraft.zookeeper.session import SessionLost
from kraft.zookeeper.znodes.cluster import PERSISTENT_PATHS
from kraft.zookeeper.znodes.controllers import CONTROLLER, ControllerZnode, encode_controller
from tests.support.znode_tree import ZnodeTree


@attrs.define(eq=False)
class MemoryZooKeeper:
    """A cluster that has a controller. ``before`` may do something before the operations, ``fails`` ends a session."""

    tree: ZnodeTree = attrs.Factory(ZnodeTree)
    performed: list[Operation] = attrs.Factory(list)
    before: Callable[[Sequence[Operation]], None] = attrs.field(default=lambda operations: None)
    fails: int = 0
    is_there: trio.Event = attrs.Factory(trio.Event)

    def __attrs_post_init__(self) -> None:
        self.tree.create_all(PERSISTENT_PATHS)
        self.tree.put(CONTROLLER, encode_controller(ControllerZnode(1, 0)))
        self.is_there.set()

    async def perform(self, operations: Sequence[Operation]) -> tuple[Result, ...]:
        await self.is_there.wait()
        await trio.lowlevel.checkpoint()
        if self.fails:
            self.fails -= 1
            raise SessionLost
        self.before(operations)
        self.performed += operations
        return tuple(self.tree.perform(self, each) for each in operations)
