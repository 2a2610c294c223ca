"""What ``kraft features`` and ``kraft storage`` tell of levels without asking anybody (KIP-1022)."""

from __future__ import annotations

import click

from kraft.config.features import (
    KRAFT_VERSION,
    LEVEL_OF_NAME,
    METADATA_VERSION,
    MIN_METADATA_LEVEL,
    NAME_OF_LEVEL,
    level_of_release,
    parse_feature,
)

#: The other features in the order in which they are told: (highest level, metadata.version of the release that has it).
_FEATURES: dict[str, tuple[int, int]] = {
    KRAFT_VERSION: (1, 21),
    "transaction.version": (2, 24),
    "group.version": (1, 22),
    "eligible.leader.replicas.version": (1, 26),
    "share.version": (1, 28),
    "streams.version": (1, 29),
}
#: The least metadata.version for a level that needs one.
_REQUIRED_METADATA = {("eligible.leader.replicas.version", 1): 23}


@click.command("version-mapping")
@click.option("-r", "--release-version", default=max(LEVEL_OF_NAME, key=LEVEL_OF_NAME.__getitem__), show_default=True)
def version_mapping(release_version: str) -> None:
    """Show which levels of features belong to a release of Kafka."""
    metadata = level_of_release(release_version)
    if metadata is None or metadata < MIN_METADATA_LEVEL:
        names = ", ".join(name for level, name in NAME_OF_LEVEL.items() if level >= MIN_METADATA_LEVEL)
        raise click.ClickException(
            f"Unknown metadata.version {release_version!r}. Supported metadata.version are: {names}"
        )
    click.echo(f"{METADATA_VERSION}={metadata} ({release_version})")
    for name, (highest, since) in _FEATURES.items():
        click.echo(f"{name}={highest if metadata >= since else 0}")


@click.command("feature-dependencies")
@click.option("-f", "--feature", "features", multiple=True, required=True, metavar="NAME=LEVEL")
def feature_dependencies(features: tuple[str, ...]) -> None:
    """Show what levels of features need of others."""
    for feature in features:
        try:
            name, level = parse_feature(feature)
        except ValueError as error:
            raise click.ClickException(str(error)) from None
        click.echo(_dependencies(name, level))


def _dependencies(name: str, level: int) -> str:
    """Raises ClickException for a feature or a level that nobody knows."""
    if name == METADATA_VERSION:
        if level < MIN_METADATA_LEVEL or level not in NAME_OF_LEVEL:
            raise click.ClickException(f"Unknown metadata.version {level}")
        return f"{name}={level} ({NAME_OF_LEVEL[level]}) has no dependencies."
    if name not in _FEATURES:
        raise click.ClickException(f"Unknown feature: {name}")
    if level > _FEATURES[name][0]:
        raise click.ClickException(f"No feature:{name} with feature level {level}")
    required = _REQUIRED_METADATA.get((name, level))
    if required is None:
        return f"{name}={level} has no dependencies."
    return f"{name}={level} requires:\n    {METADATA_VERSION}={required} ({NAME_OF_LEVEL[required]})"
