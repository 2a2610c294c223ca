"""Apache Kafka as a kind of node process, with what makes a JVM that lives for seconds cheap."""

from __future__ import annotations

from pathlib import Path

import attrs

from tests.support.cluster_id import CLUSTER_ID
from tests.support.fetchers import (
    APACHE_KAFKA,
    APACHE_KAFKA_WITH_ZOOKEEPER,
    QUICK_JVM,
    apache_kafka,
    fetch_once,
    maven_jars,
    require,
)
from tests.support.node_process import RELEASE, NodeProcess

LOGGER = "org.slf4j:slf4j-simple:1.7.36"
"""Comes before Apache's own on the class path: prints to standard error, and needs no file of its own."""
ARCHIVE = "classes.jsa"


@attrs.frozen
class Apache:
    """``kafka.Kafka`` of one version. Its jars are fetched when it is first formatted or run."""

    version: str
    jvm: tuple[str, ...] = QUICK_JVM
    has_archive: bool = True
    """Whether the JVM maps its classes from the archive of an earlier run, and so starts in half the CPU time."""
    ready_mark: str = "Kafka Server started"
    ready_timeout_s: float = 90.0
    release: str = RELEASE
    features: tuple[str, ...] = ()
    """Levels other than those of the release, as NAME=LEVEL."""

    def format_command(self, properties: Path) -> list[str]:
        form = ["format", "-t", CLUSTER_ID, "-c", str(properties), "--release-version", self.release]
        levels = [option for each in self.features for option in ("--feature", each)]
        return self.java("kafka.tools.StorageTool", *form, *levels)

    def run_command(self, properties: Path) -> list[str]:
        return self.java("kafka.Kafka", str(properties))

    def java(self, main_class: str, *arguments: str) -> list[str]:
        """The command that runs a class of this version."""
        logger = maven_jars("slf4j-simple", [LOGGER])
        form = "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS"
        shown = ["-Dorg.slf4j.simpleLogger.showDateTime=true", form]
        path = f"{logger}/*:{apache_kafka(self.version)}/*"
        archive = [f"-XX:SharedArchiveFile={class_archive(self.version) / ARCHIVE}"] if self.has_archive else []
        return [require("java"), *self.jvm, *archive, *shown, "-cp", path, main_class, *arguments]


def class_archive(version: str) -> Path:
    """The directory of the classes that a node loads until it is ready, as the JVM archived them (JEP 350)."""

    def fill(directory: Path) -> None:
        recorded = Apache(version, (*QUICK_JVM, f"-XX:ArchiveClassesAtExit={directory / ARCHIVE}"), has_archive=False)
        node = NodeProcess(directory / "node", kind=recorded)
        try:
            node.start().stop()
        finally:
            node.kill()

    return fetch_once(f"kafka-{version}-classes", fill)


APACHE_3 = Apache(APACHE_KAFKA_WITH_ZOOKEEPER)
APACHE_4 = Apache(APACHE_KAFKA)
