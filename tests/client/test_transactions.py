"""kraft.client.transactions on a node of its own."""

from __future__ import annotations

from kraft.testing.embedded import embedded_node
from tests.client import transactions


async def test_only_what_is_committed_is_read() -> None:
    async with embedded_node(settings=transactions.SINGLE) as node:
        await transactions.read_only_what_is_committed(node.bootstrap_servers)


async def test_a_transaction_without_a_part_is_not_committed() -> None:
    async with embedded_node(settings=transactions.SINGLE) as node:
        await transactions.commit_only_what_was_sent(node.bootstrap_servers)


async def test_the_next_producer_fences_the_last_and_aborts_its_transaction() -> None:
    async with embedded_node(settings=transactions.SINGLE) as node:
        await transactions.fence_the_last_producer(node.bootstrap_servers)
