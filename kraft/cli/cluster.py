"""``kraft cluster``: print a cluster's id and endpoints, and unregister brokers, as kafka-cluster does."""

from __future__ import annotations

import click

from kraft.cli.options import Servers, run, servers_options
from kraft.client.cluster import Cluster, check
from kraft.config.listeners import MAX_NODE_ID
from kraft.messages.describe_cluster_response import DescribeClusterResponse
from kraft.messages.unregister_broker_request import UnregisterBrokerRequest

_RACK_WIDTH = 10


@click.group("cluster", short_help="Show a cluster's id and endpoints; unregister brokers.")
def command() -> None:
    """Show a cluster's id and endpoints; unregister brokers."""


@command.command("cluster-id")
@servers_options
def cluster_id_command(servers: Servers) -> None:
    """Print the id of the cluster."""
    described = run(servers.bootstrap, lambda cluster: cluster.describe(controllers=servers.are_controllers))
    click.echo(f"Cluster ID: {described.cluster_id}")


@command.command("list-endpoints")
@servers_options
@click.option("--include-fenced-brokers", is_flag=True, help="Also list fenced brokers.")
def list_endpoints_command(servers: Servers, include_fenced_brokers: bool) -> None:
    """Print the addresses of the brokers, or of the controllers."""
    if servers.are_controllers and include_fenced_brokers:
        raise click.UsageError("--include-fenced-brokers goes with --bootstrap-server.")

    async def operate(cluster: Cluster) -> DescribeClusterResponse:
        return await cluster.describe(controllers=servers.are_controllers, include_fenced=include_fenced_brokers)

    described = run(servers.bootstrap, operate)
    kind = "controller" if servers.are_controllers else "broker"
    brokers = sorted(described.brokers, key=lambda broker: broker.broker_id)
    host_width = max((len(broker.host) for broker in brokers), default=0)
    rack_width = max((len(broker.rack or "") for broker in brokers), default=0)
    rack_width = max(rack_width, _RACK_WIDTH)

    def line(node: object, host: str, port: object, rack: str, state: str, endpoint_type: str) -> str:
        middle = "" if servers.are_controllers else f"{state:<10} "
        return f"{node:<10} {host:<{host_width}} {port:<10} {rack:<{rack_width}} {middle}{endpoint_type:<15}"

    click.echo(line("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE"))
    for broker in brokers:
        state = "fenced" if broker.is_fenced else "unfenced"
        click.echo(line(broker.broker_id, broker.host, broker.port, broker.rack or "null", state, kind))


@command.command("unregister")
@servers_options
@click.option(
    "-i", "--id", "broker_id", type=click.IntRange(0, MAX_NODE_ID), required=True, help="The id of the broker."
)
def unregister_command(servers: Servers, broker_id: int) -> None:
    """Unregister a broker that will not come back.

    The controller removes its registration (KIP-631).
    """

    async def operate(cluster: Cluster) -> None:
        node_id = None
        if servers.are_controllers:
            node_id = (await cluster.describe(controllers=True)).controller_id
        answer = await cluster.request(UnregisterBrokerRequest(broker_id=broker_id), node_id)
        check(answer.error_code, answer.error_message)

    run(servers.bootstrap, operate)
    click.echo(f"Broker {broker_id} is no longer registered.")
