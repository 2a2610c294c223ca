"""The topic creator compares the acknowledgements with a broker's metadata, so that it detects a loss of any kind."""

from __future__ import annotations

from kraft.testing import EmbeddedCluster
from tests.support.topic_creator import Known, TopicCreator, assert_topics_are_there, differences


def test_every_kind_of_loss_shows() -> None:
    with EmbeddedCluster() as cluster:
        broker = cluster.bootstrap_servers
        with TopicCreator([broker]) as creator:
            creator.wait_for_more(8, 30)
        assert_topics_are_there(creator, [broker])
        assert not creator.failures
        assert creator.known["made-1"] == Known(partitions=3)
        assert creator.known["made-2"] == Known(setting="3600002")
        assert creator.known["made-3"] == Known(exists=False)
        creator.known |= {
            "made-0": Known(exists=False),
            "made-1": Known(partitions=4),
            "made-2": Known(setting="1"),
            "made-3": Known(exists=None, partitions=None),
            "made-4": Known(partitions=None),
            "never": Known(),
        }
        assert [line.split(":")[0] for line in differences(creator, broker)] == ["made-0", "made-1", "made-2", "never"]
