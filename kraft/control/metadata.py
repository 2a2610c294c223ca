"""The committed metadata of a node: a sequence of images for its broker, its standby controller and its snapshots.

One task, ``run``, replays the records that the quorum has committed. Each reader has a Subscription and reads at its
own pace: it gets all changes since its last read as one. So a slow broker delays neither the standby nor a snapshot,
and no queue grows.
"""

from __future__ import annotations

import logging

import attrs
import trio

from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.metadata.changes import Accumulated, difference
from kraft.metadata.delta import Changes, Delta, MetadataError
from kraft.metadata.image import Image
from kraft.metadata.loader import Loader
from kraft.quorum.driver import Quorum
from kraft.raft.messages import SnapshotId
from kraft.world.slices import Slices, in_slices
from kraft.world.world import World

logger = logging.getLogger("kraft.metadata")

_SLICE_RECORDS = 250
"""The records that are replayed before other tasks run: a node that replays a long log must still answer its peers in
time.
"""
_BATCH_IN_RECORDS = 30
"""The cost of the image after each batch, as a number of records."""


@attrs.frozen
class SnapshotPolicy:
    """When to write a snapshot: ``metadata.log.max.record.bytes.between.snapshots`` and
    ``metadata.log.max.snapshot.interval.ms`` (0 is never).
    """

    max_bytes: int = 20 * 2**20
    max_interval_ms: int = 3_600_000


@attrs.define(eq=False)
class Subscription:
    """The changes that one reader has not read yet; ``image`` is the last one that it has read."""

    image: Image
    _latest: Image | None = None
    _changes: Accumulated = attrs.Factory(Accumulated)
    _published: trio.Event = attrs.Factory(trio.Event)

    def publish(self, image: Image, changes: Changes) -> None:
        self._changes.add(changes)
        self._latest = image
        self._published.set()

    async def next(self) -> tuple[Image, Changes]:
        """Wait for the next change; return the new image and all changes since the last call.

        The deletion of a topic whose name has a new topic is a change of its own, before all others. In its image the
        name has no topic.
        """
        await self._published.wait()
        assert self._latest is not None
        deleted = self._changes.topics_deleted
        replaced = [key for key, topic in deleted.items() if topic.name in self._latest.topic_ids]
        if replaced:
            before = self.image
            delta = Delta(before)
            for key in replaced:
                delta.replay(RemoveTopicRecord(key))
            finish = delta.finish_in_steps(before.offset, before.epoch, before.timestamp_ms)
            self.image, changes = await in_slices(finish, _SLICE_RECORDS)
            for key in replaced:
                del deleted[key]
        else:
            self._published = trio.Event()
            self.image, changes = self._latest, self._changes.total()
            self._changes = Accumulated()
        return self.image, changes


class Metadata:
    """The committed and replayed metadata. A worker thread loads and writes snapshots.

    ``features_epoch`` is the offset of the image that last changed the features; -1 before the first change.
    """

    def __init__(self, quorum: Quorum, world: World, policy: SnapshotPolicy) -> None:
        self._quorum = quorum
        self._world = world
        self._policy = policy
        self._loader = Loader()
        self._subscriptions: list[Subscription] = []
        self._advanced = trio.Event()
        self._next_offset = 0
        self._bytes_since_snapshot = 0
        self._snapshot_due = trio.Event()
        self.snapshots_loaded = 0
        self.features_epoch = -1
        self._features = self.image.features

    @property
    def image(self) -> Image:
        return self._loader.image

    @property
    def high_watermark(self) -> int:
        """All records below this offset are committed, replayed or not."""
        return self._quorum.high_watermark

    @property
    def next_offset(self) -> int:
        """All records below this offset are replayed."""
        return self._next_offset

    def standby(self) -> Loader:
        """Return a copy of the replayed state for a controller that becomes active. It shares the image."""
        return self._loader.copy()

    def subscribe(self) -> Subscription:
        """Return a subscription that begins with the present image."""
        subscription = Subscription(self.image)
        self._subscriptions.append(subscription)
        return subscription

    async def replayed(self, offset: int) -> None:
        """Return once all records below ``offset`` are replayed. The caller limits the wait."""
        while self._next_offset < offset:
            await self._advanced.wait()

    async def caught_up(self) -> None:
        """Return once this node has replayed all records that the present leader reports as committed.

        The caller limits the wait.
        """
        while not (self._quorum.in_touch and self._next_offset >= self._quorum.high_watermark):
            with trio.move_on_after(self._quorum.timing.retry_backoff_s):
                await self._advanced.wait()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Replay the newest snapshot, then committed records, forever. ``task_status`` is started once the snapshot is
        loaded.

        Raises StorageError, OSError.
        """
        if self._quorum.log.snapshot is not None:
            await self._load_snapshot()
        task_status.started()
        while True:
            await self._quorum.committed(self._next_offset)
            await trio.lowlevel.checkpoint()  # tasks that waited for the commit send their responses first
            if self._next_offset < self._quorum.start_offset:
                await self._load_snapshot()
            else:
                await self._load_batches()
            self._advanced.set()
            self._advanced = trio.Event()

    async def _load_snapshot(self) -> None:
        """Replay the newest snapshot; no effect if a newer one replaces it before it can be opened."""
        before = self.image
        snapshot = self._quorum.log.snapshot
        assert snapshot is not None, "a log that begins later begins with a snapshot"
        try:
            image, changes = await self._world.in_thread(self._loaded, snapshot, before)
        except FileNotFoundError:
            if self._quorum.log.snapshot == snapshot:
                raise
            return
        self._loader = Loader(image)
        self._next_offset = snapshot.end_offset
        self._bytes_since_snapshot = 0
        self.snapshots_loaded += 1
        logger.info("loaded snapshot %s", snapshot)
        self._publish(image, changes)

    def _loaded(self, snapshot: SnapshotId, before: Image) -> tuple[Image, Changes]:
        """The image in a snapshot, and its differences to another. Runs on a worker thread."""
        image = self._quorum.log.load_snapshot(snapshot)
        return image, difference(before, image)

    async def _load_batches(self) -> None:
        high_watermark = self._quorum.high_watermark
        slices = Slices(_SLICE_RECORDS)
        batches = await in_slices(self._quorum.log.batches(self._next_offset, high_watermark), slices)
        if not batches:
            await self._quorum.committed(high_watermark)  # the high watermark is inside a batch
        for batch in batches:
            try:
                load = self._loader.load_in_steps(batch.records, batch.last_offset, batch.epoch, batch.timestamp_ms)
                published = await in_slices(load, slices)
            except MetadataError as error:
                raise self._quorum.log.damaged(batch.base_offset, error) from error
            self._next_offset = batch.next_offset
            self._bytes_since_snapshot += batch.size
            if published is not None:
                self._publish(*published)
            await slices.spend(_BATCH_IN_RECORDS)
        if self._bytes_since_snapshot >= self._policy.max_bytes and not self._loader.in_transaction:
            self._snapshot_due.set()
        await trio.lowlevel.checkpoint()

    def _publish(self, image: Image, changes: Changes) -> None:
        if image.features is not self._features:
            self._features, self.features_epoch = image.features, image.offset
        for subscription in self._subscriptions:
            subscription.publish(image, changes)

    # Snapshots (KIP-630).

    async def write_snapshots(self) -> None:
        """Write a snapshot whenever one is due, and delete snapshots and segments beyond retention, forever.

        Error handling: a snapshot that cannot be written (a full disk) is logged and written when the next one is due.
        No record is lost: the log still has them all.
        """
        interval_s = self._policy.max_interval_ms / 1000 or float("inf")
        while True:
            with trio.move_on_after(interval_s):
                await self._snapshot_due.wait()
            self._snapshot_due = trio.Event()
            newest = self._quorum.log.snapshot
            if self.image.offset >= 0 and (newest is None or self.image.offset >= newest.end_offset):
                await self._write_snapshot()
            while (beyond := self._beyond_retention()) is not None:
                await self._quorum.trim(beyond)

    def _beyond_retention(self) -> SnapshotId | None:
        return self._quorum.log.retention_candidate(self._world.clock.now_ms(), self._quorum.high_watermark)

    async def _write_snapshot(self) -> None:
        self._bytes_since_snapshot = 0
        try:
            snapshot = await self._world.in_thread(self._quorum.log.write_snapshot, self.image, self._world.let_go)
        except OSError as error:
            logger.warning("cannot write a snapshot, trying again when the next one is due: %s", error)
            return
        logger.info("wrote snapshot %s", snapshot)
        await self._quorum.snapshot_created(snapshot)
