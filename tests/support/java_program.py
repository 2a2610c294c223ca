"""A program of the Java world that uses a cluster: configured by a properties file, ready once it prints a line, killed
and started again on the same directory.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import attrs

from tests.support.apache_process import LOGGER
from tests.support.fetchers import APACHE_KAFKA, QUICK_JVM, maven_jars, require
from tests.support.node_process import NodeProcess

COMPILE_TIMEOUT_S = 120.0
TALKATIVE = ("clients", "common", "connect.mirror.Scheduler", "connect.runtime.isolation", "streams")
"""Loggers that name each setting, plugin and step."""


@attrs.frozen
class JavaProgram:
    """The kind of a process: a main class with the path of its properties as its argument."""

    main_class: str
    class_path: str
    ready_mark: str
    ready_timeout_s: float = 120.0

    def format_command(self, properties: object) -> list[str]:
        raise AssertionError("a program has nothing to format")

    def run_command(self, properties: Path) -> list[str]:
        quiet = [f"-Dorg.slf4j.simpleLogger.log.org.apache.kafka.{name}=warn" for name in TALKATIVE]
        return [require("java"), *QUICK_JVM, *quiet, "-cp", self.class_path, self.main_class, str(properties)]


@attrs.define
class ProgramProcess(NodeProcess):
    """One run after another of a program, all of which print to one file."""

    ports: list[int] = attrs.Factory(list)

    def format(self) -> None:
        """Write the properties."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.properties_path.write_text("".join(f"{key}={value}\n" for key, value in self.settings.items()))

    def last(self, pattern: str) -> re.Match[str] | None:
        """The last line of the present run that matches."""
        with self.output_path.open("rb") as output:
            output.seek(self._output_before)
            matches = [re.match(pattern, line.decode(errors="replace")) for line in output]
        return next((each for each in reversed(matches) if each), None)


@contextlib.contextmanager
def running_programs(*processes: ProgramProcess) -> Iterator[None]:
    """Start these side by side. They are gone when the block ends; their last lines are printed if it fails."""
    try:
        for each in processes:
            each.launch()
        for each in processes:
            each.wait_ready()
        yield
    except BaseException:
        for each in processes:
            print(f"--- {each.directory}\n{''.join(each.output[-60:])}")
        raise
    finally:
        for each in processes:
            each.kill()


def streams_jars() -> str:
    """The class path of Kafka Streams."""
    return _class_path(f"kafka-streams-{APACHE_KAFKA}", "kafka-streams")


def connect_jars() -> str:
    """The class path of Kafka Connect with its file connectors and MirrorMaker 2."""
    return _class_path(f"kafka-connect-{APACHE_KAFKA}", "connect-runtime", "connect-file", "connect-mirror")


def _class_path(name: str, *artifacts: str) -> str:
    jars = maven_jars(name, [f"org.apache.kafka:{artifact}:{APACHE_KAFKA}" for artifact in artifacts])
    return f"{jars}/*:{maven_jars('slf4j-simple', [LOGGER])}/*"


def compiled(source: Path, class_path: str, directory: Path) -> str:
    """Compile a program once, since every start of ``java SOURCE`` would. Returns its class path."""
    command = [require("javac"), "-cp", class_path, "-d", str(directory), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr
    return f"{directory}:{class_path}"
