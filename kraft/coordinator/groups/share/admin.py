"""The requests of an administrator for share groups: DeleteGroups, AlterShareGroupOffsets, DeleteShareGroupOffsets.

The group must be empty. The coordinator first notes what it is about to change, then asks the share coordinator, which
has the offsets, and replies once that has answered. A repeated request continues one whose coordinator failed. Sources:
``GroupMetadataManager.shareGroupBuildPartitionDeleteRequest``, ``alterShareGroupOffsets`` and
``sharePartitionsEligibleForOffsetDeletion``.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import attrs

from kraft.coordinator.core import CoordinatorRequest, Token
from kraft.coordinator.groups.rebalance import Step
from kraft.coordinator.groups.share.decision import ShareDecision
from kraft.coordinator.groups.share.effects import DeleteStates, InitializeStates, StatesAnswered
from kraft.coordinator.groups.share.group import ShareGroup, StatePartitions, StateTopic
from kraft.coordinator.groups.share.records import group_tombstones, state_partitions
from kraft.coordinator.groups.share.registry import ShareGroups
from kraft.coordinator.groups.share.states import begin, finish
from kraft.messages.alter_share_group_offsets_request import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestTopic,
)
from kraft.messages.alter_share_group_offsets_response import (
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from kraft.messages.delete_groups_response import DeletableGroupResult, DeleteGroupsResponse
from kraft.messages.delete_share_group_offsets_request import DeleteShareGroupOffsetsRequest
from kraft.messages.delete_share_group_offsets_response import (
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from kraft.metadata.image import Image, Topic
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError, shortened

Errors = Mapping[tuple[UUID, int], ErrorCode]


def _check_empty(group: ShareGroup) -> None:
    if group.members:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)


def _check_not_under_way(
    step: Step, shares: ShareGroups, group: ShareGroup, kind: type[InitializeStates | DeleteStates], topic_id: UUID
) -> None:
    """Raises KafkaError COORDINATOR_NOT_AVAILABLE if the share coordinator may get both requests, in any order."""
    noted = topic_id in (group.states.initializing if kind is InitializeStates else group.states.deleting)
    if shares.is_under_way(step, group.group_id, kind, topic_id, noted=noted):
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)


# DeleteGroups.


def delete_group(step: Step, shares: ShareGroups, group_id: str, token: Token) -> Steps[None]:
    """Delete a group: first the states of its partitions, then the group.

    Raises KafkaError NON_EMPTY_GROUP, or COORDINATOR_NOT_AVAILABLE if too few replicas are in sync, or if the share
    coordinator may still initialize a state. That one would outlive the group, and fence the states of a new group,
    whose epochs are lower.
    """
    group, image = shares.groups[group_id], shares.image()
    _check_empty(group)
    if shares.is_under_way(step, group_id, InitializeStates, noted=bool(group.states.initializing)):
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    found = {
        topic_id: frozenset(range(len(image.topics[topic_id].partitions)))
        for topic_id in (*group.states.initialized, *group.states.initializing, *group.states.deleting)
        if topic_id in image.topics
    }
    if not found:
        yield from _append_tombstones(step, shares, group_id, token)
        return
    decision = ShareDecision(step, group_id, group)
    names = {topic_id: image.topics[topic_id].name for topic_id in found}
    yield from decision.add(state_partitions(group_id, StatePartitions(deleting=names)))
    shares.decided(decision)
    shares.ask(decision, DeleteStates(group_id, found, token))


def _append_tombstones(step: Step, shares: ShareGroups, group_id: str, token: Token) -> Steps[None]:
    decision = ShareDecision(step, group_id, shares.groups[group_id])
    yield from decision.add(*group_tombstones(group_id))
    shares.decided(decision)
    step.reply_once_committed(token, _deleted(group_id, ErrorCode.NONE))


def _deleted(group_id: str, code: ErrorCode) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(results=[DeletableGroupResult(group_id, code)])


# AlterShareGroupOffsets.


def alter_offsets(step: Step, shares: ShareGroups, request: CoordinatorRequest) -> Steps[None]:
    """Initialize the states of partitions again, at other offsets. The group is created if it does not exist.

    Raises KafkaError NON_EMPTY_GROUP, or COORDINATOR_NOT_AVAILABLE if too few replicas are in sync, or if the share
    coordinator may still delete the states of a topic.
    """
    message: AlterShareGroupOffsetsRequest = request.message
    group = shares.groups.get(message.group_id) or ShareGroup(message.group_id)
    _check_empty(group)
    response = AlterShareGroupOffsetsResponse()
    offsets: dict[UUID, dict[int, int]] = {}
    topics: dict[UUID, StateTopic] = {}
    for wanted in message.topics:
        topic = shares.image().topic(wanted.topic_name)
        answer, known = _alterable(wanted, topic)
        response.responses.append(answer)
        if topic is not None and known:
            _check_not_under_way(step, shares, group, DeleteStates, topic.id)
            asked = offsets.setdefault(topic.id, {})
            asked.update(known)
            topics[topic.id] = StateTopic(topic.name, frozenset(asked))
        yield 1 + len(wanted.partitions)
    if not offsets:
        step.reply(request.token, response)
        return
    decision = ShareDecision(step, message.group_id, group)
    yield from begin(decision, shares, topics)
    shares.decided(decision)
    shares.ask(decision, InitializeStates(message.group_id, group.epoch, offsets, request.token, response))


def _alterable(
    wanted: AlterShareGroupOffsetsRequestTopic, topic: Topic | None
) -> tuple[AlterShareGroupOffsetsResponseTopic, dict[int, int]]:
    """Return the response of a topic if all goes well, and the offsets of the partitions that exist."""
    answer = AlterShareGroupOffsetsResponseTopic(topic_name=wanted.topic_name)
    known = {}
    if topic is not None:
        answer.topic_id = topic.id
    for each in wanted.partitions:
        result = AlterShareGroupOffsetsResponsePartition(each.partition_index)
        answer.partitions.append(result)
        if topic is None or each.partition_index not in topic.partitions:
            result.error_code, result.error_message = _UNKNOWN
        else:
            known[each.partition_index] = each.start_offset
    return answer, known


_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."


# DeleteShareGroupOffsets.


def delete_offsets(step: Step, shares: ShareGroups, request: CoordinatorRequest) -> Steps[None]:
    """Delete the states of topics. Their next reader begins where ``share.auto.offset.reset`` says.

    Raises KafkaError GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, or COORDINATOR_NOT_AVAILABLE if too few replicas are in sync,
    or if the share coordinator may still initialize a state of a topic.
    """
    message: DeleteShareGroupOffsetsRequest = request.message
    group, image = shares.groups.get(message.group_id), shares.image()
    if group is None:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, shortened(f"Group {message.group_id} not found."))
    _check_empty(group)
    response = DeleteShareGroupOffsetsResponse()
    initialized, deleting = dict(group.states.initialized), dict(group.states.deleting)
    found: dict[UUID, frozenset[int]] = {}
    for name in dict.fromkeys(topic.topic_name for topic in message.topics):
        topic = image.topic(name)
        yield 1
        if topic is not None:
            _check_not_under_way(step, shares, group, InitializeStates, topic.id)
        if topic is not None and topic.id in initialized:
            found[topic.id] = initialized.pop(topic.id).partitions
            deleting[topic.id] = name
        elif topic is not None and topic.id in deleting:
            found[topic.id] = frozenset(range(len(topic.partitions)))
        else:
            answer = DeleteShareGroupOffsetsResponseTopic(topic_name=name)
            answer.error_code, answer.error_message = _UNKNOWN
            if topic is not None:
                answer.error_message = "There is no offset information to delete."
            response.responses.append(answer)
    if not found:
        step.reply(request.token, response)
        return
    decision = ShareDecision(step, message.group_id, group)
    states = attrs.evolve(group.states, initialized=initialized, deleting=deleting)
    yield from decision.add(state_partitions(message.group_id, states))
    shares.decided(decision)
    shares.ask(decision, DeleteStates(message.group_id, found, request.token, response))


# The answers of the share coordinator.


def states_answered(step: Step, shares: ShareGroups, event: StatesAnswered) -> Steps[None]:
    """Note what the share coordinator has done, and reply to the client that waits for it."""
    request = event.request
    shares.asked.discard(request)
    if request.token is not None:
        shares.waiting.remove(request.token)
    try:
        if isinstance(request, InitializeStates):
            yield from _initialized(step, shares, request, event.errors)
        elif request.response is None:
            yield from _states_of_group_deleted(step, shares, request, event.errors)
        else:
            yield from _states_deleted(step, shares, request, event.errors)
    except KafkaError as refused:
        # The records stay as they are. The next request of the client, or of a member, tries again.
        if request.token is not None:
            step.reply(request.token, refused)


def _initialized(step: Step, shares: ShareGroups, request: InitializeStates, errors: Errors) -> Steps[None]:
    group = shares.groups.get(request.group_id)
    if group is not None and not (errors and request.token is not None):
        decision = ShareDecision(step, request.group_id, group)
        yield from finish(decision, request.start_offsets, shares.image(), failed=bool(errors))
        shares.decided(decision)
    if request.token is None:
        return
    response: AlterShareGroupOffsetsResponse = request.response
    for topic in response.responses:
        for each in topic.partitions:
            code = errors.get((topic.topic_id, each.partition_index))
            if code is not None and not each.error_code:
                each.error_code = code
        yield 1 + len(topic.partitions)
    step.reply_once_committed(request.token, response)


def _states_of_group_deleted(step: Step, shares: ShareGroups, request: DeleteStates, errors: Errors) -> Steps[None]:
    group = shares.groups.get(request.group_id)
    if errors:
        step.reply(request.token, _deleted(request.group_id, next(iter(errors.values()))))
    elif group is None:
        step.reply(request.token, _deleted(request.group_id, ErrorCode.GROUP_ID_NOT_FOUND))
    elif group.members:
        step.reply(request.token, _deleted(request.group_id, ErrorCode.NON_EMPTY_GROUP))
    elif group.states.initialized or group.states.initializing:
        # Members came and went meanwhile.
        yield from delete_group(step, shares, request.group_id, request.token)
    else:
        yield from _append_tombstones(step, shares, request.group_id, request.token)


def _states_deleted(step: Step, shares: ShareGroups, request: DeleteStates, errors: Errors) -> Steps[None]:
    group = shares.groups.get(request.group_id)
    response: DeleteShareGroupOffsetsResponse = request.response
    failed = {topic_id: code for (topic_id, _), code in errors.items()}
    for topic_id in request.partitions:
        name = _topic_name(shares.image(), group, topic_id)
        code = failed.get(topic_id, ErrorCode.NONE)
        response.responses.append(DeleteShareGroupOffsetsResponseTopic(name, topic_id, code))
    if group is not None:
        done = request.partitions.keys() - failed.keys()
        deleting = {topic_id: name for topic_id, name in group.states.deleting.items() if topic_id not in done}
        decision = ShareDecision(step, request.group_id, group)
        yield from decision.add(state_partitions(request.group_id, attrs.evolve(group.states, deleting=deleting)))
        shares.decided(decision)
    step.reply_once_committed(request.token, response)


def _topic_name(image: Image, group: ShareGroup | None, topic_id: UUID) -> str:
    topic = image.topics.get(topic_id)
    if topic is not None:
        return topic.name
    return "" if group is None else group.states.deleting.get(topic_id, "")
