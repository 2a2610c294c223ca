"""Apache Kafka's command line tools, run as they are."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence

from tests.support.apache_process import APACHE_4, Apache
from tests.support.hangs import note_hang

RUN_LIMIT_S = 180.0
SHELL_LIMIT_S = 20.0
SHELL_RUNS = 10

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


class HungTool(Exception):
    """The metadata shell did not end, however often it was run."""


def apache_tool(main_class: str, *options: str, kind: Apache = APACHE_4, status: int = 0) -> str:
    """Return the tool's standard output; any other exit status fails the test."""
    return _run(main_class, options, kind, status).stdout


def apache_tool_complaint(main_class: str, *options: str, kind: Apache = APACHE_4) -> str:
    """Return the standard error of a tool that must fail, with its log."""
    return _run(main_class, options, kind, 1).stderr


def metadata_shell(snapshot: str, *command: str, until: Callable[[str], bool], kind: Apache = APACHE_4) -> str:
    """Return the first output of kafka-metadata-shell that satisfies ``until``, else that of its last run.

    The shell has two races. It may print before it has replayed the snapshot. And it waits for an offset that its
    loader notes with a batch only when its reader has come to the snapshot's footer: where the loader is faster, the
    shell never ends (``MetadataShell.waitUntilCaughtUp``). The tests' summary has each run that did not end.

    Raises:
        HungTool: not one of ``SHELL_RUNS`` runs ended.
    """
    output: str | None = None
    hang = ""
    for _ in range(SHELL_RUNS):
        try:
            output = _run(METADATA_SHELL, ["--snapshot", snapshot, *command], kind, 0, SHELL_LIMIT_S).stdout
        except subprocess.TimeoutExpired as hung:
            said = (hung.stderr or hung.stdout or b"nothing").decode(errors="replace").splitlines()
            hang = f"{METADATA_SHELL} did not end within {SHELL_LIMIT_S:g} s; it last said: {said[-1]}"
            note_hang(hang)
        else:
            if until(output):
                return output
    if output is None:
        raise HungTool(hang)
    return output


def _run(
    main_class: str, options: Sequence[str], kind: Apache, status: int, limit_s: float = RUN_LIMIT_S
) -> subprocess.CompletedProcess[str]:
    command = kind.java(main_class, *options)
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    assert done.returncode == status, f"{main_class} {' '.join(options)}\n{done.stdout}{done.stderr}"
    return done
