"""What a handler at a controller's listener may use: the controller's parts in one place."""

from __future__ import annotations

import attrs

from kraft.config.broker import NodeConfig
from kraft.metadata.image import Image
from kraft.node.clock import Clock
from kraft.node.controller import Controller
from kraft.node.metadata import Metadata
from kraft.node.quorum.driver import Quorum


@attrs.frozen(eq=False)
class ControlPlane:
    """The controller role of a node, active or on standby."""

    config: NodeConfig
    cluster_id: str
    clock: Clock
    quorum: Quorum
    controller: Controller
    metadata: Metadata

    @property
    def node_id(self) -> int:
        return self.config.node_id

    @property
    def image(self) -> Image:
        """The metadata as far as it is committed, and known here."""
        return self.metadata.image
