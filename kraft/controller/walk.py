"""An iteration over many partitions, some at a time.

A decision about all partitions of a broker could keep the leader silent for longer than the fetch timeout of its
followers (controller.quorum.fetch.timeout.ms). They would elect another leader, which would have to begin again.
"""

from __future__ import annotations

from itertools import islice

from kraft.metadata.image import Image, Topic
from kraft.metadata.partitions import Partition

Found = tuple[Topic, int, Partition]


class Walk:
    """The partitions that are under a key of the index now. Partitions that come under it later are not visited."""

    def __init__(self, image: Image, key: int) -> None:
        self._found = image.partitions_of(key)
        self.finished = False

    def some(self, image: Image, count: int) -> list[Found]:
        """Visit ``count`` more; return those that still exist, in their state in ``image``."""
        passed = list(islice(self._found, count))
        self.finished = len(passed) < count
        found = []
        for topic, index, _ in passed:
            present = image.topics.get(topic.id)
            partition = None if present is None else present.partitions.get(index)
            if present is not None and partition is not None:
                found.append((present, index, partition))
        return found
