"""``kraft consume``: its output for a record, and its last line."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st

from kraft.cli.consume import Printer
from kraft.cli.main import cli
from kraft.records.record import Record
from kraft.testing.embedded import EmbeddedCluster
from tests.support.node_process import environment

NOT_TEXT = b"\xc1\xff"


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with EmbeddedCluster({"orders": 1}) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        headers = [("h", NOT_TEXT), ("text", b"t"), ("null", None)]
        producer.produce("orders", key=NOT_TEXT, value=b"\\xc1", headers=headers)
        producer.produce("orders", key=None, value=NOT_TEXT)
        assert producer.flush(30) == 0
        yield cluster.bootstrap_servers


def test_json_distinguishes_bytes_from_text(bootstrap: str) -> None:
    """The four characters ``\\xc1`` and the byte 0xC1 were printed alike."""
    arguments = ["consume", "orders", "-b", bootstrap, "--from-beginning", "--max-messages", "2", "--json"]
    result = CliRunner(catch_exceptions=False).invoke(cli, arguments)
    first, second = map(json.loads, result.stdout.splitlines())
    encoded = base64.b64encode(NOT_TEXT).decode()
    assert (first["key_base64"], first["value"]) == (encoded, "\\xc1")
    assert (second["key"], second["value_base64"]) == (None, encoded)
    assert first["headers"] == [
        {"key": "h", "value_base64": encoded},
        {"key": "text", "value": "t"},
        {"key": "null", "value": None},
    ]


def decoded(entry: dict[str, Any], name: str) -> bytes | None:
    """The reader's side, as docs/tools.md describes it."""
    if f"{name}_base64" in entry:
        return base64.b64decode(entry[f"{name}_base64"])
    value = entry[name]
    return None if value is None else value.encode()


nullable = st.none() | st.binary(max_size=20)


@given(nullable, nullable, st.lists(st.tuples(st.binary(max_size=9), nullable), max_size=3))
def test_json_loses_nothing(key: bytes | None, value: bytes | None, headers: list[tuple[bytes, bytes | None]]) -> None:
    names = tuple((name.decode(errors="surrogateescape"), content) for name, content in headers)
    printer = Printer("orders", as_json=True, keys=False, timestamps=False)
    with CliRunner().isolation() as (output, *_):
        printer.print(0, Record(7, 1, key, value, names))
        (line,) = output.getvalue().decode().splitlines()
    entry = json.loads(line)
    assert (decoded(entry, "key"), decoded(entry, "value")) == (key, value)
    assert [(decoded(each, "key"), decoded(each, "value")) for each in entry["headers"]] == headers


def test_ctrl_c_prints_the_number_of_printed_records(bootstrap: str) -> None:
    command = [sys.executable, "-m", "kraft", "consume", "orders", "-b", bootstrap, "--from-beginning", "--keys"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == NOT_TEXT + b"\t\\xc1\n"
        assert process.stdout.readline() == b"\t" + NOT_TEXT + b"\n"
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, errors.decode()) == (130, "Printed 2 records of orders.\n")
