"""Apache Kafka's command line tools, run as they are."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from tests.support.apache_process import APACHE_4, Apache

RUN_LIMIT_S = 60.0

ACLS = "org.apache.kafka.tools.AclCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
CONFIGS = "kafka.admin.ConfigCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
METADATA_QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
METADATA_SHELL = "org.apache.kafka.shell.MetadataShell"
STORAGE = "kafka.tools.StorageTool"
TOPICS = "org.apache.kafka.tools.TopicCommand"


def apache_tool(main_class: str, *options: str, kind: Apache = APACHE_4, status: int = 0) -> str:
    """What the tool printed to standard output; any other exit status fails the test."""
    return _run(main_class, options, kind, status).stdout


def apache_tool_complaint(main_class: str, *options: str, kind: Apache = APACHE_4) -> str:
    """What the tool, which has to fail, printed to standard error, its log included."""
    return _run(main_class, options, kind, 1).stderr


def _run(main_class: str, options: Sequence[str], kind: Apache, status: int) -> subprocess.CompletedProcess[str]:
    command = kind.java(main_class, *options)
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
    assert done.returncode == status, f"{main_class} {' '.join(options)}\n{done.stdout}{done.stderr}"
    return done
