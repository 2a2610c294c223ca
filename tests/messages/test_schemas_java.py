"""Our bytes through Apache Kafka's own generated codecs: each message in each version is read and written again, byte
for byte, by a release that knows it."""

from __future__ import annotations

import subprocess
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings

from kraft.wire.codec import encode
from kraft.wire.schema import Message
from tests.messages.strategies import messages, pairs
from tests.support.fetchers import APACHE_KAFKA, APACHE_KAFKA_WITH_ZOOKEEPER, apache_kafka, require

PROGRAM = Path(__file__).parent / "java" / "RoundTrip.java"
RELEASES = (APACHE_KAFKA_WITH_ZOOKEEPER, APACHE_KAFKA)
EXAMPLES = 5
MAX_BYTES = 60_000
RUN_LIMIT_S = 110

pytestmark = pytest.mark.interop


@cache
def cases() -> str:
    """The lines for the program: some messages of each class in each version, the same in every run."""
    lines: list[str] = []
    for cls, version in pairs():
        _add(lines, cls, version)
    return "".join(lines)


def _add(lines: list[str], cls: type[Message], version: int) -> None:
    @seed(1)
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(messages(cls, version))
    def add(message: Message) -> None:
        data = encode(message, version)
        if len(data) <= MAX_BYTES:
            lines.append(f"{cls.__name__}\t{version}\t{data.hex()}\n")

    add()


@cache
def verdicts(release: str, path: Path) -> dict[str, Counter[tuple[str, str]]]:
    """Return the program's lines by their first word: names and versions, and the failures with their reasons."""
    path.write_text(cases())
    command = [require("java"), "-cp", f"{apache_kafka(release)}/*", str(PROGRAM), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Counter[tuple[str, str]]] = {"ok": Counter(), "unknown": Counter(), "bad": Counter()}
    for line in done.stdout.splitlines():
        word, name, rest = line.split(" ", 2)
        found[word][name, rest] += 1
    return found


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("java") / "cases.tsv"


@pytest.mark.parametrize("release", RELEASES)
def test_apache_reads_and_writes_the_same_bytes(release: str, path: Path) -> None:
    found = verdicts(release, path)
    bad = {name for name, _ in found["bad"]}
    # Kafka 3.9 had share groups as a preview (KIP-932): no hash in the group's records, no leader epoch in a summary.
    preview = {"ShareGroupMetadataValue", "ReadShareGroupStateSummaryResponse"}
    assert bad == (preview if release == APACHE_KAFKA_WITH_ZOOKEEPER else set()), found["bad"]
    assert len(found["ok"]) > 550


def test_every_message_is_known_to_one_of_the_releases(path: Path) -> None:
    known = {pair for release in RELEASES for pair in verdicts(release, path)["ok"]}
    ours = {(cls.__name__, str(version)) for cls, version in pairs()}
    # Kafka 3.9 does not have them. Kafka 4 writes the same bytes, but there the number of a key is not its version.
    new_keys = {("ConsumerGroupRegularExpressionKey", "16")}
    new_keys |= {(name, version) for name, version in ours if name.startswith("Share") and name.endswith("Key")}
    assert ours - known == new_keys - known
