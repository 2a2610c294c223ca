"""Many steps as one change: what comes out is what lies between the images before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kraft.metadata.changes import Accumulated, difference
from kraft.metadata.loader import Loader
from tests.metadata.records import histories


@given(histories(), st.data())
def test_steps_add_up_to_the_difference_of_the_images(history: Sequence[Any], data: st.DataObject) -> None:
    """What changed and was changed back may be in it too; what came and went is not.

    A topic id that is used again, as no controller does, is both deleted and created.
    """
    seen = data.draw(st.integers(0, len(history)), "records before")
    loader = Loader()
    loader.load(history[:seen], seen - 1, 1, 0)
    before, steps = loader.image, Accumulated()
    for number in range(seen, len(history)):
        published = loader.load([history[number]], number, 1, 0)
        assert published is not None
        steps.add(published[1])
    total, least = steps.total(), difference(before, loader.image)
    again = total.topics_created & total.topics_deleted.keys()
    assert total.topics_created - again == least.topics_created
    assert total.topics_deleted.keys() - again == least.topics_deleted.keys()
    assert total.configs >= least.configs
    assert total.brokers >= least.brokers
    assert set(total.partitions) <= set(loader.image.topics)
    assert all(total.partitions[key] >= indexes for key, indexes in least.partitions.items() if indexes)
