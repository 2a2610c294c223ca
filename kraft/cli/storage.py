"""``kraft storage``: format and inspect a node's directories, with the options of kafka-storage (KIP-631)."""

from __future__ import annotations

import click

from kraft.cli.feature_levels import feature_dependencies, levels_of_release, version_mapping
from kraft.cli.storage_info import look_at
from kraft.config.broker import NodeConfig
from kraft.config.features import (
    DEFAULT_METADATA_LEVEL,
    METADATA_VERSION,
    NAME_OF_LEVEL,
    SUPPORTED_FEATURES,
    parse_feature,
    parse_release,
)
from kraft.config.properties import load
from kraft.config.setting import ConfigError, one_line
from kraft.storage.errors import StorageError
from kraft.storage.format import format_directories
from kraft.storage.meta_properties import CURRENT, LEGACY
from kraft.wire.uuids import uuid_from_text, uuid_to_text
from kraft.world.uuids import random_uuid

CONFIG = click.option(
    "-c", "--config", "path", required=True, metavar="FILE", help="The server.properties of the node."
)


@click.group("storage", short_help="Format and inspect the directories of a node.")
def command() -> None:
    """Format and inspect the directories of a node."""


command.add_command(version_mapping)
command.add_command(feature_dependencies)


@command.command("random-uuid")
def random_uuid_command() -> None:
    """Print a random id, for example for a new cluster."""
    click.echo(uuid_to_text(random_uuid()))


@command.command("format")
@CONFIG
@click.option(
    "-t", "--cluster-id", required=True, help="The id of the cluster; all nodes need the same (see random-uuid)."
)
@click.option("-g", "--ignore-formatted", is_flag=True, help="Skip directories that are already formatted.")
@click.option("-r", "--release-version", help="The release of Kafka that gives the initial levels of all features.")
@click.option(
    "-f",
    "--feature",
    "features",
    multiple=True,
    metavar="NAME=LEVEL",
    help="The initial level of a feature. May be repeated.",
)
@click.option(
    "-N",
    "--no-initial-controllers",
    is_flag=True,
    expose_value=False,
    help="Accepted for compatibility; has no effect. Voters are static.",
)
def format_command(
    path: str,
    cluster_id: str,
    ignore_formatted: bool,
    release_version: str | None,
    features: tuple[str, ...],
) -> None:
    """Format the directories of a node.

    Each gets a meta.properties and a bootstrap.checkpoint.
    """
    config = load_config(path)
    if config.in_zookeeper_mode:
        message = "The kafka configuration file appears to be for a legacy cluster."
        raise click.ClickException(f"{message} Formatting is only supported for clusters in KRaft mode.")
    levels = feature_levels(release_version, features)
    level = levels.pop(METADATA_VERSION)
    try:
        uuid_from_text(cluster_id)
    except ValueError as error:
        message = f"Cluster ID string {one_line(cluster_id)} does not appear to be a valid UUID: {error}"
        raise click.ClickException(message) from None
    try:
        formatted = format_directories(
            config, cluster_id, level, sorted(levels.items()), ignore_formatted=ignore_formatted
        )
    except StorageError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        message = f"Cannot format {one_line(error.filename)}: {error.strerror}"
        raise click.ClickException(message) from None
    if formatted:
        records = ", ".join(
            f"ApiMessageAndVersion(FeatureLevelRecord(name='{name}', featureLevel={number}) at version 0)"
            for name, number in [(METADATA_VERSION, level), *sorted(levels.items())]
        )
        click.echo(
            f"Bootstrap metadata: BootstrapMetadata(records=[{records}], "
            f"metadataVersionLevel={level}, source=format command)"
        )
    for directory in formatted:
        kind = "metadata" if directory == config.metadata_log_dir else "data"
        click.echo(f"Formatting {kind} directory {directory} with {METADATA_VERSION} {NAME_OF_LEVEL[level]}.")
    if not formatted:
        click.echo("All of the log directories are already formatted.")


@command.command("info")
@CONFIG
@click.pass_context
def info_command(ctx: click.Context, path: str) -> None:
    """Show the directories of a node and their problems. The exit status is 1 if there are any."""
    config = load_config(path)
    findings = look_at(config.directories, config.node_id, LEGACY if config.in_zookeeper_mode else CURRENT)
    for line in findings.lines():
        click.echo(line)
    if findings.problems:
        ctx.exit(1)


def load_config(path: str) -> NodeConfig:
    """Load a configuration and print its warnings. Raises ClickException if it is invalid."""
    try:
        loaded = load(path)
    except ConfigError as error:
        raise click.ClickException(str(error)) from None
    for warning in loaded.warnings:
        click.echo(f"Warning: {warning}", err=True)
    return loaded.config


def feature_levels(release_version: str | None, features: tuple[str, ...]) -> dict[str, int]:
    """Return the levels to format with, of metadata.version and of the other features above level 0.

    A release gives all levels as far as these nodes support them (KIP-1022), and ``features`` replace some.

    Raises ClickException if both name metadata.version, or if these nodes do not support a level.
    """
    try:
        wanted = dict(map(parse_feature, features))
        level = DEFAULT_METADATA_LEVEL if release_version is None else parse_release(release_version)
    except ValueError as error:
        raise click.ClickException(one_line(error)) from None
    for name, number in wanted.items():
        low, high = SUPPORTED_FEATURES.get(name, (0, 0))
        if not low <= number <= high:
            raise click.ClickException(f"{name} can be {low} to {high} here, not {number}")
    if release_version is None:
        levels = {METADATA_VERSION: level}
    elif METADATA_VERSION in wanted:
        raise click.ClickException(f"Use --release-version instead of --feature {METADATA_VERSION}=X")
    else:
        released = levels_of_release(release_version)
        levels = {name: min(number, SUPPORTED_FEATURES.get(name, (0, 0))[1]) for name, number in released.items()}
    return {name: number for name, number in {**levels, **wanted}.items() if number}
