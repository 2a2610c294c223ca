"""Clients that PyPI does not have: npm, Maven and Go fetch them once, into a cache outside the checkout.

A missing tool is an error that names the package to install, never a skipped test: a run that skips proves nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

APACHE_KAFKA = "4.3.1"
APACHE_KAFKA_WITH_ZOOKEEPER = "3.9.2"
KAFKAJS_PACKAGES = {
    "kafkajs": "2.2.4",
    # gzip is built in; the other codecs are plugged in, by packages that nothing has to compile.
    "kafkajs-snappy": "1.1.0",
    "lz4-napi": "2.10.0",
    "@bokuweb/zstd-wasm": "0.0.27",
}
FRANZ_GO = Path(__file__).parents[1] / "clients" / "beyond" / "franz"
"""The module of a program with franz-go."""
# For a JVM that lives for seconds: it does not compile for a long life, nor take all the memory there is.
QUICK_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx256m")
FETCH_TIMEOUT_S = 600.0
HINTS = {
    "kcat": "Debian: apt-get install kcat",
    "node": "Node.js 18 or newer; Debian: apt-get install nodejs",
    "npm": "Debian: apt-get install npm",
    "java": "a JDK, 17 or newer; Debian: apt-get install openjdk-17-jdk-headless",
    "javac": "a JDK, 17 or newer; Debian: apt-get install openjdk-17-jdk-headless",
    "go": "Go 1.26 or newer; https://go.dev/dl",
    "mvn": "Maven; Debian: apt-get install maven",
}


class MissingTool(RuntimeError):
    """A program that the interop tests run is not on PATH; the message names the package to install."""


def require(tool: str) -> str:
    """The path of ``tool``.

    Raises:
        MissingTool: it is not on PATH.
    """
    path = shutil.which(tool)
    if path is None:
        raise MissingTool(f"`{tool}` is not on PATH; the interop tests need it ({HINTS[tool]})")
    return path


def cache_directory() -> Path:
    """``$KRAFT_TESTS_CACHE``, else ``kraft-tests`` under the user's cache directory."""
    if chosen := os.environ.get("KRAFT_TESTS_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kraft-tests"


def fetch_once(name: str, fill: Callable[[Path], None]) -> Path:
    """The cached directory ``name``; ``fill`` makes its contents the first time.

    The directory gets its name only when it is complete, and under a lock, so that neither an interrupted fetch nor a
    second run at the same time leaves half of one behind.
    """
    target = cache_directory() / name
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{name}-") as scratch:
                filled = Path(scratch) / name
                filled.mkdir()
                fill(filled)
                filled.rename(target)
    return target


def _run(command: Sequence[str], directory: Path) -> None:
    done = subprocess.run(
        command, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed ({done.returncode}):\n{done.stdout}{done.stderr}")


def npm_packages(name: str, packages: Mapping[str, str]) -> Path:
    """A directory with a ``node_modules`` that holds exact versions; no package's install script is run."""

    def fill(directory: Path) -> None:
        wanted = [f"{package}@{version}" for package, version in packages.items()]
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", f"--prefix={directory}"]
        _run([require("npm"), "install", *options, *wanted], directory)

    return fetch_once(name, fill)


def maven_jars(name: str, coordinates: Sequence[str], *, transitive: bool = True) -> Path:
    """A directory with the jars of ``group:artifact:version`` coordinates and, if ``transitive``, of all that they need
    at run time."""

    def fill(directory: Path) -> None:
        dependencies = "".join(
            "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>".format(
                *coordinate.split(":")
            )
            for coordinate in coordinates
        )
        with tempfile.TemporaryDirectory() as scratch:
            pom = Path(scratch) / "pom.xml"
            pom.write_text(
                '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
                "<groupId>kraft</groupId><artifactId>interop</artifactId><version>1</version>"
                f"<dependencies>{dependencies}</dependencies></project>"
            )
            goal = ["dependency:copy-dependencies", f"-DoutputDirectory={directory}", "-DincludeScope=runtime"]
            goal += [f"-DexcludeTransitive={str(not transitive).lower()}"]
            _run([require("mvn"), "-q", "-B", "-f", str(pom), *goal], directory)

    return fetch_once(name, fill)


def go_program(directory: Path) -> Path:
    """The program that Go builds of the module in ``directory``, whose ``go.sum`` pins what it downloads."""
    sources = [directory / name for name in ("go.mod", "go.sum", "main.go")]
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in sources)).hexdigest()[:12]

    def fill(built: Path) -> None:
        _run([require("go"), "build", "-buildvcs=false", "-o", str(built / directory.name), "."], directory)

    return fetch_once(f"{directory.name}-{digest}", fill) / directory.name


def kafkajs() -> Path:
    """kafkajs with a codec plug-in for each codec that it does not carry."""
    return npm_packages(f"kafkajs-{KAFKAJS_PACKAGES['kafkajs']}", KAFKAJS_PACKAGES)


def java_client(version: str) -> Path:
    """The jars of the Java client alone."""
    return maven_jars(f"kafka-clients-{version}", [f"org.apache.kafka:kafka-clients:{version}"])


def apache_kafka(version: str) -> Path:
    """The jars of Apache Kafka: broker, controller, client, command line tools, metadata shell."""
    artifacts = ("kafka_2.13", "kafka-tools", "kafka-shell")
    return maven_jars(f"kafka-{version}", [f"org.apache.kafka:{artifact}:{version}" for artifact in artifacts])
