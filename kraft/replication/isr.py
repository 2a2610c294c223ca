"""Propose ISR changes to the controller (AlterPartition, KIP-497).

One request at a time carries the proposals of the partitions that this broker leads.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final
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
from kraft.world.slices import Slices

logger = logging.getLogger("kraft.replicas")

VERSION = 3
_RETRY_S = 0.2
_CHECKED_AT_ONCE = 100
_PROPOSED_AT_ONCE: Final = 2_000
"""Not a Kafka setting. The proposals of one request. A controller refuses a request of more than 100,000 elements, and
a proposal for a topic of its own has two elements beside the members of its ISR.
"""
_SLICE_PROPOSALS: Final = 100
"""The proposals that are encoded or settled before other tasks run: some milliseconds of work."""
_LOGGED_SINGLY: Final = 10
"""The partitions of one response that have a line each at INFO. A line takes some 40 µs."""


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
                proposals = await self.replicas.proposals(_PROPOSED_AT_ONCE)
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
        slices = Slices(_SLICE_PROPOSALS)
        try:
            response = await self.channel.request(await self._request(proposals, slices), VERSION)
            if response.error_code:
                raise KafkaError(ErrorCode(response.error_code))
        except KafkaError as refused:
            logger.warning("cannot change the ISR of %d partitions, trying again: %s", len(proposals), refused)
            for partition, proposal in proposals.items():
                event = ProposalRefused(proposal, refused.code)
                self._count(partition, event)
                partition.step(self.clock.now_s(), event)
                await slices.spend()
            return False
        answers = await _answers(proposals, response, slices)
        level, changed = logging.INFO if len(proposals) <= _LOGGED_SINGLY else logging.DEBUG, 0
        for partition, proposal in proposals.items():
            # The controller may have applied a proposal without a result in the response.
            answer = answers.get(partition, ProposalRefused(proposal, ErrorCode.UNKNOWN_SERVER_ERROR))
            if logger.isEnabledFor(level):
                logger.log(level, "%s: %s", partition.name, _described(answer))
            changed += isinstance(answer, Settled)
            self._count(partition, answer)
            partition.step(self.clock.now_s(), answer)
            await slices.spend()
        if level == logging.DEBUG:
            rejected = len(proposals) - changed
            logger.info("the controller decided on the ISR of %d partitions and rejected %d", changed, rejected)
        return len(answers) == len(proposals)

    def _count(self, partition: HostedPartition, event: Settled | ProposalRefused) -> None:
        name = "FailedIsrUpdatesPerSec"
        if isinstance(event, Settled):
            before = 0 if partition.leadership is None else len(partition.leadership.isr)
            name = "IsrShrinksPerSec" if len(event.isr) < before else "IsrExpandsPerSec"
        self.registry.meter(*GROUP, name).count += 1

    async def _request(self, proposals: Mapping[HostedPartition, Proposal], slices: Slices) -> AlterPartitionRequest:
        node_id, broker_epoch = self.replicas.node_id, self.replicas.broker_epoch
        topics: dict[UUID, TopicData] = {}
        for partition, proposal in proposals.items():
            members = [
                BrokerState(member, broker_epoch if member == node_id else epoch) for member, epoch in proposal.isr
            ]
            data = PartitionData(
                partition_index=partition.index,
                leader_epoch=proposal.leader_epoch,
                new_isr_with_epochs=members,
                partition_epoch=proposal.partition_epoch,
            )
            topics.setdefault(partition.topic_id, TopicData(topic_id=partition.topic_id)).partitions.append(data)
            await slices.spend()
        return AlterPartitionRequest(node_id, broker_epoch, list(topics.values()))


async def _answers(
    proposals: Mapping[HostedPartition, Proposal], response: AlterPartitionResponse, slices: Slices
) -> dict[HostedPartition, Settled | ProposalRefused]:
    by_name = {(partition.topic_id, partition.index): partition for partition in proposals}
    answers: dict[HostedPartition, Settled | ProposalRefused] = {}
    for topic in response.topics:
        for data in topic.partitions:
            await slices.spend()
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
