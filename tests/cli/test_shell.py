"""``kraft shell``: on metadata of every kind, on directories that live, and beside Apache Kafka's metadata shell."""

from __future__ import annotations

import os
import re
import shutil
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

import click
import pytest
from click.testing import CliRunner, Result

from kraft.cli import metadata_files, shell
from kraft.cli.main import cli
from kraft.cli.shell_tree import resolve, tree_of
from kraft.messages.access_control_entry_record import AccessControlEntryRecord
from kraft.messages.client_quota_record import ClientQuotaRecord, EntityData
from kraft.messages.config_record import ConfigRecord
from kraft.messages.delegation_token_record import DelegationTokenRecord
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.no_op_record import NoOpRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.producer_ids_record import ProducerIdsRecord
from kraft.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from kraft.messages.register_controller_record import ControllerEndpoint, RegisterControllerRecord
from kraft.messages.topic_record import TopicRecord
from kraft.messages.user_scram_credential_record import UserScramCredentialRecord
from kraft.metadata.delta import replay
from kraft.metadata.frame import encode_record
from kraft.metadata.image import Image
from kraft.metadata.levels import record_version
from kraft.raft.messages import SnapshotId
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch
from kraft.storage.snapshot import snapshot_name, write_snapshot
from tests.cli.conftest import Directories
from tests.support.apache_tool import metadata_shell

TIMESTAMP_MS = 1_795_270_902_372
TOPIC = UUID(int=7)
RECORDS: tuple[object, ...] = (
    FeatureLevelRecord(name="metadata.version", feature_level=21),
    FeatureLevelRecord(name="group.version", feature_level=1),
    RegisterBrokerRecord(
        broker_id=1,
        broker_epoch=6,
        incarnation_id=UUID(int=1),
        end_points=[BrokerEndpoint("PLAINTEXT", "127.0.0.1", 9092, 0)],
        features=[BrokerFeature("metadata.version", 7, 21)],
        rack="r1",
        fenced=False,
        log_dirs=[UUID(int=5)],
    ),
    RegisterControllerRecord(
        controller_id=1, incarnation_id=UUID(int=2), end_points=[ControllerEndpoint("CONTROLLER", "::1", 9093, 1)]
    ),
    TopicRecord(name="orders", topic_id=TOPIC),
    PartitionRecord(partition_id=0, topic_id=TOPIC, replicas=[1], isr=[1], leader=1, directories=[UUID(int=5)]),
    PartitionRecord(partition_id=10, topic_id=TOPIC, replicas=[1], isr=[1], leader=1, directories=[UUID(int=5)]),
    TopicRecord(name="other", topic_id=UUID(int=8)),
    ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value="5000"),
    ConfigRecord(resource_type=4, resource_name="", name="log.cleaner.threads", value="2"),
    ClientQuotaRecord(
        entity=[EntityData("user", "a(b)"), EntityData("client-id", None)], key="producer_byte_rate", value=1024.0
    ),
    ProducerIdsRecord(broker_id=1, broker_epoch=6, next_producer_id=1000),
    AccessControlEntryRecord(
        id=UUID(int=9),
        resource_type=2,
        resource_name="orders",
        pattern_type=3,
        principal="User:zed",
        host="*",
        operation=3,
        permission_type=3,
    ),
    UserScramCredentialRecord(
        name="alice", mechanism=1, salt=b"\x01", stored_key=b"\x02", server_key=b"\x03", iterations=4096
    ),
    DelegationTokenRecord(owner="User:zed", token_id="t1"),
)


def values(records: Iterable[object]) -> list[bytes]:
    return [encode_record(record, record_version(record)) for record in records]


def batch(base_offset: int, *records: object) -> bytes:
    frames = enumerate(values(records), base_offset)
    batched = [Record(offset, TIMESTAMP_MS, None, value) for offset, value in frames]
    return encode_batch(batched, base_offset=base_offset, leader_epoch=1)


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    named = SnapshotId(41, 2)
    return Path(write_snapshot(tmp_path, named, values(RECORDS), timestamp=TIMESTAMP_MS))


def run(*arguments: object, text: str | None = None) -> Result:
    runner = CliRunner(catch_exceptions=False)
    return runner.invoke(cli, ["shell", *map(str, arguments)], input=text, standalone_mode=False)


def shown(snapshot: Path, *words: str) -> list[str]:
    result = run("--snapshot", snapshot, *words)
    assert (result.return_value, result.stderr) == (0, "")
    return result.stdout.splitlines()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/image/provenance", "offset 40, epoch 2, time 2026-11-21T14:21:42.372Z"),
        ("/image/features/metadataVersion", "Optional[3.9-IV0]"),
        ("/image/features/finalized_group.version", "1"),
        ("/image/producerIds/nextProducerId", "1000"),
        ("/image/configs/TOPIC:orders/retention.ms", "5000"),
        ("/image/configs/BROKER/log.cleaner.threads", "2"),
        ("/image/clientQuotas/clientId()_user(a\\(b\\))/producer_byte_rate", "1024.0"),
        ("/image/topics/byName/orders/id", "AAAAAAAAAAAAAAAAAAAABw"),
        ("/image/topics/byId/AAAAAAAAAAAAAAAAAAAABw/name", "orders"),
        (
            "/image/topics/byName/orders/10",
            (
                "PartitionRegistration(replicas=[1], directories=[AAAAAAAAAAAAAAAAAAAABQ], isr=[1], "
                "removingReplicas=[], addingReplicas=[], leader=1, leaderRecoveryState=RECOVERED, leaderEpoch=-1, "
                "partitionEpoch=-1)"
            ),
        ),
        (
            "/image/cluster/brokers/1",
            (
                "BrokerRegistration(id=1, epoch=6, incarnationId=AAAAAAAAAAAAAAAAAAAAAQ, "
                "listeners=[Endpoint(listenerName='PLAINTEXT', securityProtocol=PLAINTEXT, host='127.0.0.1', "
                "port=9092)], supportedFeatures={metadata.version: 7-21}, rack=Optional[r1], fenced=false, "
                "inControlledShutdown=false, isMigratingZkBroker=false, directories=[AAAAAAAAAAAAAAAAAAAABQ])"
            ),
        ),
        (
            "/image/cluster/controllers/1",
            (
                "ControllerRegistration(id=1, incarnationId=AAAAAAAAAAAAAAAAAAAAAg, zkMigrationReady=false, "
                "listeners=[Endpoint(listenerName='CONTROLLER', securityProtocol=SSL, host='::1', port=9093)], "
                "supportedFeatures={})"
            ),
        ),
        (
            "/image/acls/byId/AAAAAAAAAAAAAAAAAAAACQ",
            (
                "StandardAcl[resourceType=TOPIC, resourceName=orders, patternType=LITERAL, principal=User:zed, host=*, "
                "operation=READ, permissionType=ALLOW]"
            ),
        ),
        (
            "/image/scram/SCRAM-SHA-256/alice",
            "ScramCredentialData(salt=01, storedKey=02, serverKey=03, iterations=4096)",
        ),
        (
            "/image/delegationToken/t1",
            (
                "DelegationToken(owner=User:zed, requester=, renewers=[], issueTimestamp=0, maxTimestamp=0, "
                "expirationTimestamp=0, tokenId=t1)"
            ),
        ),
    ],
)
def test_a_file_of_each_kind(snapshot: Path, path: str, text: str) -> None:
    assert shown(snapshot, "cat", path) == [text]


def test_a_time_beyond_the_calendar(tmp_path: Path) -> None:
    path = Path(write_snapshot(tmp_path, SnapshotId(1, 1), [], timestamp=2**62))
    assert shown(path, "cat", "/image/provenance") == [f"offset 0, epoch 1, time {2**62} ms"]


def test_ls(snapshot: Path) -> None:
    assert shown(snapshot, "ls") == ["image", "local"]
    assert shown(snapshot, "ls", "image/topics/byName/orders") == ["0", "10", "id", "name"]
    assert shown(snapshot, "ls", "/image/topics", "image/provenance", "/local") == [
        "/image/provenance",
        "",
        "topics:",
        "byId",
        "byName",
        "",
        "local:",
        "version",
    ]


def test_ls_fills_a_terminal(snapshot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "_width", lambda: 40)
    assert shown(snapshot, "ls", "/image") == [
        "acls             features",
        "clientQuotas     producerIds",
        "cluster          provenance",
        "configs          scram",
        "delegationToken  topics",
    ]


def test_find_and_tree(snapshot: Path) -> None:
    assert shown(snapshot, "find", "image/topics/byName/") == [
        "image/topics/byName/",
        "image/topics/byName/orders",
        "image/topics/byName/orders/0",
        "image/topics/byName/orders/10",
        "image/topics/byName/orders/id",
        "image/topics/byName/orders/name",
        "image/topics/byName/other",
        "image/topics/byName/other/id",
        "image/topics/byName/other/name",
    ]
    assert shown(snapshot, "find", "/")[:3] == ["/", "/image", "/image/acls"]
    assert shown(snapshot, "tree", "/image/configs") == [
        "BROKER:",
        "  log.cleaner.threads:",
        "    2",
        "TOPIC:orders:",
        "  retention.ms:",
        "    5000",
    ]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/", ["/"]),
        ("image/../local/./version", ["/local/version"]),
        ("../../image/topics", ["/image/topics"]),
        ("/image/topics/by*", ["/image/topics/byId", "/image/topics/byName"]),
        ("/image/topics/byName/*/name", ["/image/topics/byName/orders/name", "/image/topics/byName/other/name"]),
        ("/image/topics/byName/o?der*", ["/image/topics/byName/orders"]),
        ("/image/{scram,topics}", ["/image/scram", "/image/topics"]),
        ("/image/provenance/x", []),
        ("/image/{scram", []),
        ("/image/[a-z]*", []),
        ("nowhere", []),
    ],
)
def test_paths(path: str, found: list[str]) -> None:
    records = [TopicRecord(name=name, topic_id=UUID(int=id)) for id, name in enumerate(("orders", "other"), 1)]
    image, _ = replay(Image(), records, 1, 1, 0)
    assert [str(place) for place in resolve(tree_of(image), (), path)] == found
    if not path.startswith("/"):
        assert [str(place) for place in resolve(tree_of(image), ("image",), f"../{path}")] == found


def test_commands_from_standard_input(snapshot: Path) -> None:
    result = run("--snapshot", snapshot, text="cd image/topics\npwd\n\nls by*\ncd ..\npwd\ncd\npwd\nexit\nls\n")
    assert result.stdout.splitlines() == [
        "/image/topics",
        *("byId:", "AAAAAAAAAAAAAAAAAAAABw", "AAAAAAAAAAAAAAAAAAAACA", "", "byName:", "orders", "other"),
        "/image",
        "/",
    ]
    assert result.return_value == 0
    assert run("--snapshot", snapshot, text="help\n").stdout.startswith("cat FILE...: print files\n")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("cat /image/topics", "cat: /image/topics: Is a directory"),
        ("cat nope", "cat: nope: no such file or directory."),
        ("cat", "cat: name a file"),
        ("ls /nope", "ls: /nope: no such file or directory."),
        ("find 0", "find: 0: no such file or directory."),
        ("tree 0", "tree: 0: no such file or directory."),
        ("cd nope", "cd: nope: no such directory."),
        ("cd image/provenance", "cd: image/provenance: not a directory."),
        ("cd a b", "cd: name one directory"),
        ("sl", "sl: no such command; the commands are cat, cd, find, help, ls, pwd, tree"),
    ],
)
def test_mistakes_are_one_line_and_exit_status_1(snapshot: Path, words: str, complaint: str) -> None:
    as_argument = run("--snapshot", snapshot, *words.split())
    assert (as_argument.return_value, as_argument.stderr) == (1, f"{complaint}\n")
    typed = run("--snapshot", snapshot, text=f"{words}\n")
    assert (typed.return_value, typed.stderr) == (1, f"{complaint}\n")


def test_a_quotation_that_does_not_end(snapshot: Path) -> None:
    result = run("--snapshot", snapshot, text='cat "x\npwd\n')
    assert result.stderr == 'cat "x: No closing quotation\n'
    assert result.stdout == "/\n"


def test_names_are_completed(snapshot: Path) -> None:
    image = metadata_files.snapshot_image(str(snapshot))
    prompt = shell.Prompt(shell.Commands(tree_of(image), width=0), image)

    def completed(line: str) -> list[str]:
        begin = max(line.rfind(" "), line.rfind("/")) + 1
        return prompt.completedefault(line[begin:], line, begin, len(line))

    assert completed("ls im") == ["image/"]
    assert completed("ls /image/top") == ["topics/"]
    assert completed("cat /image/topics/byName/orders/n") == ["name "]
    assert completed("cat /image/topics/byName/o") == ["orders/", "other/"]
    assert prompt.completenames("c") == ["cat ", "cd "]


def test_a_log_directory(tmp_path: Path) -> None:
    partition = tmp_path / "__cluster_metadata-0"
    partition.mkdir()
    write_snapshot(partition, SnapshotId(3, 1), values([TopicRecord(name="old", topic_id=TOPIC)]), timestamp=5)
    first = batch(0, NoOpRecord(), NoOpRecord(), NoOpRecord()) + batch(3, TopicRecord(name="a", topic_id=UUID(int=1)))
    (partition / "00000000000000000000.log").write_bytes(first)
    torn = batch(5, TopicRecord(name="c", topic_id=UUID(int=3)))[:-1]
    last = batch(4, TopicRecord(name="b", topic_id=UUID(int=2))) + torn
    (partition / "00000000000000000004.log").write_bytes(last)
    (partition / "00000000000000000003-0000000001.checkpoint.part").write_bytes(b"nonsense")
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in partition.iterdir()}
    for named in (tmp_path, partition):
        assert run("--directory", named, "ls", "/image/topics/byName").stdout.split() == ["a", "b", "old"]
    assert before == {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in partition.iterdir()}
    assert os.listdir(tmp_path) == [partition.name]


def test_the_files_are_listed_again_if_a_live_node_deletes_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_snapshot(tmp_path, SnapshotId(3, 1), values([TopicRecord(name="old", topic_id=TOPIC)]), timestamp=5)
    real = metadata_files.snapshot_image

    def vanishing(path: str) -> Image:
        if path.endswith(snapshot_name(SnapshotId(3, 1))):
            os.unlink(path)
            write_snapshot(tmp_path, SnapshotId(9, 1), values([TopicRecord(name="new", topic_id=TOPIC)]), timestamp=6)
        return real(path)

    monkeypatch.setattr(metadata_files, "snapshot_image", vanishing)
    assert run("--directory", tmp_path, "ls", "/image/topics/byName").stdout == "new\n"


def complaint(*arguments: object) -> str:
    with pytest.raises(click.ClickException) as caught:
        run(*arguments, "ls")
    return str(caught.value)


def test_damage_is_one_line(snapshot: Path, tmp_path: Path) -> None:
    data = bytearray(snapshot.read_bytes())
    data[150] ^= 0xFF
    snapshot.write_bytes(bytes(data))
    assert complaint("--snapshot", snapshot).startswith(f"{snapshot}: damaged at position ")
    misnamed = tmp_path / "nope.checkpoint"
    assert complaint("--snapshot", misnamed) == f"{misnamed}: No such file or directory"
    misnamed.touch()
    assert complaint("--snapshot", misnamed).startswith(f"{misnamed}: its name")
    missing = tmp_path / snapshot_name(SnapshotId(1, 1))
    assert complaint("--snapshot", missing) == f"{missing}: No such file or directory"
    empty = tmp_path / "empty"
    empty.mkdir()
    assert complaint("--directory", empty) == f"{empty}: the directory has no metadata log and no snapshot"
    assert complaint("--directory", tmp_path / "nowhere") == f"{tmp_path / 'nowhere'}: No such file or directory"
    contradiction = batch(0, PartitionRecord(partition_id=0, topic_id=TOPIC, replicas=[1], isr=[1], leader=1))
    (empty / "00000000000000000000.log").write_bytes(contradiction)
    assert f"{empty}/00000000000000000000.log: at offset 0: PartitionRecord names topic" in complaint(
        "--directory", empty
    )
    assert complaint() == "Give one of --snapshot and --directory."


def topic(offset: int) -> bytes:
    return batch(offset, TopicRecord(name=f"t{offset}", topic_id=UUID(int=offset + 1)))


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize(
    ("segments", "where", "offset", "says"),
    [
        ({0: [topic(0), flipped(topic(1)), topic(2)]}, (0, 1), 1, "and sound batches follow from position"),
        ({0: [topic(0), flipped(topic(1))], 2: [topic(2)]}, (0, 1), 1, "checksum"),
        ({0: [topic(0), topic(1)[:-1]], 2: [topic(2)]}, (0, 1), 1, "bytes left of a batch"),
        ({0: [topic(0), topic(2)]}, (0, 1), 1, "the batch begins at offset 2"),
        ({0: [topic(0)], 2: [topic(2)]}, (2, 0), 1, "the segment begins at offset 2"),
        ({2: [topic(2)]}, (2, 0), 0, "the segment begins at offset 2"),
    ],
    ids=["inside a segment", "at its end", "cut", "a batch is missing", "a segment is missing", "the first is missing"],
)
def test_damage_in_the_middle_of_the_log_is_an_error(
    tmp_path: Path, segments: dict[int, list[bytes]], where: tuple[int, int], offset: int, says: str
) -> None:
    """docs/tools.md: the last batch of the log alone may be incomplete. The view would show an old state as the present
    one.
    """
    for base_offset, batches in segments.items():
        (tmp_path / f"{base_offset:020d}.log").write_bytes(b"".join(batches))
    base_offset, number = where
    position = sum(map(len, segments[base_offset][:number]))
    text = complaint("--directory", tmp_path)
    assert text.startswith(f"{tmp_path}/{base_offset:020d}.log: damaged at position {position} (offset {offset}): ")
    assert says in text


def test_the_end_of_the_log_may_be_damaged(tmp_path: Path) -> None:
    """A power cut may leave garbage in place of the last write, and a new segment without a batch."""
    (tmp_path / f"{0:020d}.log").write_bytes(topic(0) + flipped(topic(1)))
    (tmp_path / f"{1:020d}.log").write_bytes(b"")
    result = run("--directory", tmp_path, "ls", "/image/topics/byName")
    assert result.stdout == "t0\n"
    assert f"{tmp_path}/{0:020d}.log: at offset 1: checksum" in result.stderr


def test_segments_that_the_snapshot_covers_are_not_read(tmp_path: Path) -> None:
    write_snapshot(tmp_path, SnapshotId(2, 1), values([TopicRecord(name="old", topic_id=TOPIC)]), timestamp=5)
    (tmp_path / f"{0:020d}.log").write_bytes(topic(0) + flipped(topic(1)))
    (tmp_path / f"{2:020d}.log").write_bytes(topic(2))
    assert run("--directory", tmp_path, "ls", "/image/topics/byName").stdout == "old\nt2\n"


def test_a_pipe_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    """The shell would wait for a writer forever."""
    for path in (tmp_path / "00000000000000000000.log", tmp_path / snapshot_name(SnapshotId(1, 1))):
        os.mkfifo(path)
        option = "--snapshot" if path.suffix == ".checkpoint" else "--directory"
        where = path if path.suffix == ".checkpoint" else tmp_path
        assert complaint(option, where) == f"{path}: not a regular file"


def test_a_record_that_no_node_would_replay_ends_the_view(tmp_path: Path) -> None:
    """The record ends a node. The view shows all metadata before it, and names its place."""
    good = batch(0, TopicRecord(name="orders", topic_id=TOPIC))
    bad = batch(1, TopicRecord(name="../../pwned", topic_id=UUID(int=8)))
    (tmp_path / "00000000000000000000.log").write_bytes(good + bad)
    result = run("--directory", tmp_path, "ls", "/image/topics/byName")
    assert result.stdout == "orders\n"
    assert f"{tmp_path}/00000000000000000000.log: at offset 1: TopicRecord has a name" in result.stderr


def test_a_batch_beyond_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The length of a batch is the file's word; a sparse file of 2 GiB costs its author nothing."""
    good = batch(0, TopicRecord(name="orders", topic_id=TOPIC))
    bad = batch(1, *(TopicRecord(name=f"t{n}", topic_id=UUID(int=100 + n)) for n in range(9)))
    (tmp_path / "00000000000000000000.log").write_bytes(good + bad)
    monkeypatch.setattr(metadata_files, "MAX_READ_BATCH_BYTES", len(bad) - 1)
    result = run("--directory", tmp_path, "ls", "/image/topics/byName")
    assert result.stdout == "orders\n"
    assert f"at offset 1: a batch of {len(bad)} bytes; no more than {len(bad) - 1} are read" in result.stderr


def test_a_decompression_bomb_ends_the_view(snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its checksum is right, and its records are larger than any batch that is read."""
    limit = 2**20
    good = batch(0, TopicRecord(name="orders", topic_id=TOPIC))
    record = Record(1, TIMESTAMP_MS, None, bytes(limit))
    bomb = encode_batch([record], base_offset=1, leader_epoch=1, compression=Compression.GZIP)
    assert len(bomb) < limit / 100
    (tmp_path / "00000000000000000000.log").write_bytes(good + bomb)
    snapshot.write_bytes(bomb)
    monkeypatch.setattr(metadata_files, "MAX_READ_BATCH_BYTES", limit)
    monkeypatch.setattr("kraft.storage.snapshot.MAX_READ_BATCH_BYTES", limit)
    too_large = f"decompressed records are larger than the limit of {limit} bytes"
    assert too_large in complaint("--snapshot", snapshot)
    snapshot.unlink()
    result = run("--directory", tmp_path, "ls", "/image/topics/byName")
    assert result.stdout == "orders\n"
    assert f"at offset 1: {too_large}" in result.stderr


def test_a_batch_is_replayed_record_by_record(tmp_path: Path) -> None:
    """64 MiB of the smallest records are millions of objects."""
    count = 20_000
    (tmp_path / "00000000000000000000.log").write_bytes(batch(0, *[NoOpRecord()] * count))
    run("--directory", tmp_path, "cat", "/image/provenance")  # imports, and compiles the codecs
    tracemalloc.start()
    try:
        assert "19999" in run("--directory", tmp_path, "cat", "/image/provenance").stdout
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50 * count


@pytest.mark.interop
def test_beside_apaches_shell(apache_directories: Directories, tmp_path: Path) -> None:
    newest = max((apache_directories.stopped / "__cluster_metadata-0").glob("*.checkpoint"))
    path = str(shutil.copy(newest, tmp_path))
    for command in (("tree", "/image"), ("find", "/image/topics"), ("ls", "/image/cluster", "/image/scram")):
        ours = plain("\n".join(shown(Path(path), *command)))
        theirs = metadata_shell(path, *command, until=lambda answer, ours=ours: plain(answer) == ours)
        assert plain(theirs) == ours


def plain(text: str) -> list[str]:
    """Without what only one of them shows, and where Apache counts offsets within the snapshot."""
    text = re.sub(r", (elr|lastKnownElr|cordonedDirectories)=(\[\]|null)", "", text)
    text = re.sub(r"offset \d+, (epoch \d+), time \S+", r"\1", text)
    return [line for line in text.splitlines() if line]
