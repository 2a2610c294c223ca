"""``kraft topics``: list, create, describe, alter and delete topics of any Kafka cluster."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import click

from kraft.cli.options import bootstrap_option, json_option, report_refused, run
from kraft.cli.output import print_columns, print_json
from kraft.client.cluster import TIMEOUT_MS, Cluster, check
from kraft.config.describe import ConfigSource
from kraft.config.properties import parse_overrides
from kraft.config.setting import INT_MAX, SHORT_MAX, ConfigError
from kraft.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from kraft.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kraft.messages.delete_topics_request import DeleteTopicsRequest
from kraft.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.messages.metadata_response import MetadataResponseTopic
from kraft.wire.errors import ErrorCode, KafkaError

_TOPIC = 2  # resource type
_SET, _DELETE = 0, 1  # config operations
_PARTITIONS = click.IntRange(1, INT_MAX)

_configs_option = click.option(
    "--config", "configs", multiple=True, metavar="KEY=VALUE", help="A topic setting. May be repeated."
)


@click.group("topics", short_help="List, create, describe, alter and delete topics.")
def command() -> None:
    """List, create, describe, alter and delete topics."""


@command.command("list")
@bootstrap_option
@json_option
@click.option("--exclude-internal", is_flag=True, help="Leave out internal topics, such as __consumer_offsets.")
def list_command(bootstrap: str, as_json: bool, exclude_internal: bool) -> None:
    """Print the names of all topics."""

    async def operate(cluster: Cluster) -> list[str]:
        topics = (await cluster.metadata(None)).topics
        return sorted(topic.name for topic in topics if topic.name and not (exclude_internal and topic.is_internal))

    names = run(bootstrap, operate)
    if as_json:
        print_json(names)
    else:
        click.echo("".join(f"{name}\n" for name in names), nl=False)


@command.command("create")
@click.argument("name")
@bootstrap_option
@click.option("--partitions", type=_PARTITIONS, default=None, help="Default: the cluster's num.partitions.")
@click.option(
    "--replication-factor",
    type=click.IntRange(1, SHORT_MAX),
    default=None,
    help="Default: the cluster's default.replication.factor.",
)
@click.option("--if-not-exists", is_flag=True, help="Do nothing if the topic exists.")
@_configs_option
def create_command(
    name: str,
    bootstrap: str,
    partitions: int | None,
    replication_factor: int | None,
    if_not_exists: bool,
    configs: tuple[str, ...],
) -> None:
    """Create a topic."""
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions or -1,
        replication_factor=replication_factor or -1,
        configs=[CreatableTopicConfig(key, value) for key, value in _parse_configs(configs).items()],
    )

    async def operate(cluster: Cluster) -> bool:
        request = CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS)
        (result,) = (await cluster.request(request, await cluster.controller_id())).topics
        if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and if_not_exists:
            return False
        check(result.error_code, result.error_message)
        return True

    click.echo(f"Created topic {name}." if run(bootstrap, operate) else f"Topic {name} exists.")


@command.command("delete")
@click.argument("names", nargs=-1, required=True)
@bootstrap_option
def delete_command(names: tuple[str, ...], bootstrap: str) -> None:
    """Delete topics and all their records."""

    async def operate(cluster: Cluster) -> list[KafkaError]:
        request = DeleteTopicsRequest(topic_names=list(names), timeout_ms=TIMEOUT_MS)
        refused = []
        for result in (await cluster.request(request, await cluster.controller_id())).responses:
            if result.error_code:
                code = ErrorCode(result.error_code)
                refused.append(KafkaError(code, f"topic {result.name}: {result.error_message or code.message}"))
            else:
                click.echo(f"Deleted topic {result.name}.")
        return refused

    report_refused(run(bootstrap, operate))


@command.command("alter")
@click.argument("name")
@bootstrap_option
@click.option("--partitions", type=_PARTITIONS, help="The new number of partitions; it can only grow.")
@_configs_option
@click.option(
    "--delete-config", "removed", multiple=True, metavar="KEY", help="A topic setting to reset to its default."
)
def alter_command(
    name: str, bootstrap: str, partitions: int | None, configs: tuple[str, ...], removed: tuple[str, ...]
) -> None:
    """Add partitions to a topic, or change its settings."""
    alterations = [AlterableConfig(key, _SET, value) for key, value in _parse_configs(configs).items()]
    alterations += [AlterableConfig(key, _DELETE, None) for key in removed]
    if partitions is None and not alterations:
        raise click.UsageError("Nothing to alter: give --partitions, --config or --delete-config.")

    async def operate(cluster: Cluster) -> None:
        # The settings first: a refused one can be given again, but partitions cannot be taken away.
        controller = await cluster.controller_id()
        if alterations:
            resource = AlterConfigsResource(_TOPIC, name, alterations)
            alter = IncrementalAlterConfigsRequest(resources=[resource])
            (answer,) = (await cluster.request(alter, controller)).responses
            check(answer.error_code, answer.error_message)
        if partitions is not None:
            wanted = CreatePartitionsTopic(name=name, count=partitions, assignments=None)
            request = CreatePartitionsRequest(topics=[wanted], timeout_ms=TIMEOUT_MS)
            (result,) = (await cluster.request(request, controller)).results
            done = f"; the settings of {name} are altered" if alterations else ""
            check(result.error_code, f"{result.error_message or ErrorCode(result.error_code).message}{done}")

    run(bootstrap, operate)
    click.echo(f"Altered topic {name}.")


@attrs.frozen
class DescribedTopic:
    """A topic and its own settings, without the defaults."""

    topic: MetadataResponseTopic
    configs: dict[str, str | None]


@command.command("describe")
@click.argument("names", nargs=-1)
@bootstrap_option
@json_option
def describe_command(names: tuple[str, ...], bootstrap: str, as_json: bool) -> None:
    """Show partitions, replicas and settings of topics.

    Without NAMES, all topics are shown.
    """
    described = run(bootstrap, lambda cluster: _describe(cluster, names))
    if as_json:
        print_json([_plain(entry) for entry in described])
        return
    for entry in described:
        topic = entry.topic
        settings = ",".join(f"{name}={value}" for name, value in sorted(entry.configs.items()))
        click.echo(f"Topic: {topic.name}  Partitions: {len(topic.partitions)}  Configs: {settings or '-'}")
        rows = [
            (
                partition.partition_index,
                partition.leader_id if partition.leader_id >= 0 else "none",
                ",".join(map(str, partition.replica_nodes)),
                ",".join(map(str, partition.isr_nodes)),
            )
            for partition in sorted(topic.partitions, key=lambda partition: partition.partition_index)
        ]
        print_columns(("PARTITION", "LEADER", "REPLICAS", "IN SYNC"), rows)


async def _describe(cluster: Cluster, names: Sequence[str]) -> list[DescribedTopic]:
    topics = (await cluster.metadata(names or None)).topics
    for topic in topics:
        missing = topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        check(topic.error_code, f"topic {topic.name} does not exist" if missing else None)
    by_name = {topic.name or "": topic for topic in topics}
    if not by_name:
        return []
    resources = [DescribeConfigsResource(_TOPIC, name, None) for name in sorted(by_name)]
    described = []
    for result in (await cluster.request(DescribeConfigsRequest(resources=resources))).results:
        check(result.error_code, result.error_message)
        own = [config for config in result.configs if config.config_source == ConfigSource.DYNAMIC_TOPIC_CONFIG]
        configs = {config.name: config.value for config in own}
        described.append(DescribedTopic(by_name[result.resource_name], configs))
    return sorted(described, key=lambda entry: entry.topic.name or "")


def _plain(entry: DescribedTopic) -> dict[str, object]:
    return {
        "name": entry.topic.name,
        "internal": entry.topic.is_internal,
        "configs": entry.configs,
        "partitions": [
            {
                "partition": partition.partition_index,
                "leader": partition.leader_id,
                "replicas": partition.replica_nodes,
                "isr": partition.isr_nodes,
            }
            for partition in sorted(entry.topic.partitions, key=lambda partition: partition.partition_index)
        ],
    }


def _parse_configs(configs: Sequence[str]) -> dict[str, str]:
    try:
        return parse_overrides(configs)
    except ConfigError as error:
        raise click.ClickException(str(error)) from None
