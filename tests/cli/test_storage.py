"""``kraft storage`` has the output and the effects of kafka-storage (KIP-631, "kafka-storage.sh")."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kraft.cli.main import cli
from kraft.config.features import NAME_OF_LEVEL
from kraft.control.bootstrap import load_bootstrap
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.storage.meta_properties import read_meta_properties
from kraft.wire.uuids import uuid_from_text
from tests.support.apache_tool import STORAGE, apache_tool

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
OTHER_CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAABQ"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(
        f"""process.roles=broker,controller
node.id=7
listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
controller.quorum.voters=7@localhost:9093
log.dirs={tmp_path / "a"},{tmp_path / "b"}
"""
    )
    return path


def test_a_random_uuid_does_not_look_like_an_option() -> None:
    texts = [run("storage", "random-uuid").output.strip() for _ in range(20)]
    assert len({uuid_from_text(text) for text in texts}) == 20
    assert not any(text.startswith("-") for text in texts)


def test_format_writes_both_files_into_every_directory(config: Path) -> None:
    """KIP-631: "the meta.properties file must be present in every log directory"."""
    result = run("storage", "format", "-c", config, "-t", CLUSTER_ID)
    directories = [config.parent / "a", config.parent / "b"]
    assert result.exit_code == 0
    record = "FeatureLevelRecord(name='metadata.version', featureLevel=21) at version 0"
    assert result.output.splitlines() == [
        (
            f"Bootstrap metadata: BootstrapMetadata(records=[ApiMessageAndVersion({record})], "
            "metadataVersionLevel=21, source=format command)"
        ),
        f"Formatting metadata directory {directories[0]} with metadata.version 3.9-IV0.",
        f"Formatting data directory {directories[1]} with metadata.version 3.9-IV0.",
    ]
    metas = [read_meta_properties(directory) for directory in directories]
    assert [(meta.cluster_id, meta.node_id) for meta in metas if meta] == [(CLUSTER_ID, 7)] * 2
    assert len({meta.directory_id for meta in metas if meta}) == 2
    for directory in directories:
        (record,) = load_bootstrap(str(directory)) or ()
        assert isinstance(record, FeatureLevelRecord)
        assert (record.name, record.feature_level) == ("metadata.version", 21)


@pytest.mark.interop
def test_format_prints_the_lines_of_apaches_tool(config: Path, tmp_path: Path) -> None:
    """Of one directory: in which order it formats more, Apache's tool leaves open."""
    text = config.read_text().replace(f",{tmp_path / 'b'}", "")
    options = ("-t", CLUSTER_ID, "-r", "3.8-IV0", "--no-initial-controllers", "--feature", "kraft.version=0")
    config.write_text(text)
    ours = run("storage", "format", "-c", config, *options).output
    config.write_text(text.replace(str(tmp_path / "a"), str(tmp_path / "c")))
    theirs = apache_tool(STORAGE, "format", "-c", str(config), *options)
    assert ours == theirs.replace(str(tmp_path / "c"), str(tmp_path / "a"))


def test_format_of_a_formatted_directory_touches_nothing(config: Path, tmp_path: Path) -> None:
    assert run("storage", "format", "-c", config, "-t", CLUSTER_ID).exit_code == 0
    before = (tmp_path / "a" / "meta.properties").read_bytes()
    result = run("storage", "format", "-c", config, "-t", CLUSTER_ID)
    assert result.exit_code == 1
    assert f"Log directory {tmp_path / 'a'} is already formatted. Use --ignore-formatted to ignore" in result.output
    assert (tmp_path / "a" / "meta.properties").read_bytes() == before


def test_ignore_formatted_formats_the_others(config: Path, tmp_path: Path) -> None:
    run("storage", "format", "-c", config, "-t", CLUSTER_ID)
    (tmp_path / "b" / "meta.properties").unlink()
    result = run("storage", "format", "-c", config, "-t", CLUSTER_ID, "--ignore-formatted")
    assert (result.exit_code, len(result.output.splitlines())) == (0, 2)
    assert f"Formatting data directory {tmp_path / 'b'}" in result.output
    again = run("storage", "format", "-c", config, "-t", CLUSTER_ID, "-g")
    assert (again.exit_code, again.output) == (0, "All of the log directories are already formatted.\n")


def test_ignore_formatted_does_not_ignore_another_cluster(config: Path) -> None:
    run("storage", "format", "-c", config, "-t", CLUSTER_ID)
    result = run("storage", "format", "-c", config, "-t", OTHER_CLUSTER_ID, "-g")
    assert result.exit_code == 1
    assert (
        f"belongs to node 7 of cluster {CLUSTER_ID}, and this is node 7 of cluster {OTHER_CLUSTER_ID}" in result.output
    )


@pytest.mark.parametrize(("release", "level"), [("3.8", 20), ("3.7-IV2", 17), ("3.9.1", 21), ("4.3", 30)])
def test_format_with_a_release(config: Path, tmp_path: Path, release: str, level: int) -> None:
    result = run("storage", "format", "-c", config, "-t", CLUSTER_ID, "-r", release)
    assert f"with metadata.version {NAME_OF_LEVEL[level]}." in result.output
    record, *_ = load_bootstrap(str(tmp_path / "a")) or ()
    assert record.feature_level == level


@pytest.mark.parametrize(
    ("options", "levels"),
    [
        (["-f", "group.version=1"], {"metadata.version": 21, "group.version": 1}),
        (
            ["-r", "4.3"],
            {"metadata.version": 30, "group.version": 1, "share.version": 1, "transaction.version": 2},
        ),
        (
            ["-r", "4.3", "-f", "group.version=0"],
            {"metadata.version": 30, "share.version": 1, "transaction.version": 2},
        ),
        (["-f", "transaction.version=1"], {"metadata.version": 21, "transaction.version": 1}),
        (["-r", "3.9", "-f", "group.version=1"], {"metadata.version": 21, "group.version": 1}),
    ],
)
def test_format_with_the_features_of_a_cluster(
    config: Path, tmp_path: Path, options: list[str], levels: dict[str, int]
) -> None:
    """KIP-1022: a release gives the levels of all features, and an option replaces one. Level 0 has no record."""
    result = run("storage", "format", "-c", config, "-t", CLUSTER_ID, *options)
    assert result.exit_code == 0, result.output
    records = load_bootstrap(str(tmp_path / "a")) or ()
    assert [(record.name, record.feature_level) for record in records] == list(levels.items())
    assert all(f"name='{name}', featureLevel={level})" in result.output for name, level in levels.items())


def test_format_accepts_no_initial_controllers(config: Path, tmp_path: Path) -> None:
    """KIP-853: kraft.version 0, and no controllers but those of controller.quorum.voters."""
    options = ["--no-initial-controllers", "--feature", "kraft.version=0", "--feature", "metadata.version=20"]
    assert run("storage", "format", "-c", config, "-t", CLUSTER_ID, *options).exit_code == 0
    (record,) = load_bootstrap(str(tmp_path / "a")) or ()
    assert (record.name, record.feature_level) == ("metadata.version", 20)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["-t", CLUSTER_ID, "-f", "kraft.version=1"], "kraft.version can be 0 to 0 here, not 1"),
        (["-t", CLUSTER_ID, "-f", "metadata.version=31"], "metadata.version can be 7 to 30 here, not 31"),
        (["-t", CLUSTER_ID, "-f", "group.version=2"], "group.version can be 0 to 1 here, not 2"),
        (["-t", CLUSTER_ID, "-f", "kraft.version"], "'kraft.version' is not NAME=LEVEL"),
        (["-t", CLUSTER_ID, "-r", "3.9", "-f", "metadata.version=21"], "Use --release-version instead of"),
        (["-t", "short"], "Cluster ID string short does not appear to be a valid UUID"),
        (["-t", CLUSTER_ID, "-r", "9.9"], "Unknown metadata.version '9.9'"),
        (["-t", CLUSTER_ID, "-r", "3.2"], "Unsupported metadata.version '3.2'"),
    ],
)
def test_format_refuses_in_one_line_and_makes_nothing(
    config: Path, tmp_path: Path, arguments: list[str], why: str
) -> None:
    result = run("storage", "format", "-c", config, *arguments)
    assert result.exit_code == 1
    assert why in result.output
    assert len(result.output.splitlines()) == 1
    assert not (tmp_path / "a").exists()


def test_format_names_the_directory_that_it_cannot_create(config: Path, tmp_path: Path) -> None:
    (tmp_path / "b").write_text("a file")
    result = run("storage", "format", "-c", config, "-t", CLUSTER_ID)
    assert result.exit_code == 1
    assert str(tmp_path / "b") in result.output


def test_a_bad_configuration_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("process.roles=observer\n")
    result = run("storage", "info", "-c", path)
    assert result.exit_code == 1
    assert result.output == (
        "Error: Invalid value observer for configuration process.roles: Each role must be broker or controller\n"
    )


def test_an_unknown_setting_is_a_warning(config: Path) -> None:
    config.write_text(config.read_text() + "num.io.thread=3\n")
    result = run("storage", "format", "-c", config, "-t", CLUSTER_ID)
    assert result.exit_code == 0
    assert "Warning: The configuration num.io.thread was supplied but is not a setting" in result.stderr


def test_info_of_formatted_directories(config: Path, tmp_path: Path) -> None:
    run("storage", "format", "-c", config, "-t", CLUSTER_ID)
    result = run("storage", "info", "-c", config)
    assert result.exit_code == 0
    assert result.output.startswith(f"Found log directories:\n  {tmp_path / 'a'}\n  {tmp_path / 'b'}\n\n")
    assert f"Found metadata: {{cluster.id={CLUSTER_ID}, directory.id=" in result.output
    assert ", node.id=7, version=1}" in result.output


def test_info_of_an_unformatted_directory_exits_1(config: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    result = run("storage", "info", "-c", config)
    assert result.exit_code == 1
    assert result.output == (
        f"Found log directory:\n  {tmp_path / 'a'}\n\n"
        f"Found problems:\n  {tmp_path / 'a'} is not formatted.\n  {tmp_path / 'b'} does not exist\n\n"
    )


def test_info_reports_a_directory_of_another_node_or_cluster(config: Path, tmp_path: Path) -> None:
    run("storage", "format", "-c", config, "-t", CLUSTER_ID)
    for directory, changes in (("b", {CLUSTER_ID: OTHER_CLUSTER_ID}), ("a", {"node.id=7": "node.id=8"})):
        name = tmp_path / directory / "meta.properties"
        for before, after in changes.items():
            name.write_text(name.read_text().replace(before, after))
    result = run("storage", "info", "-c", config)
    assert result.exit_code == 1
    assert result.output.endswith(
        "Found problems:\n  Mismatched cluster IDs between storage directories.\n"
        "  The directories belong to node 8, and this is node 7.\n\n"
    )


def test_info_reports_any_directory_from_before_kraft(config: Path, tmp_path: Path) -> None:
    """KIP-631: "the KRaft mode meta.properties" is version 1; of version 0 is that of brokers with ZooKeeper."""
    run("storage", "format", "-c", config, "-t", CLUSTER_ID)
    (tmp_path / "b" / "meta.properties").write_text(f"version=0\nbroker.id=7\ncluster.id={CLUSTER_ID}\n")
    result = run("storage", "info", "-c", config)
    assert (result.exit_code, result.output.count("Found problem:\n  The kafka configuration file appears")) == (1, 1)


def test_a_broker_with_zookeeper_formats_its_own_directories(config: Path, tmp_path: Path) -> None:
    """As Apache's StorageTool: with a configuration without process.roles it formats nothing."""
    run("storage", "format", "-c", config, "-t", CLUSTER_ID)
    directories = f"{tmp_path / 'a'},{tmp_path / 'b'}"
    config.write_text(f"broker.id=7\nzookeeper.connect=localhost:2181\nlog.dirs={directories}\n")
    refused = run("storage", "format", "-c", config, "-t", CLUSTER_ID, "--ignore-formatted")
    assert refused.exit_code == 1
    assert refused.output == (
        "Error: The kafka configuration file appears to be for a legacy cluster. "
        "Formatting is only supported for clusters in KRaft mode.\n"
    )
    result = run("storage", "info", "-c", config)
    assert result.exit_code == 1
    assert result.output.endswith(
        "Found problem:\n  The kafka configuration file appears to be for a legacy cluster, "
        "but the directories are formatted for a cluster in KRaft mode.\n\n"
    )
    for name in ("a", "b"):
        (tmp_path / name / "meta.properties").write_text(f"version=0\nbroker.id=7\ncluster.id={CLUSTER_ID}\n")
    assert run("storage", "info", "-c", config).exit_code == 0


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("\\u12", "not a properties file: Invalid \\u escape sequence: \\u12"),
        (None, "not a regular file"),
    ],
)
def test_info_reports_a_fault_that_ends_apaches_tool(config: Path, tmp_path: Path, name: str | None, why: str) -> None:
    run("storage", "format", "-c", config, "-t", CLUSTER_ID)
    path = tmp_path / "b" / "meta.properties"
    path.unlink()
    path.mkdir() if name is None else path.write_text(name)
    result = run("storage", "info", "-c", config)
    assert result.exit_code == 1
    assert str(path) in result.output
    assert result.output.endswith(f"{why}\n\n")


def test_info_reports_a_pipe_in_the_place_of_a_file(config: Path, tmp_path: Path) -> None:
    run("storage", "format", "-c", config, "-t", CLUSTER_ID)
    path = tmp_path / "b" / "meta.properties"
    path.unlink()
    os.mkfifo(path)
    result = run("storage", "info", "-c", config)
    assert result.exit_code == 1
    assert result.output.endswith(f"Error loading {path}: not a regular file\n\n")


SOUND = f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=7\ndirectory.id=BBBBBBBBBBBBBBBBBBBBBQ\n"


@pytest.mark.interop
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (SOUND, SOUND),
        ("", SOUND),
        (f"version=0\nbroker.id=7\ncluster.id={CLUSTER_ID}\n", SOUND),
        ("version=2\n", "version=x\n"),
        ("broker.id=x\n", f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=2147483648\n"),
        ("version=1\nnode.id=7\n", f"version = 1 \ncluster.id:{CLUSTER_ID}\nnode.id=7 \n"),
        ("version=1\n", f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=+7\n"),
        (SOUND, SOUND.replace(CLUSTER_ID, OTHER_CLUSTER_ID)),
        (SOUND, SOUND.replace("node.id=7", "node.id=8")),
        (None, SOUND),
    ],
)
def test_info_reports_the_problems_of_apaches_tool(
    config: Path, tmp_path: Path, first: str | None, second: str
) -> None:
    """Of sound directories, empty files, damaged ones, and such as do not belong together."""
    for directory, text in (("a", first), ("b", second)):
        (tmp_path / directory).mkdir()
        if text is not None:
            (tmp_path / directory / "meta.properties").write_text(text)
    config.write_text(f"{config.read_text()}log.dirs={tmp_path / 'b'},{tmp_path / 'a'}\n")
    ours = run("storage", "info", "-c", config)
    theirs = apache_tool(STORAGE, "info", "-c", str(config), status=ours.exit_code)
    assert ours.output == re.sub(r"^(java\.lang|Caused by|\s+at |\s+\.\.\. ).*\n", "", theirs, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["storage", "format"], "Error: Missing option '-c' / '--config'."),
        (["nonsense"], "Error: No such command 'nonsense'."),
    ],
)
def test_wrong_usage_is_one_line_and_exit_status_1(arguments: list[str], why: str) -> None:
    result = subprocess.run([sys.executable, "-m", "kraft", *arguments], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", f"{why}\n")


def test_the_command_starts_without_the_modules_of_other_commands() -> None:
    script = "import sys, kraft.cli.main; sys.exit(int('trio' in sys.modules or 'attrs' in sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
