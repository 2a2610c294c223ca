"""An iteration over many partitions, some at a time.

A decision about all partitions of a broker could keep the leader silent for longer than the fetch timeout of its
followers (controller.quorum.fetch.timeout.ms). They would elect another leader, which would have to begin again.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from uuid import UUID

from kraft.metadata.image import Image, Topic
from kraft.metadata.index import partitions_in
from kraft.metadata.partitions import Partition

Found = tuple[Topic, int, Partition]


class Walk:
    """The partitions that are under a key of the index now. Partitions that come under it later are not visited.

    The topics come in the order of the index. To sort them all first would be one long step.
    """

    def __init__(self, image: Image, key: int) -> None:
        topics: Mapping[UUID, int] = image.index.get(key, {})
        self._found = ((topic_id, index) for topic_id, mask in topics.items() for index in partitions_in(mask))
        self.finished = False

    def some(self, image: Image, count: int) -> list[Found]:
        """Visit ``count`` more; return those that still exist, in their state in ``image``."""
        passed = list(islice(self._found, count))
        self.finished = len(passed) < count
        found = []
        for topic_id, index in passed:
            topic = image.topics.get(topic_id)
            partition = None if topic is None else topic.partitions.get(index)
            if topic is not None and partition is not None:
                found.append((topic, index, partition))
        return found
