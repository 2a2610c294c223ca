"""The handlers of one kind of listener, imported when a client first needs them.

To import the files of all APIs would import every message class, which is most of a node's start-up time. Until then
:mod:`kraft.api.table` has the offered APIs.

The first request of an API takes some 50 ms: its file is imported, and the codecs of its version are compiled. That is
done on a worker thread, so only the client of that request waits.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import attrs
import trio

from kraft.api.row import ListenerType
from kraft.messages.registry import ApiKey, request_class, response_class
from kraft.rpc.channel import LARGE_FRAME_BYTES, Reply, Request, ResponseAction
from kraft.wire.codec import prepare_decoder, prepare_encoder
from kraft.wire.errors import ErrorCode
from kraft.wire.schema import Message
from kraft.world.world import InThread

Context = TypeVar("Context")

Handler = Callable[[Context, Request, Any], Awaitable[Reply]]
"""``at_broker``, ``at_zk_broker`` or ``at_controller`` of an API's file. Its arguments are the listener's context, the
request, its message.

The message is None for ApiVersions in a version that is not offered.
"""

ErrorAnswer = Callable[[Any, int, ErrorCode, str | None], Message | ResponseAction]
"""``error`` of an API's file: returns a response in the given version that refuses the whole message; CLOSE if the
client expects none.
"""

Need = tuple[int, int, bool]
"""The needs of a request: API key, version, and whether its frame is large, and so decoded in slices."""


@attrs.frozen
class ApiFunctions(Generic[Context]):
    """The functions of an API's file."""

    handle: Handler[Context]
    error: ErrorAnswer


@attrs.frozen(eq=False)
class Handlers(Generic[Context]):
    """Finds the functions for a request. ``in_thread`` runs imports and compilations on a worker thread."""

    listener: ListenerType
    in_thread: InThread
    ready: dict[Need, ApiFunctions[Context]] = attrs.Factory(dict)
    """The functions for needs that take no further import and no compilation."""
    _preparing: trio.Lock = attrs.Factory(trio.Lock)

    async def of(self, request: Request) -> ApiFunctions[Context]:
        """Return the functions for a request, and wait while what it needs is imported and compiled."""
        need = request.api_key, request.response_version, len(request.frame) >= LARGE_FRAME_BYTES
        if need not in self.ready:
            async with self._preparing:  # one at a time, because Python code keeps the interpreter's lock
                if need not in self.ready:
                    self.ready[need] = await self.in_thread(self._prepare, *need)
        return self.ready[need]

    def load(self, key: int) -> ApiFunctions[Context]:
        """Import the file of an API, if it is not imported yet, and return its functions."""
        module = importlib.import_module(f"kraft.api.{ApiKey(key).name.lower()}")
        return ApiFunctions(getattr(module, self.listener.handler), module.error)

    def _prepare(self, key: int, version: int, is_large: bool) -> ApiFunctions[Context]:
        functions = self.load(key)
        prepare_decoder(request_class(key), version, in_steps=is_large)
        prepare_encoder(response_class(key), version)
        return functions
