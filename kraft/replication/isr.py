"""Propose ISR changes to the controller (AlterPartition, KIP-497).

One request at a time carries the proposals of all partitions that this broker leads.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from uuid import UUID

import attrs
import trio

from kraft.broker.leadership import LagChecked, Proposal, ProposalRefused, Settled
from kraft.control.controller_channel import ControllerChannel
from kraft.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from kraft.messages.alter_partition_response import AlterPartitionResponse
from kraft.metrics import Registry
from kraft.replication.metrics import GROUP
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.clock import Clock

logger = logging.getLogger("kraft.replicas")

VERSION = 3
_RETRY_S = 0.2
_CHECKED_AT_ONCE = 100


@attrs.frozen(eq=False)
class InSyncReplicas:
    """The ISRs of the partitions that this broker leads."""

    replicas: Replicas
    clock: Clock
    channel: ControllerChannel
    registry: Registry

    async def run(self) -> None:
        """Send proposals and check for lagging followers, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._check_lag, name="replica lag")
            while True:
                proposals = await self.replicas.proposals()
                if not await self._settle(proposals):
                    await trio.sleep(_RETRY_S)

    async def _check_lag(self) -> None:
        while True:
            await trio.sleep(self.replicas.lag_max_s / 2)
            for number, partition in enumerate(list(self.replicas.all())):
                partition.step(self.clock.now_s(), LagChecked())
                if number % _CHECKED_AT_ONCE == 0:
                    await trio.lowlevel.checkpoint()

    async def _settle(self, proposals: Mapping[HostedPartition, Proposal]) -> bool:
        """Send the proposals and pass the results to the leaderships. Returns False if a proposal got no result."""
        try:
            response = await self.channel.request(self._request(proposals), VERSION)
            if response.error_code:
                raise KafkaError(ErrorCode(response.error_code))
        except KafkaError as refused:
            logger.warning("cannot change the ISR of %d partitions, trying again: %s", len(proposals), refused)
            for partition, proposal in proposals.items():
                event = ProposalRefused(proposal, refused.code)
                self._count(partition, event)
                partition.step(self.clock.now_s(), event)
            return False
        answers = _answers(proposals, response)
        for partition, proposal in proposals.items():
            # The controller may have applied a proposal without a result in the response.
            answer = answers.get(partition, ProposalRefused(proposal, ErrorCode.UNKNOWN_SERVER_ERROR))
            logger.info("%s: %s", partition.name, _described(answer))
            self._count(partition, answer)
            partition.step(self.clock.now_s(), answer)
        return len(answers) == len(proposals)

    def _count(self, partition: HostedPartition, event: Settled | ProposalRefused) -> None:
        name = "FailedIsrUpdatesPerSec"
        if isinstance(event, Settled):
            before = 0 if partition.leadership is None else len(partition.leadership.isr)
            name = "IsrShrinksPerSec" if len(event.isr) < before else "IsrExpandsPerSec"
        self.registry.meter(*GROUP, name).count += 1

    def _request(self, proposals: Mapping[HostedPartition, Proposal]) -> AlterPartitionRequest:
        topics: dict[UUID, TopicData] = {}
        for partition, proposal in proposals.items():
            members = [BrokerState(member, self._epoch(member, epoch)) for member, epoch in proposal.isr]
            data = PartitionData(
                partition_index=partition.index,
                leader_epoch=proposal.leader_epoch,
                new_isr_with_epochs=members,
                partition_epoch=proposal.partition_epoch,
            )
            topics.setdefault(partition.topic_id, TopicData(topic_id=partition.topic_id)).partitions.append(data)
        return AlterPartitionRequest(self.replicas.node_id, self.replicas.broker_epoch, list(topics.values()))

    def _epoch(self, member: int, epoch: int) -> int:
        return self.replicas.broker_epoch if member == self.replicas.node_id else epoch


def _answers(
    proposals: Mapping[HostedPartition, Proposal], response: AlterPartitionResponse
) -> dict[HostedPartition, Settled | ProposalRefused]:
    by_name = {(partition.topic_id, partition.index): partition for partition in proposals}
    answers: dict[HostedPartition, Settled | ProposalRefused] = {}
    for topic in response.topics:
        for data in topic.partitions:
            partition = by_name.get((topic.topic_id, data.partition_index))
            if partition is None:
                continue
            proposal = proposals[partition]
            if data.error_code:
                answers[partition] = ProposalRefused(proposal, ErrorCode(data.error_code))
            else:
                answers[partition] = Settled(proposal, tuple(data.isr), data.partition_epoch)
    return answers


def _described(event: Settled | ProposalRefused) -> str:
    if isinstance(event, Settled):
        return f"ISR is {', '.join(map(str, event.isr))}"
    members = ", ".join(str(member) for member, epoch in event.proposal.isr)
    return f"the controller rejected ISR {members}: {event.code.name}"
