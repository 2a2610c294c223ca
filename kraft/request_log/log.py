"""The request log of a node, from its settings to the task that writes it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Protocol

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.config.request_log_settings import FILE, OFF
from kraft.metadata.image import Image
from kraft.quorum.journal import Line
from kraft.request_log.files import FileWriter, RequestFiles
from kraft.request_log.lines import CLIENT_ID, RequestLines
from kraft.rpc.trace import RequestSampled, Sampler
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION
from kraft.world.trace import Trace
from kraft.world.world import World

logger = logging.getLogger("kraft.node")

DIRECTORY = "request-log"
"""Below ``__cluster_metadata-0``. A broker of Apache Kafka does not start if a log directory contains a directory that
is not a partition's; it ignores directories inside of one.
"""
DATA_PLANE = "data"


class Writer(Protocol):
    """Where the lines go."""

    async def run(self, lines: RequestLines) -> None:
        """Write the queued lines until cancelled. Raises OSError, which ends the log."""

    async def finish(self, lines: RequestLines) -> None:
        """After ``run`` was cancelled for a controlled stop: write the rest. Raises OSError."""

    def close(self) -> None:
        """Release everything. Also called without ``finish``, and twice."""


@attrs.define(eq=False)
class RequestLog:
    """The request log of one node. With ``kraft.request.log=off`` it subscribes to nothing, and costs nothing.

    Resource handling: ``close`` releases what ``run`` opened.

    Error handling: an OSError ends the log with a warning, and never the node.
    """

    trace: Trace
    random: Callable[[], float]
    lines: RequestLines
    sample: float
    control_sample: float
    resample_s: float
    writer: Writer | None
    _samplers: list[Sampler] = attrs.Factory(list)

    def __attrs_post_init__(self) -> None:
        if self.writer is not None:
            self.trace.subscribe(RequestSampled, self.lines.add_request)

    def sampler(self, plane: str) -> Sampler:
        """Return the sampler of a plane. It chooses nothing if the log is off."""
        if self.writer is None:
            return Sampler()
        fraction = self.sample if plane == DATA_PLANE else self.control_sample
        sampler = Sampler(fraction, self.random, CLIENT_ID)
        self._samplers.append(sampler)
        return sampler

    @property
    def is_on(self) -> bool:
        """Whether the log is written."""
        return self.writer is not None

    @property
    def quorum_events(self) -> Callable[[Line], object] | None:
        """The function that takes the lines of the quorum's journal, or None if the log is off."""
        return None if self.writer is None else self._add_quorum_event

    async def run(self) -> None:
        """Write the log, if it is on, until cancelled or until the disk has an error."""
        assert self.writer is not None, "nobody runs a log that is off"
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._start_over, name="request sampling")
            try:
                await self.writer.run(self.lines)
            except OSError as error:
                self._end(error)
            nursery.cancel_scope.cancel(reason="the request log ended")

    async def finish(self) -> None:
        """Write the rest at a controlled stop."""
        if self.writer is not None:
            try:
                await self.writer.finish(self.lines)
            except OSError as error:
                self._end(error)

    def close(self) -> None:
        """Release the files. Without ``finish`` the last lines are lost, as after kill -9."""
        if self.writer is not None:
            self.writer.close()

    async def _start_over(self) -> None:
        """Let each file, or each such time of the topic, have the first request of every API."""
        while True:
            await trio.sleep(self.resample_s)
            for sampler in self._samplers:
                sampler.start_over()

    def _add_quorum_event(self, line: Line) -> None:
        if self.writer is not None:
            self.lines.add(line)

    def _end(self, error: OSError) -> None:
        logger.warning(
            "request log: %s: %s; the log ends here, the node is not affected",
            error.filename or "cannot write",
            error.strerror or error,
        )
        self.trace.unsubscribe(RequestSampled, self.lines.add_request)
        self.close()
        self.writer = None


def request_log(config: NodeConfig, world: World, trace: Trace, image: Callable[[], Image]) -> RequestLog:
    """Return the request log that the settings ask for. ``image`` returns the committed metadata."""
    settings = config.request_log
    lines = RequestLines(config.node_id, world.clock.now_ms)
    roll_ms, retention_bytes = settings.kraft_request_log_roll_ms, settings.kraft_request_log_retention_bytes
    writer: Writer | None
    if settings.kraft_request_log == OFF:
        writer = None
    elif settings.kraft_request_log == FILE:
        default = os.path.join(config.metadata_log_dir, CLUSTER_METADATA_PARTITION, DIRECTORY)
        directory = os.path.abspath(settings.kraft_request_log_dir or default)
        files = RequestFiles(directory, lines.start_ms, roll_ms, retention_bytes, world.clock.now_ms)
        writer = FileWriter(files, world.in_thread)
    else:
        # Imported here, because a node without this log needs no client.
        from kraft.request_log.topic import LogTopic, TopicWriter

        replicas = config.groups.offsets_topic_replication_factor
        topic = LogTopic(settings.kraft_request_log_topic, replicas, retention_bytes)
        writer = TopicWriter(topic, config.node_id, image, config.listeners.inter_broker, world.dial)
    return RequestLog(
        trace=trace,
        random=world.random.random,
        lines=lines,
        sample=settings.kraft_request_log_sample,
        control_sample=settings.kraft_request_log_control_sample,
        resample_s=roll_ms / 1000,
        writer=writer,
    )
