"""The features and levels of Kafka's releases, for ``kraft features`` and ``kraft storage`` (KIP-1022). Needs no
cluster.
"""

from __future__ import annotations

import click

from kraft.config.features import (
    ELIGIBLE_LEADER_REPLICAS,
    LEVEL_OF_NAME,
    METADATA_VERSION,
    MIN_METADATA_LEVEL,
    NAME_OF_LEVEL,
    OTHER_FEATURES,
    level_of_release,
    parse_feature,
)

#: The lowest metadata.version for each feature level that requires one.
_REQUIRED_METADATA = {(ELIGIBLE_LEADER_REPLICAS, 1): 23}


@click.command("version-mapping")
@click.option(
    "-r",
    "--release-version",
    default=max(LEVEL_OF_NAME, key=LEVEL_OF_NAME.__getitem__),
    show_default=True,
    metavar="RELEASE",
    help="A release, such as 3.9, or a level, such as 3.9-IV0.",
)
def version_mapping(release_version: str) -> None:
    """Show the feature levels of a release of Kafka."""
    for name, level in levels_of_release(release_version).items():
        click.echo(f"{name}={level}{f' ({release_version})' if name == METADATA_VERSION else ''}")


def levels_of_release(text: str) -> dict[str, int]:
    """Return each feature's level in a release of Kafka, metadata.version first. Raises ClickException if it is
    unknown.
    """
    metadata = level_of_release(text)
    if metadata is None or metadata < MIN_METADATA_LEVEL:
        names = ", ".join(name for level, name in NAME_OF_LEVEL.items() if level >= MIN_METADATA_LEVEL)
        raise click.ClickException(f"Unknown metadata.version {text!r}. Supported metadata.version are: {names}")
    others = {name: highest if metadata >= since else 0 for name, (highest, since) in OTHER_FEATURES.items()}
    return {METADATA_VERSION: metadata, **others}


@click.command("feature-dependencies")
@click.option(
    "-f",
    "--feature",
    "features",
    multiple=True,
    required=True,
    metavar="NAME=LEVEL",
    help="A feature and its level. May be repeated.",
)
def feature_dependencies(features: tuple[str, ...]) -> None:
    """Show the levels that a feature level requires."""
    for feature in features:
        try:
            name, level = parse_feature(feature)
        except ValueError as error:
            raise click.ClickException(str(error)) from None
        click.echo(_dependencies(name, level))


def _dependencies(name: str, level: int) -> str:
    """Return the requirements of a feature level. Raises ClickException for an unknown feature or level."""
    if name == METADATA_VERSION:
        if level < MIN_METADATA_LEVEL or level not in NAME_OF_LEVEL:
            raise click.ClickException(f"Unknown metadata.version {level}")
        return f"{name}={level} ({NAME_OF_LEVEL[level]}) has no dependencies."
    if name not in OTHER_FEATURES:
        raise click.ClickException(f"Unknown feature: {name}")
    if level > OTHER_FEATURES[name][0]:
        raise click.ClickException(f"No feature:{name} with feature level {level}")
    required = _REQUIRED_METADATA.get((name, level))
    if required is None:
        return f"{name}={level} has no dependencies."
    return f"{name}={level} requires:\n    {METADATA_VERSION}={required} ({NAME_OF_LEVEL[required]})"
