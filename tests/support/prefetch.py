"""Fetch the programs of the interop tests before the clocks of those tests run: ``python -m
tests.support.prefetch``.
"""

from __future__ import annotations

from tests.support.apache_process import APACHE_3, APACHE_4, class_archive
from tests.support.fetchers import (
    APACHE_KAFKA_WITH_ZOOKEEPER,
    FRANZ_GO,
    apache_kafka,
    go_program,
    java_client,
    kafkajs,
)
from tests.support.java_program import connect_jars, streams_jars


def main() -> None:
    print(kafkajs())
    print(go_program(FRANZ_GO))
    print(java_client(APACHE_KAFKA_WITH_ZOOKEEPER))
    for kind in (APACHE_3, APACHE_4):
        print(apache_kafka(kind.version))
        print(class_archive(kind.version))
    print(streams_jars())
    print(connect_jars())


if __name__ == "__main__":
    main()
