"""BrokerRegistration and UnregisterBroker (KIP-631)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraft.messages.broker_registration_request import Feature, Listener
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.register_broker_record import RegisterBrokerRecord
from kraft.messages.unregister_broker_request import UnregisterBrokerRequest
from kraft.metadata.partitions import NO_LEADER
from kraft.wire.errors import ErrorCode
from tests.controller.toy import ToyCluster

SESSION_S = 9.0


def feature(name: str, lowest: int, highest: int) -> Feature:
    return Feature(name=name, min_supported_version=lowest, max_supported_version=highest)


#: The features that Apache Kafka's brokers support.
APACHE_39 = [feature("metadata.version", 1, 21), feature("kraft.version", 0, 1), feature("group.version", 0, 1)]
APACHE_43 = [
    feature("metadata.version", 7, 30),
    feature("kraft.version", 0, 1),
    feature("transaction.version", 0, 2),
    feature("group.version", 0, 1),
    feature("eligible.leader.replicas.version", 0, 1),
    feature("share.version", 0, 1),
    feature("streams.version", 0, 1),
]


def cluster(*broker_ids: int) -> ToyCluster:
    toy = ToyCluster()
    toy.start(*broker_ids)
    return toy


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"cluster_id": "other"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"log_dirs": []}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [UUID(int=500), UUID(int=500)]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [UUID(int=99)]}, ErrorCode.INVALID_REGISTRATION),
        ({"log_dirs": [UUID(int=10_001)]}, ErrorCode.INVALID_REGISTRATION),  # broker 1 has it
        ({"features": []}, ErrorCode.INVALID_REGISTRATION),
        (
            {"listeners": [Listener("PLAINTEXT", "127.0.0.1", 9092, security_protocol=4)]},
            ErrorCode.INVALID_REGISTRATION,
        ),
        (
            {"features": [Feature(name="metadata.version", min_supported_version=22, max_supported_version=25)]},
            ErrorCode.UNSUPPORTED_VERSION,
        ),
        ({"is_migrating_zk_broker": True}, ErrorCode.BROKER_ID_NOT_REGISTERED),
        ({}, ErrorCode.NONE),
    ],
)
def test_an_invalid_registration_is_refused(fields: dict[str, Any], code: ErrorCode) -> None:
    assert cluster(1).register(2, **fields).error_code == code


def test_the_broker_epoch_is_the_offset_of_the_registration() -> None:
    toy = cluster(1)
    toy.create()
    response = toy.register(1, incarnation=1, local=True)
    record = toy.log[response.broker_epoch]
    assert isinstance(record, RegisterBrokerRecord)
    assert record.broker_epoch == response.broker_epoch


def test_a_second_incarnation_must_wait_for_the_session_of_the_first() -> None:
    """KIP-631: a broker with an id that another live process has gets DUPLICATE_BROKER_REGISTRATION."""
    toy = cluster(1)
    assert toy.register(1, incarnation=1).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    toy.pass_time(SESSION_S)
    assert toy.register(1, incarnation=1).error_code == ErrorCode.NONE


def test_the_broker_of_the_controllers_process_does_not_wait() -> None:
    """It holds the locks on its directories, so its former incarnation is gone."""
    toy = cluster(1)
    assert toy.register(1, incarnation=1, local=True).error_code == ErrorCode.NONE


def test_a_broker_in_controlled_shutdown_may_come_back_at_once() -> None:
    toy = cluster(1, 2)
    toy.create(assignment={0: [1, 2]})
    toy.heartbeat(1, stop=True)
    assert toy.register(1, incarnation=1).error_code == ErrorCode.NONE


def test_the_same_incarnation_may_register_again_and_stays_as_it_was() -> None:
    toy = cluster(1)
    first = toy.image.brokers[1].epoch
    response = toy.register(1)
    assert response.error_code == ErrorCode.NONE
    assert response.broker_epoch == first
    assert not toy.image.brokers[1].fenced


def test_a_new_incarnation_leads_nothing_until_it_is_unfenced() -> None:
    toy = cluster(1)
    toy.create()
    toy.register(1, incarnation=1, local=True)
    partition = toy.partition()
    assert (partition.leader, partition.isr, partition.leader_epoch) == (NO_LEADER, (1,), 1)
    toy.heartbeat(1)
    assert (toy.partition().leader, toy.partition().leader_epoch) == (1, 2)


def test_unregistering() -> None:
    toy = cluster(1, 2)
    toy.create(assignment={0: [1, 2]})
    assert toy.ask(UnregisterBrokerRequest(broker_id=1)).error_code == ErrorCode.NONE
    assert 1 not in toy.image.brokers
    assert (toy.partition().leader, toy.partition().isr, toy.partition().replicas) == (2, (2,), (1, 2))
    assert toy.ask(UnregisterBrokerRequest(broker_id=1)).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert toy.core.deadline == SESSION_S  # of broker 2


@pytest.mark.parametrize("features", [APACHE_39, APACHE_43], ids=["3.9", "4.3"])
def test_brokers_of_apache_kafka_are_welcome(features: list[Feature]) -> None:
    """KIP-584: a broker may support more than the finalized level."""
    toy = cluster(1)
    assert toy.register(2, features=features).error_code == ErrorCode.NONE
    assert toy.image.brokers[2].features == {
        f.name: (f.min_supported_version, f.max_supported_version) for f in features
    }


def test_a_feature_that_is_not_finalized_is_at_level_0() -> None:
    demanding = [feature("metadata.version", 7, 21), feature("transaction.version", 1, 2)]
    toy = cluster(1)
    assert toy.register(2, features=demanding).error_code == ErrorCode.UNSUPPORTED_VERSION
    log = [*toy.log, FeatureLevelRecord(name="transaction.version", feature_level=2)]
    successor = ToyCluster(log=log)
    assert successor.register(2, features=demanding).error_code == ErrorCode.NONE
    assert successor.register(3).error_code == ErrorCode.UNSUPPORTED_VERSION  # which knows no such feature


@pytest.mark.parametrize("level", [7, 16])
def test_before_directories_were_in_the_requests(level: int) -> None:
    """KIP-858 comes with metadata.version 17: nothing about directories is looked at or noted before."""
    toy = ToyCluster(level=level)
    assert toy.register(1, log_dirs=[UUID(int=5), UUID(int=5)]).error_code == ErrorCode.NONE
    assert toy.image.brokers[1].log_dirs == ()


def test_a_broker_assigns_its_directories_later() -> None:
    """As Apache Kafka's brokers do when the cluster comes to metadata.version 17: the incarnation stays the same."""
    toy = ToyCluster(level=16)
    toy.start(1)
    toy.create()
    epoch = toy.image.brokers[1].epoch
    successor = ToyCluster(log=[*toy.log, FeatureLevelRecord(name="metadata.version", feature_level=17)])
    assert successor.register(1).broker_epoch == epoch
    broker = successor.image.brokers[1]
    assert (broker.epoch, broker.fenced, broker.log_dirs) == (epoch, False, (UUID(int=10_001),))
    assert successor.partition().leader == 1
