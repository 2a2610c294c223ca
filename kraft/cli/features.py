"""``kraft features``: show and change a cluster's finalized features (KIP-584), as kafka-features does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from kraft import __version__
from kraft.cli.feature_levels import feature_dependencies, levels_of_release, version_mapping
from kraft.cli.options import Servers, run, servers_options
from kraft.client.cluster import TIMEOUT_MS, Cluster
from kraft.config.features import METADATA_VERSION, NAME_OF_LEVEL, parse_feature
from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.api_versions_response import ApiVersionsResponse
from kraft.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from kraft.wire.errors import ErrorCode

_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3
_NO_EPOCH = -1

_Command = Callable[..., None]

_unsafe_option = click.option("--unsafe", is_flag=True, help="Downgrade even if metadata is lost.")
_dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Only check whether the cluster would accept the change."
)


def _levels_options(command: _Command) -> _Command:
    """Add the options that name levels; ``_levels`` reads them."""
    for option in (
        click.option("--metadata", metavar="RELEASE", help="Set metadata.version to that of a release of Kafka."),
        click.option(
            "--release-version", metavar="RELEASE", help="Set all features to the levels of a release of Kafka."
        ),
        click.option(
            "--feature",
            "features",
            multiple=True,
            metavar="NAME=LEVEL",
            help="A feature and its level: metadata.version=21 or metadata.version=3.9-IV0. May be repeated.",
        ),
    ):
        command = option(command)
    return command


@click.group("features", short_help="Describe, upgrade and downgrade the features of a cluster.")
@servers_options
@click.pass_context
def command(ctx: click.Context, servers: Servers) -> None:
    """Describe, upgrade and downgrade the features of a cluster."""
    ctx.obj = servers


command.add_command(version_mapping)
command.add_command(feature_dependencies)


@command.command("describe")
@click.option("--node-id", type=click.IntRange(0), help="Send the request to the node with this id.")
@servers_options
def describe_command(servers: Servers, node_id: int | None) -> None:
    """Show the supported and finalized levels of features."""

    async def operate(cluster: Cluster) -> ApiVersionsResponse:
        asked = ApiVersionsRequest(client_software_name="kraft", client_software_version=__version__)
        if node_id is not None:
            await cluster.describe(controllers=servers.are_controllers)
        response: ApiVersionsResponse = await cluster.request(asked, node_id)
        return response

    response = run(servers.bootstrap, operate)
    finalized = {feature.name: feature.max_version_level for feature in response.finalized_features}
    epoch = "-" if response.finalized_features_epoch == _NO_EPOCH else response.finalized_features_epoch
    for feature in sorted(response.supported_features, key=lambda feature: feature.name):
        lowest, highest, level = (
            level_text(feature.name, level)
            for level in (feature.min_version, feature.max_version, finalized.get(feature.name, 0))
        )
        click.echo(
            f"Feature: {feature.name:<42}SupportedMinVersion: {lowest:<17}SupportedMaxVersion: {highest:<17}"
            f"FinalizedVersionLevel: {level:<17}Epoch: {epoch}"
        )


@command.command("upgrade")
@_levels_options
@_dry_run_option
@servers_options
def upgrade_command(servers: Servers, dry_run: bool, **levels: Any) -> None:
    """Upgrade features to higher levels."""
    wanted = _levels("upgrade", **levels)
    for name, level in wanted.items():
        if level < 1:
            raise click.ClickException(f"{name} cannot be upgraded to {level}; downgrade it, or disable it.")
    _update(servers, wanted, _UPGRADE, "upgraded", dry_run)


@command.command("downgrade")
@_levels_options
@_unsafe_option
@_dry_run_option
@servers_options
def downgrade_command(servers: Servers, unsafe: bool, dry_run: bool, **levels: Any) -> None:
    """Downgrade features to lower levels."""
    _update(servers, _levels("downgrade", **levels), _downgrade(unsafe), "downgraded", dry_run)


@command.command("disable")
@click.option("--feature", "features", multiple=True, metavar="NAME", help="A feature. May be repeated.")
@_unsafe_option
@_dry_run_option
@servers_options
def disable_command(servers: Servers, features: tuple[str, ...], unsafe: bool, dry_run: bool) -> None:
    """Downgrade features to level 0, which disables them."""
    _update(servers, _once("disable", [(name, 0) for name in features]), _downgrade(unsafe), "disabled", dry_run)


def level_text(feature: str, level: int) -> str:
    """Return a level as text: a level of metadata.version by its name."""
    if feature != METADATA_VERSION:
        return str(level)
    return NAME_OF_LEVEL.get(level, f"UNKNOWN {level}")


def _downgrade(unsafe: bool) -> int:
    return _UNSAFE_DOWNGRADE if unsafe else _SAFE_DOWNGRADE


def _levels(verb: str, metadata: str | None, release_version: str | None, features: tuple[str, ...]) -> dict[str, int]:
    """Return the wanted level of each feature. Raises ClickException for contradictory or missing options."""
    if release_version is not None:
        if metadata is not None or features:
            raise click.ClickException("Can not specify `release-version` with other feature flags.")
        # An upgrade leaves out features that the release does not have (level 0).
        return {name: level for name, level in levels_of_release(release_version).items() if level or verb != "upgrade"}
    levels = [] if metadata is None else [(METADATA_VERSION, levels_of_release(metadata)[METADATA_VERSION])]
    return _once(verb, [*levels, *map(_parsed, features)])


def _once(verb: str, levels: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Return the levels by feature. Raises ClickException if none is given, or if a feature is named twice."""
    if not levels:
        raise click.ClickException(f"You must specify at least one feature to {verb}")
    for name, times in Counter(name for name, _ in levels).items():
        if times > 1:
            raise click.ClickException(f"Feature {name} was specified more than once.")
    return dict(levels)


def _parsed(text: str) -> tuple[str, int]:
    try:
        return parse_feature(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--feature") from None


def _update(servers: Servers, wanted: Mapping[str, int], kind: int, done: str, dry_run: bool) -> None:
    """Send UpdateFeatures and print the result. Raises ClickException if the cluster refuses; nothing changes then."""
    levels = dict(sorted(wanted.items()))
    updates = [FeatureUpdateKey(name, level, upgrade_type=kind) for name, level in levels.items()]

    async def operate(cluster: Cluster) -> dict[str, tuple[int, str | None]]:
        node_id = None
        if servers.are_controllers:
            node_id = (await cluster.describe(controllers=True)).controller_id
        request = UpdateFeaturesRequest(timeout_ms=TIMEOUT_MS, feature_updates=updates, validate_only=dry_run)
        answer = await cluster.request(request, node_id)
        results = {result.feature: (result.error_code, result.error_message) for result in answer.results}
        whole = (answer.error_code, answer.error_message)
        return {name: whole if answer.error_code else results.get(name, whole) for name in levels}

    failed = 0
    for name, (code, message) in run(servers.bootstrap, operate).items():
        to = "" if done == "disabled" else f" to {levels[name]}"
        if code:
            failed += 1
            could_not = "Can not" if dry_run else "Could not"
            click.echo(f"{could_not} {done.removesuffix('d')} {name}{to}. {message or ErrorCode(code).message}")
        else:
            click.echo(f"{name} {'can be' if dry_run else 'was'} {done}{to}.")
    if failed:
        raise click.ClickException(f"{failed} out of {len(levels)} operation(s) failed.")
