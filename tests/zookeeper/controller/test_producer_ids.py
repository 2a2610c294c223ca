"""kraft.zookeeper.controller.producer_ids."""

from __future__ import annotations

import pytest

from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller.effects import ApiRequest, OperationsPerformed
from kraft.zookeeper.znodes.cluster import (
    PRODUCER_ID_BLOCK,
    ZkProducerIdBlock,
    decode_producer_id_block,
    encode_producer_id_block,
)
from tests.support.legacy_cluster import LegacyClusterModel


def ask(cluster: LegacyClusterModel, broker_id: int, epoch: int | None = None) -> tuple[int, int, int]:
    epoch = cluster.epoch(broker_id) if epoch is None else epoch
    response = cluster.request(AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch), 0)
    return response.error_code, response.producer_id_start, response.producer_id_len


def test_each_block_follows_the_last_one() -> None:
    """ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE = 1000; the znode has the last block."""
    cluster = LegacyClusterModel(2)
    cluster.start(1, 2)
    assert [ask(cluster, 1), ask(cluster, 2)] == [(0, 0, 1000), (0, 1000, 1000)]
    block = decode_producer_id_block(cluster.tree.data(PRODUCER_ID_BLOCK))
    assert block == ZkProducerIdBlock(2, 1000, 1999)
    cluster.stop(1)
    assert ask(cluster, 2) == (0, 2000, 1000)


def test_two_controllers_never_allocate_the_same_block() -> None:
    """ZkProducerIdManager.getNewProducerIdBlock: the write is conditional on the version that was read."""
    cluster = LegacyClusterModel(1)
    cluster.start(1)
    broker = cluster.controller
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=cluster.epoch(1))
    read = broker.core.step(0, ApiRequest("token", request, 0)).operations
    results = tuple(cluster.tree.perform(broker.session, each) for each in read)
    cluster.tree.put(PRODUCER_ID_BLOCK, encode_producer_id_block(ZkProducerIdBlock(2, 0, 999)))
    cluster.perform(broker, broker.core.step(0, OperationsPerformed(results)))
    assert cluster.responses["token"].producer_id_start == 1000


def test_brokers_without_the_present_registration_are_refused() -> None:
    cluster = LegacyClusterModel(1)
    cluster.start(1)
    assert ask(cluster, 1, 0)[0] == ErrorCode.STALE_BROKER_EPOCH
    assert ask(cluster, 5, 0)[0] == ErrorCode.BROKER_ID_NOT_REGISTERED


@pytest.mark.parametrize(
    "data",
    [b"{", b'{"version":1,"broker":1,"block_start":"9223372036854774000","block_end":"9223372036854775807"}'],
)
def test_ids_never_repeat_or_overflow(data: bytes) -> None:
    cluster = LegacyClusterModel(1)
    cluster.start(1)
    cluster.tree.put(PRODUCER_ID_BLOCK, data)
    assert ask(cluster, 1)[0] == ErrorCode.UNKNOWN_SERVER_ERROR
    assert cluster.tree.data(PRODUCER_ID_BLOCK) == data
    assert cluster.notes
