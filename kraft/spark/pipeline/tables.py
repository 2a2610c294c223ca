"""The tables of the pipeline: their columns, types and documentation, as data.

docs/pipeline/tables.md lists them from here, the writer checks rows against them, and a reader adds the columns that an
older table lacks. Types are Spark's DDL. A column may be added. One that is here keeps its type and its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import attrs


class Layer(Enum):
    """The layers, in the order of the lineage. The values are their headings."""

    RAW = "Raw: the input as it came"
    TYPED = "Typed: one row for each event"
    ANSWERS = "Answers: what follows from the events"


@attrs.frozen
class Column:
    """A column: its name, its type in Spark's DDL, and one line of documentation. Any value may be null."""

    name: str
    type: str
    doc: str


@attrs.frozen
class TableSchema:
    """A table. ``sources`` are the tables from which its rows are made; a raw table has none.

    A ``dated`` table is partitioned by the day (UTC) of its column ``time``.
    """

    name: str
    layer: Layer
    doc: str
    columns: tuple[Column, ...]
    sources: tuple[str, ...] = ()

    @property
    def dated(self) -> bool:
        return self.layer is not Layer.ANSWERS

    @property
    def ddl(self) -> str:
        """The columns as a schema in Spark's DDL, without those of the partitions."""
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


#: The columns by which the files of a table are partitioned. Every table has ``batch``, and dated ones have ``day``.
BATCH = Column("batch", "string", "The batch that wrote the row: its query and number.")
DAY = Column("day", "date", "The day of `time`, in UTC.")

_OFFSET = Column("offset", "bigint", "Offset of the record in the metadata log.")
_EPOCH = Column("epoch", "int", "Epoch of the controller that wrote the record.")
_RECORD_TIME = Column("time", "timestamp", "Time of the record by the clock of the active controller.")
_ORIGIN = Column("origin", "string", "`log`, or `snapshot` for a record that stands for earlier ones.")
_OF_RECORD = (_OFFSET, _EPOCH, _RECORD_TIME, _ORIGIN)

_LINE_TIME = Column("time", "timestamp", "Time of the event by the clock of its node.")
_NODE = Column("node", "int", "Id of the node that wrote the line.")
_OF_LINE = (_LINE_TIME, _NODE)

_TOPIC_ID = Column("topic_id", "string", "Id of the topic, in Kafka's base64 form.")
_TOPIC = Column("topic", "string", "Name of the topic; null if no record at hand names it.")
_PARTITION = Column("partition", "int", "Number of the partition.")
_BROKER = Column("broker", "int", "Id of the broker.")
_BROKER_EPOCH = Column("broker_epoch", "bigint", "Epoch of the registration.")

_START = Column("started", "timestamp", "Begin of the interval.")
_END = Column("ended", "timestamp", "End of the interval; null while it lasts.")
_SECONDS = Column("seconds", "double", "Length of the interval in seconds; null while it lasts.")
_INTERVAL = (_START, _END, _SECONDS)

_OF_CAMPAIGN = (
    Column("campaign", "string", "Id of the campaign: `commit` and `python`, with a slash between."),
    Column("commit", "string", "Commit of the code, with a hash of its files if they may differ."),
    Column("python", "string", "Version of Python on the executors."),
)

_RAW = (
    TableSchema(
        "raw_metadata",
        Layer.RAW,
        "The records of the metadata log. A snapshot stands in for the records that it replaced.",
        (
            *_OF_RECORD,
            Column("type", "string", "Kafka's name of the record type, such as `PARTITION_RECORD`; null if unknown."),
            Column("version", "int", "Version of the record."),
            Column("record", "string", "The record as JSON, as `kraft dump-log` prints it."),
            Column("bytes", "binary", "The bytes of a record that could not be decoded."),
            Column("error", "string", "The reason why it could not be decoded."),
        ),
    ),
    TableSchema(
        "raw_events",
        Layer.RAW,
        "The lines of quorum journals and request logs.",
        (
            *_OF_LINE,
            Column("kind", "string", "The kind of the event, such as `request`, `transition` or `verdict`."),
            Column("id", "string", "Identifies the line: node, start and number, or a hash of the line."),
            Column("source", "string", "The file, or the topic with partition, that the line was read from."),
            Column("line", "binary", "The line as it came, without its end."),
            Column("error", "string", "The reason why the line could not be decoded."),
        ),
    ),
    TableSchema(
        "quarantine",
        Layer.RAW,
        "The records and lines that could not be decoded. Nothing else is made of them.",
        (
            Column("time", "timestamp", "Time of the record or line, if it is known."),
            Column("source", "string", "`metadata`, or the file or topic of the line."),
            Column("place", "string", "The offset of the record, or the identity of the line."),
            Column("reason", "string", "The reason why it could not be decoded."),
            Column("bytes", "binary", "The bytes as they came."),
        ),
        ("raw_metadata", "raw_events"),
    ),
    TableSchema(
        "campaign_verdicts",
        Layer.RAW,
        "The seeds of simulation campaigns, each once. Campaign and seed determine all columns, except `time`, "
        "`cpu_seconds` and `agreed`.",
        (
            Column("time", "timestamp", "Time at which the seed ended, by the clock of its executor."),
            *_OF_CAMPAIGN,
            Column("seed", "bigint", "The seed."),
            Column("profile", "string", "The profile of faults that the seed draws, such as `elections`."),
            Column("voters", "int", "Number of simulated voters."),
            Column("observers", "int", "Number of simulated observers."),
            Column("verdict", "string", "`passed` or `failed`."),
            Column("invariant", "string", "The invariant that the seed broke; null if it passed."),
            Column("reason", "string", "The failure in words; empty if the seed passed."),
            Column("events", "bigint", "Number of simulated events."),
            Column("committed", "bigint", "Number of records committed."),
            Column("simulated_seconds", "double", "Length of the simulated time."),
            Column("trace_hash", "string", "Hash of all events. Equal seeds of a campaign have equal ones."),
            Column("cpu_seconds", "double", "CPU time that the seed took."),
            Column("agreed", "boolean", "Whether another task found the same trace; null if no other ran the seed."),
            Column("coverage", "map<string,bigint>", "How often the seed reached each state."),
        ),
    ),
)

_FROM_METADATA = ("raw_metadata",)
_FROM_EVENTS = ("raw_events",)

_TYPED = (
    TableSchema(
        "topics",
        Layer.TYPED,
        "Topics created and deleted.",
        (
            *_OF_RECORD,
            _TOPIC_ID,
            _TOPIC,
            Column("created", "boolean", "Whether the topic was created; else it was deleted."),
        ),
        _FROM_METADATA,
    ),
    TableSchema(
        "registrations",
        Layer.TYPED,
        "Registrations of brokers and controllers, and their ends.",
        (
            *_OF_RECORD,
            Column("node", "int", "Id of the broker or controller."),
            Column("role", "string", "`broker` or `controller`."),
            _BROKER_EPOCH,
            Column("registered", "boolean", "Whether the node registered; else it was unregistered."),
            Column("incarnation_id", "string", "Id of this run of the process."),
            Column("endpoints", "string", "Addresses of the listeners, as `NAME://HOST:PORT` with commas between."),
            Column("rack", "string", "Rack of the broker."),
            Column("fenced", "boolean", "Whether the registration began fenced."),
            Column("in_controlled_shutdown", "boolean", "Whether it began in controlled shutdown."),
        ),
        _FROM_METADATA,
    ),
    TableSchema(
        "fencing",
        Layer.TYPED,
        "Brokers fenced and unfenced, and the begins of controlled shutdowns.",
        (
            *_OF_RECORD,
            _BROKER,
            _BROKER_EPOCH,
            Column("fenced", "boolean", "True: fenced. False: unfenced. Null: unchanged."),
            Column("in_controlled_shutdown", "boolean", "True: a controlled shutdown begins. Null: unchanged."),
        ),
        _FROM_METADATA,
    ),
    TableSchema(
        "leadership_changes",
        Layer.TYPED,
        "Records that name the leader of a partition, even if it is the same one.",
        (
            *_OF_RECORD,
            _TOPIC_ID,
            _PARTITION,
            Column("leader", "int", "Id of the leader; -1 for none."),
            Column("leader_epoch", "int", "Leader epoch that the record sets; null if it adds one to the last."),
            Column("recovering", "boolean", "Whether the leader recovers from an unclean election; null: unchanged."),
        ),
        _FROM_METADATA,
    ),
    TableSchema(
        "isr_changes",
        Layer.TYPED,
        "Records that set the in-sync replicas of a partition.",
        (*_OF_RECORD, _TOPIC_ID, _PARTITION, Column("isr", "array<int>", "Ids of the in-sync replicas.")),
        _FROM_METADATA,
    ),
    TableSchema(
        "reassignments",
        Layer.TYPED,
        "Records that set the replicas of a partition, or the replicas to add and to remove (KIP-455).",
        (
            *_OF_RECORD,
            _TOPIC_ID,
            _PARTITION,
            Column("replicas", "array<int>", "Ids of the replicas, preferred leader first; null if unchanged."),
            Column("adding", "array<int>", "Replicas that the reassignment adds; null if unchanged."),
            Column("removing", "array<int>", "Replicas that the reassignment removes; null if unchanged."),
            Column("created", "boolean", "Whether the record created the partition."),
        ),
        _FROM_METADATA,
    ),
    TableSchema(
        "config_changes",
        Layer.TYPED,
        "Settings of topics, brokers and other resources, set and taken away.",
        (
            *_OF_RECORD,
            Column("resource_type", "string", "`topic`, `broker`, … or the number of an unknown type."),
            Column("resource", "string", "Name of the resource; empty for the default of all brokers."),
            Column("name", "string", "Name of the setting."),
            Column("value", "string", "The value; null if the setting was taken away."),
        ),
        _FROM_METADATA,
    ),
    TableSchema(
        "metadata_transactions",
        Layer.TYPED,
        "Begins and ends of metadata transactions (KIP-868).",
        (*_OF_RECORD, Column("what", "string", "`begin`, `end` or `abort`.")),
        _FROM_METADATA,
    ),
    TableSchema(
        "controller_epochs",
        Layer.TYPED,
        "Leaders of the metadata quorum, as their LeaderChange records name them.",
        (
            *_OF_RECORD,
            Column("leader", "int", "Id of the node that leads the epoch, and is the active controller."),
            Column("voters", "array<int>", "Ids of the voters."),
            Column("granted_by", "array<int>", "Ids of the voters that are known to have voted for it."),
        ),
        _FROM_METADATA,
    ),
    TableSchema(
        "quorum_transitions",
        Layer.TYPED,
        "Changes of state of the quorum's nodes, their starts, stops and fatal errors.",
        (
            *_OF_LINE,
            Column("id", "string", "Identity of the line, as in `raw_events`."),
            Column("kind", "string", "`transition`, `start`, `stop` or `fatal`."),
            Column("epoch", "int", "Epoch of the node after the transition."),
            Column("before", "string", "State before, such as `Follower`."),
            Column("after", "string", "State after, such as `Leader`."),
            Column("why", "string", "The reason that the Raft core gave."),
            Column("wrote", "timestamp", "In a `start`: time of the last record in the node's log."),
        ),
        _FROM_EVENTS,
    ),
    TableSchema(
        "elections",
        Layer.TYPED,
        "Nodes that stood for election, or asked whether they could win (KIP-996).",
        (
            *_OF_LINE,
            Column("id", "string", "Identity of the line, as in `raw_events`."),
            Column("epoch", "int", "Epoch for which the node stood."),
            Column("pre_vote", "boolean", "Whether it requested pre-votes only (KIP-996)."),
            Column("why", "string", "The reason that the Raft core gave."),
        ),
        _FROM_EVENTS,
    ),
    TableSchema(
        "votes",
        Layer.TYPED,
        "Verdicts of the quorum's nodes on requests of their peers, each with its reason.",
        (
            *_OF_LINE,
            Column("id", "string", "Identity of the line, as in `raw_events`."),
            Column("request", "string", "The API, such as `Vote` or `BeginQuorumEpoch`."),
            Column("epoch", "int", "Epoch of the request; for a pre-vote, of the election that may follow."),
            Column("pre_vote", "boolean", "Whether a Vote is a pre-vote."),
            Column("peer", "int", "Id of the sender of the request."),
            Column("granted", "boolean", "Whether the request was granted."),
            Column("reason", "string", "Name of the reason."),
            Column("words", "string", "The reason in words."),
            Column("times", "int", "Number of equal verdicts that the line stands for."),
        ),
        _FROM_EVENTS,
    ),
    TableSchema(
        "requests",
        Layer.TYPED,
        "Requests in the request logs of the nodes.",
        (
            *_OF_LINE,
            Column("id", "string", "Identity of the line, as in `raw_events`."),
            Column("plane", "string", "The plane, such as `data` or `controller`."),
            Column("listener", "string", "Name of the listener."),
            Column("api", "string", "Name of the API, such as `Produce`."),
            Column("version", "int", "Version of the request."),
            Column("client", "string", "Client id of the request."),
            Column("peer", "string", "Address of the client."),
            Column("size_bytes", "bigint", "Size of the request in bytes."),
            Column("queue_ms", "double", "Time in the request queue."),
            Column("local_ms", "double", "Time in the handler."),
            Column("remote_ms", "double", "Time in which the response was parked."),
            Column("response_queue_ms", "double", "Time between the response and its sending."),
            Column("send_ms", "double", "Time of sending."),
            Column("total_ms", "double", "Time from the receipt to the end of the sending."),
            Column("sample", "double", "The fraction of such requests that the node writes."),
            Column("late", "boolean", "Whether the row was older than the watermark when it came."),
        ),
        _FROM_EVENTS,
    ),
)

_PERCENTILES = tuple(
    Column(f"{what}_{name}_ms", "double", f"{fraction} % of the requests had {text} of at most this.")
    for what, text in (("total", "a response time"), ("queue", "a time in the queue"))
    for name, fraction in (("p50", "50"), ("p90", "90"), ("p99", "99"), ("p999", "99.9"))
)

_ANSWERS = (
    TableSchema(
        "partition_leadership",
        Layer.ANSWERS,
        "The leader of each partition, by interval; -1 is none.",
        (
            _TOPIC_ID,
            _TOPIC,
            _PARTITION,
            Column("leader", "int", "Id of the leader; -1 for none."),
            Column("leader_epoch", "int", "Leader epoch; null if the log at hand does not begin with the partition."),
            *_INTERVAL,
            Column("from_offset", "bigint", "Offset of the record with which the interval began."),
            Column("to_offset", "bigint", "Offset of the record with which it ended."),
        ),
        ("leadership_changes", "topics", "metadata_transactions", "raw_metadata"),
    ),
    TableSchema(
        "broker_states",
        Layer.ANSWERS,
        "The states of each broker's registration, one after the other.",
        (
            _BROKER,
            Column(
                "state",
                "string",
                "`registered` (not unfenced yet), `unfenced`, `controlled shutdown`, `fenced` or `unregistered`.",
            ),
            *_INTERVAL,
            _BROKER_EPOCH,
            Column("from_offset", "bigint", "Offset of the record with which the interval began."),
        ),
        ("registrations", "fencing", "metadata_transactions", "raw_metadata"),
    ),
    TableSchema(
        "partition_unavailability",
        Layer.ANSWERS,
        "The times in which a partition had no leader.",
        (
            _TOPIC_ID,
            _TOPIC,
            _PARTITION,
            *_INTERVAL,
            Column("last_leader", "int", "The leader before; null if there was none."),
            Column("next_leader", "int", "The leader after; null if there is none yet."),
            Column("from_offset", "bigint", "Offset of the record with which the interval began."),
            Column("why", "string", "State of the last leader at the time, such as `fenced`."),
        ),
        ("partition_leadership", "broker_states"),
    ),
    TableSchema(
        "broker_unavailability",
        Layer.ANSWERS,
        "The times in which a broker that had been unfenced could lead nothing.",
        (
            _BROKER,
            *_INTERVAL,
            Column("why", "string", "The state with which the interval began."),
            Column("from_offset", "bigint", "Offset of the record with which the interval began."),
        ),
        ("broker_states",),
    ),
    TableSchema(
        "broker_flapping",
        Layer.ANSWERS,
        "How often each broker was fenced or registered again, by the hour.",
        (
            Column("hour", "timestamp", "Begin of the hour."),
            _BROKER,
            Column("fencings", "bigint", "Times that the broker became fenced."),
            Column("registrations", "bigint", "Times that it registered."),
            Column("shortest_up_seconds", "double", "The shortest time for which it was unfenced."),
            Column("flapping", "boolean", "Whether it was fenced, or registered again, three times or more."),
        ),
        ("broker_states",),
    ),
    TableSchema(
        "elections_per_hour",
        Layer.ANSWERS,
        "Elections of the quorum, by the hour.",
        (
            Column("hour", "timestamp", "Begin of the hour."),
            Column("pre_vote", "boolean", "Whether the row is about pre-votes."),
            Column("elections", "bigint", "Epochs for which a node stood, or requested pre-votes."),
            Column("won", "bigint", "Those after which a node led the epoch; of pre-votes, stood for election."),
            Column("lost", "bigint", "The others."),
            Column("candidacies", "bigint", "Times that a node stood, or requested pre-votes."),
            Column("why_lost", "map<string,bigint>", "The reasons of the refused votes in lost elections, counted."),
        ),
        ("elections", "votes", "controller_epochs", "quorum_transitions"),
    ),
    TableSchema(
        "controller_failovers",
        Layer.ANSWERS,
        "Changes of the active controller, each as a timeline.",
        (
            Column("epoch", "int", "The new epoch."),
            Column("old_leader", "int", "The active controller before; null for the first one."),
            Column("new_leader", "int", "The active controller after."),
            Column("last_sign", "timestamp", "Last record or line of the old leader while it led."),
            Column("first_candidate", "timestamp", "First time that a node stood for election after that."),
            Column("elected", "timestamp", "Time at which the new leader won."),
            Column("first_commit", "timestamp", "Time of the first record that the new active controller wrote."),
            Column("seconds", "double", "From the last sign to the first commit."),
        ),
        ("controller_epochs", "quorum_transitions", "elections", "raw_metadata"),
    ),
    TableSchema(
        "plane_latency",
        Layer.ANSWERS,
        "Response times of each plane by the minute, so that control plane and data plane can be compared.",
        (
            Column("minute", "timestamp", "Begin of the minute."),
            Column("plane", "string", "The plane, such as `data` or `controller`."),
            Column("requests", "bigint", "Number of requests, estimated from the sample."),
            Column("sampled", "bigint", "Number of rows in `requests` that are not late."),
            *_PERCENTILES,
            Column(
                "late", "bigint", "Rows that came after the watermark had passed them; no other column counts them."
            ),
            Column("closed", "boolean", "Whether the watermark has passed the minute, so that the row is final."),
        ),
        ("requests",),
    ),
    TableSchema(
        "changes",
        Layer.ANSWERS,
        "The changes of the metadata, with the client if the request log has it.",
        (
            _OFFSET,
            _EPOCH,
            _RECORD_TIME,
            Column("what", "string", "The change, such as `topic created` or `setting set`."),
            Column("resource_type", "string", "The type, such as `topic` or `broker`."),
            Column("resource", "string", "Name of the resource."),
            Column("name", "string", "Name of the setting, if it is one."),
            Column("value", "string", "The new value."),
            Column("old_value", "string", "The value before, if a record at hand has it."),
            Column("controller", "int", "The active controller that wrote the record, if a journal names it."),
            Column("client", "string", "Client id of the only logged request that can have made the change."),
            Column("peer", "string", "Address of that client."),
        ),
        (
            "topics",
            "config_changes",
            "reassignments",
            "registrations",
            "metadata_transactions",
            "raw_metadata",
            "controller_epochs",
            "quorum_transitions",
            "requests",
        ),
    ),
    TableSchema(
        "campaigns",
        Layer.ANSWERS,
        "Simulation campaigns. A campaign is all seeds that ran with the same code, whenever they ran.",
        (
            *_OF_CAMPAIGN,
            Column("started", "timestamp", "Time at which the first of its seeds ended."),
            Column("ended", "timestamp", "Time at which the last of its seeds ended."),
            Column("seeds", "bigint", "Number of seeds."),
            Column("first_seed", "bigint", "The least seed."),
            Column("last_seed", "bigint", "The greatest seed."),
            Column("failed", "bigint", "Number of seeds that broke an invariant."),
            Column("invariants", "map<string,bigint>", "The broken invariants, each with its number of seeds."),
            Column("run_again", "bigint", "Number of seeds that ran again in another task."),
            Column("disagreed", "bigint", "The seeds whose second run had another trace."),
            Column("events", "bigint", "Sum of the events."),
            Column("committed", "bigint", "Sum of the committed records."),
            Column("simulated_seconds", "double", "Sum of the simulated times."),
            Column("cpu_seconds", "double", "Sum of the CPU times."),
            Column("seeds_per_cpu_second", "double", "Seeds per second of CPU time."),
        ),
        ("campaign_verdicts",),
    ),
)

TABLES: Mapping[str, TableSchema] = {table.name: table for table in (*_RAW, *_TYPED, *_ANSWERS)}
"""Every table by its name, in the order of the lineage: the sources of a table stand before it."""


def tables_of(layer: Layer) -> list[TableSchema]:
    return [table for table in TABLES.values() if table.layer is layer]
