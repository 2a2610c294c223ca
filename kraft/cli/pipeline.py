"""``kraft pipeline``: what a cluster records about itself, as tables and as a page, by way of Spark."""

from __future__ import annotations

import functools
import importlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import click

from kraft.cli.options import run as run_on_cluster
from kraft.storage.errors import StorageError

if TYPE_CHECKING:
    from kraft.spark.pipeline.batches import Pipeline
    from kraft.spark.pipeline.store import TableStore

#: Spark's default of 200 is for a cluster.
_LOCAL = {"spark.sql.shuffle.partitions": "8"}
_STDERR = 2

T = TypeVar("T")


@attrs.frozen
class Tables:
    """The tables of a command, and the Spark that it runs on with the settings that the user gave."""

    into: str
    table_format: str
    master: str
    settings: Mapping[str, str]


def _settings(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    for value in values:
        if value.find("=") < 1:
            raise click.BadParameter(f"{value} is not KEY=VALUE")
    return dict(value.split("=", 1) for value in values)


def tables_options(command: Callable[..., T]) -> Callable[..., T]:
    """Add the options on tables and Spark to a command, and pass it their values as ``tables``."""

    @click.option(
        "--into", required=True, metavar="DIR", type=click.Path(file_okay=False), help="Directory of the tables."
    )
    @click.option(
        "--table-format",
        type=click.Choice(["parquet", "delta"]),
        default="parquet",
        show_default=True,
        help="Format of all tables in the directory. delta needs the jars of Delta Lake: see --conf.",
    )
    @click.option("--master", default="local[*]", show_default=True, metavar="URL", help="The Spark cluster to run on.")
    @click.option(
        "--conf",
        "settings",
        multiple=True,
        callback=_settings,
        metavar="KEY=VALUE",
        help="A setting of Spark, as spark-submit takes it, such as spark.jars.packages. May be repeated.",
    )
    @functools.wraps(command)
    def with_tables(
        *arguments: Any, into: str, table_format: str, master: str, settings: dict[str, str], **options: Any
    ) -> T:
        return command(*arguments, tables=Tables(into, table_format, master, settings), **options)

    return with_tables


lateness_option = click.option(
    "--lateness",
    "lateness_s",
    type=click.IntRange(1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="A minute of plane_latency is final this long after its end.",
)


@click.group("pipeline", short_help="Make tables and a report of what a cluster records, with Spark.")
def command() -> None:
    """Make tables and a report of what a cluster records, with Spark."""


@command.command("run")
@click.option(
    "-C", "--bootstrap-controller", "controllers", metavar="HOST:PORT,...", help="Controllers of the cluster."
)
@click.option(
    "-b",
    "--bootstrap-server",
    "brokers",
    metavar="HOST:PORT,...",
    help="Brokers of the cluster, for request logs in a topic.",
)
@click.option(
    "--events",
    metavar="DIR|TOPIC",
    help="Where the nodes write their request logs: with -b a topic, otherwise a directory.",
)
@tables_options
@click.option("--once", is_flag=True, help="End with what is available now.")
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(0.1),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two batches.",
)
@click.option(
    "--answers-interval",
    "answers_interval_s",
    type=click.FloatRange(1),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between two refreshes of the answers.",
)
@lateness_option
def run_command(
    controllers: str | None,
    brokers: str | None,
    events: str | None,
    tables: Tables,
    once: bool,
    interval_s: float,
    answers_interval_s: float,
    lateness_s: int,
) -> None:
    """Stream from a live cluster into tables, until Ctrl-C or SIGTERM.

    The first of these signals ends the run after the current batch, with exit status 0. A second one ends it at once.
    A restart goes on where the last run ended, even if it was killed.
    """
    if controllers is None and events is None:
        raise click.UsageError("Give -C HOST:PORT for the metadata, --events for the request logs, or both.")
    if brokers is not None and events is None:
        raise click.UsageError("-b goes with --events TOPIC.")
    if events is not None and brokers is None and not os.path.isdir(events):
        raise click.UsageError(f"--events {events}: no such directory; give -b HOST:PORT to read a topic.")
    cluster_id = _cluster_id(controllers, brokers)
    topic_id = _topic_id(brokers, events) if events is not None and brokers is not None else ""
    with _pipeline(tables, cluster_id, lateness_s) as (spark, pipeline):
        from kraft.spark.pipeline import inputs
        from kraft.spark.pipeline.run import Streams

        streams = Streams(spark, pipeline, tables.into)
        with _stopped_by_signals() as stop:
            sources = {}
            if controllers is not None:
                sources["raw_metadata"] = inputs.metadata_stream(spark, controllers)
            if events is not None and brokers is not None:
                sources["raw_events"] = inputs.topic_stream(spark, brokers, events)
            elif events is not None:
                sources["raw_events"] = inputs.file_stream(spark, events)
            pipeline.resume()
            for name, source in sources.items():
                streams.start(name, source, None if once else interval_s, topic_id if name == "raw_events" else "")
            click.echo(f"Writing tables into {tables.into}. Ctrl-C ends it.", err=True)
            batches = streams.follow(stop, answers_interval_s)
        if stop.is_set():
            click.echo(f"Ended after {batches} batches. The next run goes on from there.", err=True)
        else:
            _print_counts(pipeline)


@command.command("backfill")
@click.argument("directories", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False))
@tables_options
@lateness_option
def backfill_command(directories: tuple[str, ...], tables: Tables, lateness_s: int) -> None:
    """Add the logs in DIRECTORIES to the tables: the log directories of any number of nodes.

    Metadata logs, quorum journals and request logs are found there and below. Rows that the tables have already are
    not added again.
    """
    with _pipeline(tables, None, lateness_s, directories) as (spark, pipeline):
        from kraft.spark.pipeline.inputs import log_directories
        from kraft.spark.pipeline.run import BACKFILL_TABLES, backfill

        found = log_directories(directories)
        with click.progressbar(length=BACKFILL_TABLES, label="Backfill", item_show_func=lambda name: name or "") as bar:
            backfill(spark, pipeline, found, lambda name: bar.update(1, name))
        _print_counts(pipeline)


@command.command("compact")
@tables_options
def compact_command(tables: Tables) -> None:
    """Merge the small files of the tables. A running pipeline does so by itself."""
    _require_tables(tables)
    with _pipeline(tables, None, 1) as (_, pipeline):
        click.echo(f"{pipeline.compact()} batches merged")


@command.command("report")
@tables_options
@lateness_option
@click.option(
    "-o",
    "--output",
    default="report.html",
    show_default=True,
    type=click.Path(dir_okay=False, writable=True),
    help="The HTML page to write.",
)
def report_command(tables: Tables, output: str, lateness_s: int) -> None:
    """Write one self-contained HTML page with plots of the answers."""
    _require_tables(tables)
    with _pipeline(tables, None, lateness_s) as (_, pipeline):
        from kraft.spark.pipeline.report import cluster_report
        from kraft.story.report.page import render

        pipeline.resume()
        pipeline.answer()
        page = render(cluster_report(pipeline.store, tables.into))
    with open(output, "w", encoding="utf-8") as file:
        file.write(page)
    click.echo(f"Open {output} in a browser.")


def _require_tables(tables: Tables) -> None:
    """Raise ClickException before Spark starts, if the directory of the tables does not exist."""
    if "://" not in tables.into and not os.path.isdir(tables.into):
        raise click.ClickException(f"{tables.into}: no such directory; kraft pipeline backfill makes tables")


@contextmanager
def _pipeline(
    tables: Tables, cluster_id: str | None, lateness_s: int, directories: tuple[str, ...] = ()
) -> Iterator[tuple[Any, Pipeline]]:
    """Start Spark, lock the tables, and turn the errors of a pipeline into click's."""
    try:
        session = importlib.import_module("kraft.spark.session")
        from kraft.spark import register
        from kraft.spark.pipeline.batches import Pipeline
        from kraft.spark.pipeline.delta_store import DeltaStore, session_settings
        from kraft.spark.pipeline.inputs import log_directories
        from kraft.spark.pipeline.run import first_line
        from kraft.spark.pipeline.store import ParquetStore, StoreError, locked
    except ImportError as error:
        raise click.ClickException(str(error)) from None
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    into = tables.into
    try:
        if directories:
            cluster_id = log_directories(directories).cluster_id
        with locked(into, cluster_id, tables.table_format):
            is_delta, is_local = tables.table_format == "delta", session.is_local(tables.master)
            settings = {**(_LOCAL if is_local else {}), **tables.settings}
            if is_delta:
                settings = session_settings(settings, is_local=is_local)
            spark = session.session_on(tables.master, "kraft pipeline", settings)  # it ends with this process
            register(spark)
            store: TableStore = DeltaStore(spark, into) if is_delta else ParquetStore(spark, into)
            yield spark, Pipeline(store, lateness_s)
    except (PySparkException, Py4JJavaError) as error:  # an exception of Delta's own has no class in PySpark
        raise click.ClickException(first_line(error)) from None
    except (Py4JError, ConnectionError):
        raise click.ClickException("Spark's JVM ended. The next run goes on where this one was") from None
    except (session.JavaMissing, StoreError, StorageError, OSError) as error:
        raise click.ClickException(str(error)) from None


def _cluster_id(controllers: str | None, brokers: str | None) -> str | None:
    """Ask the cluster for its id. A dead cluster is an error here, before Spark starts."""
    bootstrap = controllers or brokers
    if bootstrap is None:
        return None
    described = run_on_cluster(bootstrap, lambda cluster: cluster.describe(controllers=controllers is not None))
    return described.cluster_id


def _topic_id(brokers: str, topic: str) -> str:
    """Ask the cluster for the id of a topic. A topic that does not exist is an error here, before Spark starts."""
    return str(run_on_cluster(brokers, lambda cluster: cluster.topic(topic)).topic_id)


@contextmanager
def _stopped_by_signals() -> Iterator[Event]:
    """Set an event at the first Ctrl-C or SIGTERM, so that the streams end between two batches.

    A second signal ends the process at once.
    """
    stop = Event()

    def handle(number: int, frame: FrameType | None) -> None:
        restore()
        # A signal may come in the middle of a buffered write, so this one has no buffer.
        os.write(
            _STDERR, f"{signal.strsignal(number)}: ending after this batch; a second signal ends at once\n".encode()
        )
        stop.set()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        restore()


def _print_counts(pipeline: Pipeline) -> None:
    from kraft.cli.output import print_columns
    from kraft.spark.pipeline.tables import TABLES

    rows = [(table.layer.name.lower(), table.name, pipeline.store.read(table).count()) for table in TABLES.values()]
    print_columns(["layer", "table", "rows"], rows)
