"""One broker's session on a ZooKeeper in memory, as ``kraft.zookeeper.config_store`` uses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import trio

from kraft.zookeeper.operations import Create, Delete, Operation, Result
from kraft.zookeeper.session import SessionLost
from kraft.zookeeper.znodes.cluster import PERSISTENT_PATHS
from kraft.zookeeper.znodes.controllers import CONTROLLER, CONTROLLER_EPOCH, ControllerZnode, encode_controller
from tests.support.znode_tree import ZnodeTree


@attrs.define(eq=False)
class MemoryZooKeeper:
    """A cluster that has a controller. ``before`` may do something before the operations of a round, ``before_each``
    before one of them. ``fails`` ends a session.
    """

    tree: ZnodeTree = attrs.Factory(ZnodeTree)
    performed: list[Operation] = attrs.Factory(list)
    before: Callable[[Sequence[Operation]], None] = attrs.field(default=lambda operations: None)
    before_each: Callable[[], None] = attrs.field(default=lambda: None)
    fails: int = 0
    is_there: trio.Event = attrs.Factory(trio.Event)

    def __attrs_post_init__(self) -> None:
        self.tree.create_all(PERSISTENT_PATHS)
        self.elect(ControllerZnode(1, 0))
        self.is_there.set()

    async def perform(self, operations: Sequence[Operation]) -> tuple[Result, ...]:
        await self.is_there.wait()
        await trio.lowlevel.checkpoint()
        if self.fails:
            self.fails -= 1
            raise SessionLost
        self.before(operations)
        results = []
        for each in operations:
            self.before_each()
            self.performed.append(each)
            results.append(self.tree.perform(self, each))
        return tuple(results)

    def elect(self, controller: ControllerZnode) -> None:
        """Make it the controller. As each controller does, it creates /controller anew and writes /controller_epoch."""
        self.tree.perform(None, Delete(CONTROLLER))
        self.tree.perform(None, Create(CONTROLLER, encode_controller(controller)))
        self.tree.put(CONTROLLER_EPOCH, b"1")
