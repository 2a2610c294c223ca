"""Apache Kafka's own command line tools, unmodified: against the node, and on the files that it leaves."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from tests.support.fetchers import APACHE_KAFKA, QUICK_JVM, apache_kafka

pytestmark = pytest.mark.interop

RUN_LIMIT_S = 180.0
"""A tool needs two seconds of CPU time; beside thirty other processes on two cores, a minute."""
TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
# The output of DumpLogSegments for files that contradict each other.
COMPLAINT = re.compile(r"isvalid: false|[Mm]ismatch|out of order|[Nn]on-consecutive|[Ee]rror|Exception")


@attrs.frozen
class Tools:
    java: str
    jars: Path
    bootstrap_servers: str

    def run(self, main_class: str, *options: str, stdin: str = "") -> str:
        """Return the output of the tool; a status other than 0 fails the test."""
        command = [self.java, *QUICK_JVM, "-cp", f"{self.jars}/*", main_class, *options]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=RUN_LIMIT_S)
        assert done.returncode == 0, f"{main_class} {' '.join(options)}\n{done.stdout}{done.stderr}"
        return done.stdout

    def ask(self, main_class: str, *options: str, stdin: str = "") -> str:
        """Run a tool that connects to the node."""
        return self.run(main_class, "--bootstrap-server", self.bootstrap_servers, *options, stdin=stdin)

    def fill(self, topic: str, values: list[str], *options: str) -> None:
        self.ask(CONSOLE_PRODUCER, "--topic", topic, *options, stdin="".join(f"{value}\n" for value in values))


@pytest.fixture
def tools(tool: Callable[[str], str], bootstrap_servers: str) -> Tools:
    return Tools(tool("java"), apache_kafka(APACHE_KAFKA), bootstrap_servers)


def _fields(line: str) -> dict[str, str]:
    """``Name: value`` pairs between tabs."""
    return dict(part.rstrip().split(": ", 1) for part in line.split("\t") if ": " in part.rstrip())


def test_topics(tools: Tools, topic: str) -> None:
    tools.ask(TOPICS, "--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=100000")
    assert topic in tools.ask(TOPICS, "--list").splitlines()
    tools.ask(TOPICS, "--alter", "--topic", topic, "--partitions", "3")
    head, *partitions = tools.ask(TOPICS, "--describe", "--topic", topic).splitlines()
    assert _fields(head)["PartitionCount"] == "3"
    assert _fields(head)["ReplicationFactor"] == "1"
    assert "retention.ms=100000" in _fields(head)["Configs"]
    for line in map(_fields, partitions):
        assert line["Leader"] == line["Replicas"] == line["Isr"]
    tools.ask(TOPICS, "--delete", "--topic", topic)
    assert topic not in tools.ask(TOPICS, "--list").splitlines()


def test_configs(tools: Tools, topic: str) -> None:
    tools.ask(TOPICS, "--create", "--topic", topic)
    tools.ask(
        CONFIGS, "--alter", "--topic", topic, "--add-config", "retention.ms=60000,cleanup.policy=[compact,delete]"
    )
    described = tools.ask(CONFIGS, "--describe", "--topic", topic)
    assert "retention.ms=60000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=60000" in described
    assert "cleanup.policy=compact,delete" in described
    tools.ask(CONFIGS, "--alter", "--topic", topic, "--delete-config", "retention.ms")
    assert "retention.ms=60000" not in tools.ask(CONFIGS, "--describe", "--topic", topic)
    assert "log.dirs=" in tools.ask(CONFIGS, "--describe", "--broker", "1", "--all")


def test_console_and_groups(tools: Tools, topic: str, group: str) -> None:
    sent = [f"key{number}={number}" for number in range(10)]
    keyed = ("--reader-property", "parse.key=true", "--reader-property", "key.separator==")
    tools.fill(topic, sent, *keyed, "--compression-codec", "lz4")
    printed = ("--formatter-property", "print.key=true", "--formatter-property", "key.separator==")
    ends = ("--max-messages", "10", "--timeout-ms", "120000")
    got = tools.ask(CONSOLE_CONSUMER, "--topic", topic, "--group", group, "--from-beginning", *printed, *ends)
    assert got.splitlines() == sent

    assert group in tools.ask(GROUPS, "--list").splitlines()
    assert _lag(tools, group, topic) == ["10", "10", "0"]
    tools.ask(GROUPS, "--reset-offsets", "--group", group, "--topic", topic, "--shift-by", "-4", "--execute")
    assert _lag(tools, group, topic) == ["6", "10", "4"]
    tools.ask(GROUPS, "--delete", "--group", group)
    assert group not in tools.ask(GROUPS, "--list").splitlines()


def _lag(tools: Tools, group: str, topic: str) -> list[str]:
    """Current offset, log end offset and lag of partition 0."""
    described = tools.ask(GROUPS, "--describe", "--group", group)
    (row,) = [line.split() for line in described.splitlines() if line.startswith(group)]
    assert row[1:3] == [topic, "0"]
    return row[3:6]


def test_performance_offsets_and_deleted_records(tools: Tools, topic: str, tmp_path: Path) -> None:
    load = ("--num-records", "5000", "--record-size", "200", "--throughput", "-1")
    said = tools.ask("org.apache.kafka.tools.ProducerPerformance", "--topic", topic, *load)
    assert "5000 records sent" in said
    wanted = ("--num-records", "5000", "--timeout", "120000")
    said = tools.ask("org.apache.kafka.tools.ConsumerPerformance", "--topic", topic, *wanted)
    assert said.splitlines()[-1].split(", ")[4] == "5000"
    before = tmp_path / "before.json"
    before.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 7}]}))
    said = tools.ask("org.apache.kafka.tools.DeleteRecordsCommand", "--offset-json-file", str(before))
    assert re.search(rf"{topic}-0\s+low_watermark: 7", said)
    assert tools.ask(OFFSETS, "--topic", topic, "--time", "earliest").split() == [f"{topic}:0:7"]
    assert tools.ask(OFFSETS, "--topic", topic, "--time", "latest").split() == [f"{topic}:0:5000"]


def test_performance_of_transactions(tools: Tools, topic: str) -> None:
    """ProducerPerformance commits after each ``--transaction-duration-ms``, here of a run of one second or longer."""
    load = ("--num-records", "2000", "--record-size", "100", "--throughput", "2000")
    committing = ("--transactional-id", topic, "--transaction-duration-ms", "200")
    said = tools.ask("org.apache.kafka.tools.ProducerPerformance", "--topic", topic, *load, *committing)
    assert "2000 records sent" in said
    partition = TopicPartition(topic, 0)
    options = {"auto_offset_reset": "earliest", "isolation_level": "read_committed", "consumer_timeout_ms": 30_000}
    with KafkaConsumer(topic, bootstrap_servers=tools.bootstrap_servers, **options) as consumer:
        seen = list(itertools.islice(consumer, 2000))
        (end,) = consumer.end_offsets([partition]).values()
    assert len(seen) == 2000
    assert end >= 2002, "a marker for each transaction, and at least two of these"


def test_cluster_features_and_directories(tools: Tools, topic: str, log_directory: Path, tmp_path: Path) -> None:
    said = tools.run("org.apache.kafka.tools.ClusterTool", "cluster-id", "--bootstrap-server", tools.bootstrap_servers)
    cluster_id = said.removeprefix("Cluster ID: ").strip()
    features = tools.ask("org.apache.kafka.tools.FeatureCommand", "describe")
    assert re.search(r"metadata\.version\s.*FinalizedVersionLevel: \d\.\d+-IV\d", features)
    tools.fill(topic, ["one"])
    listed = tools.ask("org.apache.kafka.tools.LogDirsCommand", "--describe", "--topic-list", topic).splitlines()[-1]
    ((directory, partitions),) = [
        (each["logDir"], each["partitions"]) for broker in json.loads(listed)["brokers"] for each in broker["logDirs"]
    ]
    assert directory == str(log_directory)
    assert [(each["partition"], each["offsetLag"]) for each in partitions] == [(f"{topic}-0", 0)]

    properties = tmp_path / "server.properties"
    properties.write_text(
        f"log.dirs={log_directory}\nprocess.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n"
        "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\ncontroller.quorum.voters=1@localhost:9093\n"
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
    )
    info = tools.run("kafka.tools.StorageTool", "info", "-c", str(properties))
    assert f"cluster.id={cluster_id}," in info
    assert str(log_directory) in info


def test_dump_of_a_partition(tools: Tools, topic: str, log_directory: Path) -> None:
    for codec in (None, "gzip", "snappy", "lz4", "zstd"):
        with KafkaProducer(bootstrap_servers=tools.bootstrap_servers, compression_type=codec, linger_ms=5) as producer:
            for number in range(300):
                producer.send(topic, b"%0200d" % number)
    files = [str(log_directory / f"{topic}-0" / f"{0:020d}.{suffix}") for suffix in ("log", "index", "timeindex")]
    dumped = tools.run(DUMP_LOG, "--deep-iteration", "--files", ",".join(files))
    assert COMPLAINT.search(dumped) is None
    assert dumped.count("| offset: ") == 1500
    assert set(re.findall(r"compresscodec: (\w+)", dumped)) == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert re.search(r"^offset: \d+ position: [1-9]\d*$", dumped, re.MULTILINE), "the offset index is empty"
    assert re.search(r"^timestamp: \d+ offset: [1-9]\d*$", dumped, re.MULTILINE), "the time index is empty"


def test_dump_of_the_metadata_log(tools: Tools, topic: str, log_directory: Path) -> None:
    tools.ask(TOPICS, "--create", "--topic", topic)
    segment = log_directory / "__cluster_metadata-0" / f"{0:020d}.log"
    dumped = tools.run(DUMP_LOG, "--cluster-metadata-decoder", "--files", str(segment))
    assert COMPLAINT.search(dumped) is None
    assert "LeaderChange: " in dumped
    topics = [json.loads(line) for line in re.findall(r'payload: (\{"type":"TOPIC_RECORD".*)$', dumped, re.MULTILINE)]
    assert topic in [record["data"]["name"] for record in topics]


def test_dump_of_group_offsets(tools: Tools, topic: str, group: str, log_directory: Path) -> None:
    tools.fill(topic, ["one"])
    tools.ask(CONSOLE_CONSUMER, "--topic", topic, "--group", group, "--from-beginning", "--max-messages", "1")
    segments = [
        each for each in log_directory.glob("__consumer_offsets-*/*.log") if group.encode() in each.read_bytes()
    ]
    (segment,) = segments
    dumped = tools.run(DUMP_LOG, "--offsets-decoder", "--files", str(segment))
    assert COMPLAINT.search(dumped) is None
    assert f'key: {{"type":"1","data":{{"group":"{group}","topic":"{topic}","partition":0}}}} payload: ' in dumped
    assert '"protocolType":"consumer"' in dumped
