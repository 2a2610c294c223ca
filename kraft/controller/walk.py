"""A way through many partitions, some at a time.

A decision about all partitions of a broker would keep the leader of the quorum silent for longer than its followers
wait (controller.quorum.fetch.timeout.ms): they would elect another, which would cut it off, and begin again.
"""

from __future__ import annotations

from itertools import islice

from kraft.metadata.image import Image, Topic
from kraft.metadata.partitions import Partition

Found = tuple[Topic, int, Partition]


class Walk:
    """The partitions under a key of the index, as it is now. What comes under it later is not met."""

    def __init__(self, image: Image, key: int) -> None:
        self._found = image.partitions_of(key)
        self.finished = False

    def some(self, image: Image, count: int) -> list[Found]:
        """Go past ``count`` more; return those that there still are, as they are in ``image``."""
        passed = list(islice(self._found, count))
        self.finished = len(passed) < count
        found = []
        for topic, index, _ in passed:
            present = image.topics.get(topic.id)
            partition = None if present is None else present.partitions.get(index)
            if present is not None and partition is not None:
                found.append((present, index, partition))
        return found
