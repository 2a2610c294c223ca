"""``version-mapping`` and ``feature-dependencies`` of both commands, beside Apache Kafka's tools (KIP-1022)."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from kraft.cli.main import cli
from tests.support.apache_tool import STORAGE, apache_tool


def run(*arguments: str) -> Result:
    return CliRunner(catch_exceptions=False).invoke(cli, arguments)


@pytest.mark.parametrize("command", ["features", "storage"])
def test_levels_of_a_release_and_what_they_need(command: str) -> None:
    mapping = run(command, "version-mapping", "--release-version", "3.9").stdout.splitlines()
    assert mapping[:3] == ["metadata.version=21 (3.9)", "kraft.version=1", "transaction.version=0"]
    needs = run(command, "feature-dependencies", "--feature", "eligible.leader.replicas.version=1").stdout
    assert needs == "eligible.leader.replicas.version=1 requires:\n    metadata.version=23 (4.0-IV1)\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("version-mapping", "-r", "9.9"), "Unknown metadata.version '9.9'"),
        (("version-mapping", "-r", "3.2"), "Unknown metadata.version '3.2'"),
        (("feature-dependencies", "-f", "foo=1"), "Unknown feature: foo"),
        (("feature-dependencies", "-f", "metadata.version=5"), "Unknown metadata.version 5"),
        (("feature-dependencies", "-f", "kraft.version=7"), "No feature:kraft.version with feature level 7"),
        (("feature-dependencies", "-f", "kraft.version"), "'kraft.version' is not NAME=LEVEL"),
    ],
)
def test_an_unknown_feature_or_level(arguments: tuple[str, ...], why: str) -> None:
    result = run("storage", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert why in result.stderr


@pytest.mark.interop
@pytest.mark.parametrize("release", [None, "3.3", "3.8", "3.9-IV0", "4.0-IV0", "4.0-IV1", "4.0-IV2", "4.1", "4.2-IV0"])
def test_mapped_as_apaches_tool_does(release: str | None) -> None:
    arguments = ("version-mapping", *(() if release is None else ("--release-version", release)))
    assert run("storage", *arguments).stdout == apache_tool(STORAGE, *arguments)


@pytest.mark.interop
def test_dependencies_as_apaches_tool_has_them() -> None:
    levels = ("metadata.version=21", "kraft.version=1", "transaction.version=2", "eligible.leader.replicas.version=1")
    arguments = ("feature-dependencies", *(word for level in levels for word in ("--feature", level)))
    assert run("storage", *arguments).stdout == apache_tool(STORAGE, *arguments)
