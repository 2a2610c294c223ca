"""Settings in ZooKeeper, as a broker reads and changes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
import trio
from trio.testing import MockClock

from kraft.wire.errors import ErrorCode, KafkaError
from kraft.zookeeper.config_store import RETRY_PAUSE_S, ConfigStore
from kraft.zookeeper.operations import Multi, Operation
from kraft.zookeeper.znodes.cluster import config_path, encode_config
from kraft.zookeeper.znodes.controllers import CONTROLLER, ControllerZnode, encode_controller
from kraft.zookeeper.znodes.notifications import CONFIG_CHANGES
from tests.support.memory_zookeeper import MemoryZooKeeper

TOPIC = ("topics", "orders")
PATH = config_path(*TOPIC)


async def change(zookeeper: MemoryZooKeeper, name: str = "retention.ms", value: str = "5") -> None:
    await ConfigStore(zookeeper).change(TOPIC, lambda before: {**before, name: value})


async def test_a_change_is_written_and_announced_at_once() -> None:
    """AdminZkClient.changeEntityConfig: the settings as version 1, and a sequential znode of version 2."""
    zookeeper = MemoryZooKeeper()
    await change(zookeeper)
    assert zookeeper.tree.znodes[PATH].data == b'{"version":1,"config":{"retention.ms":"5"}}'
    announced = zookeeper.tree.znodes[f"{CONFIG_CHANGES}/config_change_0000000000"]
    assert announced.data == b'{"version":2,"entity_path":"topics/orders"}'
    await change(zookeeper, "cleanup.policy", "compact")
    assert await ConfigStore(zookeeper).read([TOPIC]) == {TOPIC: {"retention.ms": "5", "cleanup.policy": "compact"}}
    assert f"{CONFIG_CHANGES}/config_change_0000000001" in zookeeper.tree.znodes


async def test_two_changes_at_a_time_are_both_kept(autojump_clock: MockClock) -> None:
    """Each is conditional on the settings that it was decided on."""
    zookeeper = MemoryZooKeeper()
    zookeeper.tree.put(PATH, encode_config({"flush.ms": "1"}))

    def meddle(operations: Sequence[Operation]) -> None:
        if isinstance(operations[0], Multi) and "retention.bytes" not in zookeeper.tree.znodes[PATH].data.decode():
            zookeeper.tree.put(PATH, encode_config({"flush.ms": "1", "retention.bytes": "9"}))

    zookeeper.before = meddle
    await change(zookeeper)
    found = (await ConfigStore(zookeeper).read([TOPIC]))[TOPIC]
    assert found == {"flush.ms": "1", "retention.bytes": "9", "retention.ms": "5"}


async def test_a_change_outlives_a_session_and_waits_for_a_controller(autojump_clock: MockClock) -> None:
    zookeeper = MemoryZooKeeper(fails=2)
    zookeeper.tree.put(CONTROLLER, b"{")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(change, zookeeper)
        await trio.sleep(1)
        assert PATH not in zookeeper.tree.znodes
        zookeeper.tree.put(CONTROLLER, encode_controller(ControllerZnode(2, 0)))
    assert PATH in zookeeper.tree.znodes


async def test_a_kraft_controller_keeps_the_settings_itself() -> None:
    """KIP-866: once a KRaft controller has taken over, no broker writes settings (KafkaZkClient)."""
    zookeeper = MemoryZooKeeper()
    zookeeper.tree.put(CONTROLLER, encode_controller(ControllerZnode(3000, 0, kraft_epoch=1)))
    with pytest.raises(KafkaError) as refused:
        await change(zookeeper)
    assert refused.value.code is ErrorCode.NOT_CONTROLLER
    assert PATH not in zookeeper.tree.znodes


@pytest.mark.parametrize("operation", [1, 2, 3, 4])
async def test_no_change_is_made_after_a_kraft_controller_has_taken_over(
    autojump_clock: MockClock, operation: int
) -> None:
    """The module: "a check that no other controller was elected". The new one is elected before this operation, which
    may be one of the three reads or the transaction."""
    zookeeper, left = MemoryZooKeeper(), iter(range(operation - 1, -10, -1))

    def take_over() -> None:
        if next(left) == 0:
            zookeeper.elect(ControllerZnode(3000, 0, kraft_epoch=1))

    zookeeper.before_each = take_over
    with pytest.raises(KafkaError) as refused:
        await change(zookeeper)
    assert refused.value.code is ErrorCode.NOT_CONTROLLER
    assert PATH not in zookeeper.tree.znodes


async def test_a_validated_change_writes_nothing() -> None:
    zookeeper = MemoryZooKeeper()
    await ConfigStore(zookeeper).change(TOPIC, lambda before: {"retention.ms": "5"}, validate_only=True)
    assert PATH not in zookeeper.tree.znodes


@pytest.mark.parametrize("validate_only", [False, True])
async def test_settings_that_zookeeper_refuses_are_not_sent(validate_only: bool) -> None:
    """A request of more than jute.maxbuffer ends the connection, so it would be repeated until its time is over."""
    zookeeper = MemoryZooKeeper()
    replicas = ",".join(f"{index}:1" for index in range(150_000))
    settings = {"follower.replication.throttled.replicas": replicas}
    with pytest.raises(KafkaError) as refused:
        await ConfigStore(zookeeper).change(TOPIC, lambda before: settings, validate_only=validate_only)
    assert refused.value.code is ErrorCode.POLICY_VIOLATION
    assert not any(isinstance(each, Multi) for each in zookeeper.performed)


async def test_what_a_broker_cannot_use_has_no_effect_on_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    """DynamicBrokerConfig.removeInvalidConfigs and nonDynamicConfigs: each has a line, and none stops the broker."""
    zookeeper, broker = MemoryZooKeeper(), ("brokers", "1")
    settings = {"retention.ms": "soon", "flush.ms": "7", "of.another.version": "x"}
    zookeeper.tree.put(PATH, encode_config(settings))
    zookeeper.tree.put(config_path(*broker), encode_config({"broker.id": "9", "log.retention.ms": "8"}))
    zookeeper.tree.put(config_path("topics", "broken"), b'{"version":1,"config":{"flush.ms":[]}}')
    found = await ConfigStore(zookeeper).read([TOPIC, broker, ("topics", "broken"), ("topics", "none")])
    assert found == {
        TOPIC: {"flush.ms": "7", "of.another.version": "x"},
        broker: {"log.retention.ms": "8"},
        ("topics", "broken"): {},
        ("topics", "none"): {},
    }
    why = "Invalid value soon for configuration retention.ms: Not a number of type LONG"
    assert [record.message for record in caplog.records] == [
        f"a setting in /config/topics/orders is ignored: {why}",
        "a setting in /config/brokers/1 is ignored: Cannot update these configs dynamically: broker.id",
        "a configuration is ignored: malformed data in the znode /config/topics/broken: flush.ms is not a string: []",
    ]


async def test_the_settings_of_many_entities_are_read_some_at_a_time() -> None:
    """A request may name millions of users, and each read is a step of the event loop."""
    zookeeper = MemoryZooKeeper()
    rounds: list[int] = []
    zookeeper.before = lambda operations: rounds.append(len(operations))
    wanted = [("users", str(number)) for number in range(1_001)]
    assert await ConfigStore(zookeeper).read(wanted) == {each: {} for each in wanted}
    assert sum(rounds) == len(wanted)
    assert max(rounds) <= 200


def refuse(zookeeper: MemoryZooKeeper, path: str, times: int) -> None:
    """The next reads of the znode fail."""
    left = iter(range(times))
    zookeeper.tree.refuses = lambda read: read.path == path and next(left, None) is not None


async def test_settings_that_zookeeper_refuses_to_read_are_not_missing(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """KafkaZkClient.getEntityConfigs: "case Code.NONODE => new Properties(); case _ => throw". Without its settings a
    compacted topic would be deleted by retention."""
    zookeeper = MemoryZooKeeper()
    zookeeper.tree.put(PATH, encode_config({"cleanup.policy": "compact"}))
    refuse(zookeeper, PATH, times=3)
    assert await ConfigStore(zookeeper).topics(["orders", "none"]) == {
        "orders": {"cleanup.policy": "compact"},
        "none": {},
    }
    assert trio.current_time() == pytest.approx(3 * RETRY_PAUSE_S)
    assert [each.message for each in caplog.records] == [
        f"ZooKeeper refuses to read {PATH}; the broker reads it again until it can"
    ]
    refuse(zookeeper, "/config/users", times=1)
    zookeeper.tree.create_all(["/config/users/ann"])
    assert await ConfigStore(zookeeper).names(["users"]) == [("ann",)]


@pytest.mark.parametrize("validate_only", [False, True])
async def test_a_change_is_not_decided_on_settings_that_cannot_be_read(
    autojump_clock: MockClock, validate_only: bool
) -> None:
    """``perform_reads``: "the znode may exist". The caller limits the wait, as kraft.api.zookeeper_configs does."""
    zookeeper, before = MemoryZooKeeper(), list[Mapping[str, str]]()
    zookeeper.tree.put(PATH, encode_config({"flush.ms": "1"}))
    refuse(zookeeper, PATH, times=2)

    def decide(settings: Mapping[str, str]) -> Mapping[str, str]:
        before.append(settings)
        return {**settings, "retention.ms": "5"}

    await ConfigStore(zookeeper).change(TOPIC, decide, validate_only=validate_only)
    assert before == [{"flush.ms": "1"}]
    refuse(zookeeper, PATH, times=1_000_000)
    with trio.move_on_after(30) as limit:
        await ConfigStore(zookeeper).change(TOPIC, decide, validate_only=validate_only)
    assert limit.cancelled_caught
    assert len(before) == 1
