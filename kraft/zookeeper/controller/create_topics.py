"""CreateTopics: the settings and the assignment of each topic are written to ZooKeeper (Kafka's ZkAdminManager).

The watch of /brokers/topics then brings the partitions online, as for a topic that a tool wrote there. The response
comes before that, so the handler of the request waits until the metadata shows the topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import attrs

from kraft.config.describe import ConfigSource
from kraft.controller.context import MAX_RECORDS_PER_USER_OPERATION
from kraft.controller.creatable_topic import (
    DEFAULT,
    check_counts,
    check_name,
    checked_settings,
    effective_settings,
    manual_assignment,
    refused,
)
from kraft.controller.topic_name import Collisions
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kraft.metadata.steps import finished
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.zookeeper.controller.active import MAX_ATTEMPTS, ActiveController, chunks
from kraft.zookeeper.controller.effects import Steps
from kraft.zookeeper.controller.placement import place
from kraft.zookeeper.operations import Create, Failure, Set, Write, Znode
from kraft.zookeeper.znodes.admin import delete_topic_path
from kraft.zookeeper.znodes.cluster import (
    BROKER_ENTITIES,
    DEFAULT_ENTITY,
    config_path,
    decode_config,
    encode_config,
    usable_settings,
)
from kraft.zookeeper.znodes.fields import MAX_ZNODE_BYTES, MalformedZnode
from kraft.zookeeper.znodes.topics import TOPICS, ReplicaAssignment, TopicAssignment, encode_topic, topic_path

TOPICS_AT_ONCE = 50
"""Not a Kafka setting. A topic costs some 0.2 ms, and other tasks run while ZooKeeper performs each part."""
_ANY_BROKER = range(2**31)
"""An assignment may name brokers that are not registered, unlike with a quorum."""


@attrs.define
class _Creation:
    """The context of the decisions on the topics of one request."""

    active: ActiveController
    validates_only: bool
    cluster_wide: dict[str, str]
    existing: frozenset[str]
    collisions: Collisions
    room: int = MAX_RECORDS_PER_USER_OPERATION
    """So many more partitions may be created. Kafka has this limit only with a quorum."""


@attrs.frozen
class _Planned:
    writes: tuple[Write, ...]
    result: CreatableTopicResult


def create_topics(active: ActiveController, request: CreateTopicsRequest, version: int) -> Steps[CreateTopicsResponse]:
    """Write each topic, or refuse it by itself; with ``validate_only`` none is written."""
    times = Counter(topic.name for topic in request.topics)
    cluster_wide, existing = (yield from _cluster_wide(active)), frozenset((yield from active.children(TOPICS)))
    creation = _Creation(active, request.validate_only, cluster_wide, existing, Collisions(existing))
    results: dict[str, CreatableTopicResult] = {}
    for chunk in chunks(request.topics, TOPICS_AT_ONCE):
        wanted: dict[str, CreatableTopic] = {}
        for topic in chunk:
            try:
                if times[topic.name] > 1:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "Found multiple entries for this topic.")
                check_name(topic.name)
                wanted[topic.name] = topic
            except KafkaError as error:
                results[topic.name] = refused(topic.name, error)
        if wanted:
            results |= yield from _decide(creation, wanted)
    return CreateTopicsResponse(topics=[results[name] for name in times])


def creation_error(request: CreateTopicsRequest, version: int, code: ErrorCode) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[CreatableTopicResult(name=each.name, error_code=code) for each in request.topics]
    )


def _decide(creation: _Creation, topics: Mapping[str, CreatableTopic]) -> Steps[dict[str, CreatableTopicResult]]:
    results: dict[str, CreatableTopicResult] = {}
    for _ in range(MAX_ATTEMPTS):
        wanted = {name: topic for name, topic in topics.items() if name not in results}
        results |= yield from _attempt(creation, wanted)
        if len(results) == len(topics):
            return results
        creation.existing = frozenset((yield from creation.active.children(TOPICS)))
        creation.collisions = Collisions(creation.existing)
    failure = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return {name: refused(name, failure) for name in topics} | results


def _attempt(creation: _Creation, wanted: Mapping[str, CreatableTopic]) -> Steps[dict[str, CreatableTopicResult]]:
    """Return the results of the topics that were written or refused. The others changed meanwhile: try them again."""
    active = creation.active
    deletions = yield from active.read(map(delete_topic_path, wanted))
    configs = yield from active.read(config_path("topics", name) for name in wanted)
    decided: dict[str, CreatableTopicResult] = {}
    planned: dict[str, _Planned] = {}
    for topic, deletion, config in zip(wanted.values(), deletions, configs, strict=True):
        try:
            _check_is_new(topic.name, creation.existing, deletion)
            creation.collisions.check(topic.name)
            planned[topic.name] = _plan(creation, topic, config)
            creation.collisions.add(topic.name)
        except KafkaError as error:
            decided[topic.name] = refused(topic.name, error)
    if creation.validates_only:
        return decided | {name: each.result for name, each in planned.items()}
    written = yield from active.write([each.writes for each in planned.values()])
    for (name, each), outcome in zip(planned.items(), written, strict=True):
        if outcome is Failure.REFUSED:
            decided[name] = refused(name, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))
        elif not isinstance(outcome, Failure):
            decided[name] = each.result
    return decided


def _check_is_new(name: str, existing: Iterable[str], deletion: Znode | None) -> None:
    if deletion is not None:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' is marked for deletion.")
    if name in existing:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")


def _plan(creation: _Creation, topic: CreatableTopic, config: Znode | None) -> _Planned:
    """Decide on the topic's znodes. ``config`` is the znode of its settings, which a former topic may have left."""
    active = creation.active
    static = active.config.static_values
    settings = finished(checked_settings(topic, {**static, **creation.cluster_wide}))
    check_counts(topic)
    assignment = _assignment(creation, topic)
    topic_id = active.new_uuid()
    assigned = {index: ReplicaAssignment(replicas) for index, replicas in enumerate(assignment)}
    data, config_data = encode_topic(TopicAssignment(topic_id, assigned)), encode_config(settings)
    if len(data) + len(config_data) > MAX_ZNODE_BYTES:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "The topic is larger than ZooKeeper accepts.")
    creation.room -= len(assignment)
    path = config_path("topics", topic.name)
    result = CreatableTopicResult(
        name=topic.name,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=len(assignment),
        replication_factor=len(assignment[0]),
        configs=effective_settings(
            settings,
            (
                (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, creation.cluster_wide),
                (ConfigSource.STATIC_BROKER_CONFIG, static),
            ),
        ),
    )
    if not creation.validates_only:
        result.topic_id = topic_id
    return _Planned(
        (
            Create(path, config_data) if config is None else Set(path, config_data, config.version),
            Create(topic_path(topic.name), data),
        ),
        result,
    )


def _assignment(creation: _Creation, topic: CreatableTopic) -> Sequence[tuple[int, ...]]:
    """The replicas of partitions 0, 1, 2 and so on."""
    active = creation.active
    count = topic.num_partitions if topic.num_partitions != DEFAULT else active.config.num_partitions
    if (len(topic.assignments) or count) > creation.room:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")
    if topic.assignments:
        return finished(manual_assignment(topic, _ANY_BROKER))
    replication_factor = topic.replication_factor
    if replication_factor == DEFAULT:
        replication_factor = active.config.default_replication_factor
    racks = active.cluster.racks()
    start, shift = active.random.randrange(len(racks) or 1), active.random.randrange(len(racks) or 1)
    return tuple(place(racks, range(count), replication_factor, start, shift).values())


def _cluster_wide(active: ActiveController) -> Steps[dict[str, str]]:
    """The dynamic defaults of all brokers, without those that a broker cannot use."""
    entity = BROKER_ENTITIES, DEFAULT_ENTITY
    path = config_path(*entity)
    (node,) = yield from active.read((path,))
    try:
        used, ignored = usable_settings(entity, {} if node is None else decode_config(path, node.data))
    except MalformedZnode as error:
        active.note(f"{error}; it is ignored")
        return {}
    for line in ignored:
        active.note(line)
    return used
