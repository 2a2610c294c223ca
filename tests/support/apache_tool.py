"""Apache Kafka's command line tools, run as they are."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from tests.support.apache_process import APACHE_4, Apache

RUN_LIMIT_S = 60.0
RERUNS = 2
"""Of a tool that hangs, as the metadata shell sometimes does after ``InitializeNewPublishers``. The tests' summary has
each hang."""

ACLS = "org.apache.kafka.tools.AclCommand"
CLIENT_METRICS = "org.apache.kafka.tools.ClientMetricsCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
CONFIGS = "kafka.admin.ConfigCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
CONSOLE_SHARE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
JMX = "org.apache.kafka.tools.JmxTool"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
METADATA_QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
METADATA_SHELL = "org.apache.kafka.shell.MetadataShell"
REASSIGNMENT = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
STORAGE = "kafka.tools.StorageTool"
TOPICS = "org.apache.kafka.tools.TopicCommand"
ZOOKEEPER_SHELL = "org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"


_hangs: list[str] = []


class HungTool(Exception):
    """The tool did not end, however often it was run."""


def apache_tool(main_class: str, *options: str, kind: Apache = APACHE_4, status: int = 0) -> str:
    """Return the tool's standard output; any other exit status fails the test."""
    return _run(main_class, options, kind, status).stdout


def apache_tool_complaint(main_class: str, *options: str, kind: Apache = APACHE_4) -> str:
    """Return the standard error of a tool that must fail, with its log."""
    return _run(main_class, options, kind, 1).stderr


def take_hangs() -> list[str]:
    """Return a line for each run that hung since the last call."""
    taken = _hangs[:]
    _hangs.clear()
    return taken


def _run(main_class: str, options: Sequence[str], kind: Apache, status: int) -> subprocess.CompletedProcess[str]:
    for _ in range(1 + RERUNS):
        command = kind.java(main_class, *options)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
        except subprocess.TimeoutExpired as hung:
            said = (hung.stderr or hung.stdout or b"nothing").decode(errors="replace").splitlines()
            _hangs.append(f"{main_class} did not end within {RUN_LIMIT_S:g} s; it last said: {said[-1]}")
        else:
            assert done.returncode == status, f"{main_class} {' '.join(options)}\n{done.stdout}{done.stderr}"
            return done
    raise HungTool(_hangs[-1])
