"""The intended differences, by scenario. An entry that covers no difference any more is an error.

Where the two versions of Apache Kafka differ, the node follows the newer one, unless a reason says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.differential.compare import Allowed
from tests.support.fetchers import APACHE_KAFKA, APACHE_KAFKA_WITH_ZOOKEEPER

V3, V4 = APACHE_KAFKA_WITH_ZOOKEEPER, APACHE_KAFKA

NOT_SERVED = "This node does not advertise APIs and versions that it does not serve."
TIERED = "This node has no tiered storage, so it does not know the topic settings of tiered storage."
DOWN_CONVERSION = "This node knows message.downconversion.enable, as Kafka 3.9 does; Kafka 4 removed it."
EMPTY_TOPICS = "This node returns a topic that was requested without partitions; Apache Kafka omits it."
ONCE = "A group, a partition or a configuration resource that a request names again is described once."
CRASHES = (
    "Apache Kafka answers an invalid request with UNKNOWN_SERVER_ERROR; this node answers with a specific error code."
)
HEADER_ONLY = (
    "This node validates the header and the checksum of a batch and stores its bytes; it does not decode the records."
)
TEXTS = "This node sends an error message in every version; Apache Kafka in some versions only."
CUT_BATCHES = "The response ends with a complete batch; Apache Kafka truncates the last one at the limit."
CORRUPT = "This node answers a batch with an inconsistent header with CORRUPT_MESSAGE, which a producer may retry."
FETCH_BY_NAME = (
    "This node serves a Fetch that names the metadata log; Apache Kafka needs its topic id, which version 12 lacks."
)
SNAPSHOT_OR_NOT = (
    "If the log still has the offset, this node sends the diverging epoch; Apache Kafka sends the newest snapshot to"
    " every replica whose last epoch is older than the oldest one in the log."
)
NO_PIECE = (
    "This node refuses an invalid FetchSnapshot with a specific error code; Apache Kafka with UNKNOWN_SERVER_ERROR."
)
ONE_LOG = "This node refuses a quorum request with several partitions; Apache Kafka serves the first one."
STATIC = (
    "This node refuses UpdateRaftVoter of static voters, as Kafka 3.9 does; Kafka 4 keeps it for a later kraft.version."
)
STRANGERS = "This node votes only for voters of its configuration; Apache Kafka votes for any candidate."
MISROUTED = (
    "A request for another voter, or for another directory, does not change this node; Apache Kafka adopts its epoch."
)
DIRECTORIES = "This node identifies a static voter by its id; Apache Kafka, until its restart, by id and directory."
PARTING = (
    "If a replica is older than the whole log, this node sends the diverging epoch 0; Apache Kafka the replica's epoch."
)
NO_TEXT = "This node sends no error message with error code 0."
FEATURES = "This node supports only static voters (kraft.version 0), and of other features the levels that it serves."
NO_DIRECTORY = "This controller fences a broker whose last directory failed; Apache Kafka waits for the broker to stop."
ONLY_ACTIVE = (
    "Only the active controller answers these requests; in Apache Kafka the other controllers answer from their images."
)
AS_FAR = "This node describes the cluster from its present image; Apache Kafka waits for the metadata.version."
REPLACED = (
    "If a reassignment replaces another, the replicas that only the former one added go at once, and a cancellation"
    " restores the replicas from before the first one (KIP-455); a request for these ends the reassignment at once. In"
    " Apache Kafka all stay until the last target is in sync, and a cancellation keeps some of them."
)
ALIKE = (
    "This node validates settings in the same way at both listeners; Apache Kafka leaves some checks to the brokers."
)
NO_TEXT_3 = (
    "This node sends an error message with a refused UnregisterBroker, as Kafka 4 does; Kafka 3.9 only the code."
)
AS_A_WHOLE = (
    "UpdateFeatures fails as a whole, with one error for the request and no message without an error, as in Kafka 4;"
    " Kafka 3.9 has a result for each feature. Clients of both versions handle both forms."
)
NEWER_DEFAULT = (
    "The default of message.timestamp.after.max.ms is one hour, as in Kafka 4 (KIP-1030); Kafka 3.9 has no limit."
)
OLD_SETTINGS = (
    "This node does not know the topic settings that Kafka 4 removed (KIP-724, KIP-937); Kafka 3.9 deprecates them."
)
NEWER_TYPE = "controller.listener.names and log.dir are lists, as in Kafka 4; in Kafka 3.9 they are strings."
NO_FEATURE = (
    "A registration without features gets INVALID_REGISTRATION, as in Kafka 4; in Kafka 3.9 UNSUPPORTED_VERSION."
)
VOTE_KEPT = "quorum-state keeps the vote beside the leader of the same epoch, as in Kafka 4; Kafka 3.9 removes it."
OLD_VERSIONS = "This node does not serve the versions that Kafka 4 removed (KIP-896)."
LEASES = "A broker's session begins with its registration (KIP-631); in Apache Kafka with its first heartbeat."

_TOPIC_SETTINGS = [
    Allowed("*", "*configs.local.retention.*", TIERED),
    Allowed("*", "*configs.remote.log.*", TIERED),
    Allowed("*", "*configs.message.downconversion.enable", DOWN_CONVERSION, V4),
]
_TOPIC_SETTINGS_OF_3 = [
    Allowed("*", "*configs.message.timestamp.after.max.ms.value", NEWER_DEFAULT, V3),
    Allowed("*", "*configs.message.format.version", OLD_SETTINGS, V3),
    Allowed("*", "*configs.message.timestamp.difference.max.ms", OLD_SETTINGS, V3),
]
_AS_OTHERS = [Allowed("FETCH 12: *", "*", FETCH_BY_NAME), Allowed("FETCH_SNAPSHOT *", "*", NO_PIECE)]


_SHARE_TEXTS = [Allowed("SHARE_*", "*rrorMessage", TEXTS)]

ALLOWED: Mapping[str, Sequence[Allowed]] = {
    "api_versions": [
        Allowed("*", "apiKeys.*", NOT_SERVED),
        Allowed("*", "supportedFeatures.*", FEATURES),
    ],
    "reassignments": [Allowed("*: no topics", "errorMessage", NO_TEXT)],
    "share_requests_without_the_feature": [Allowed("*", "errorMessage", TEXTS)],
    "share_heartbeats": [Allowed("*", "errorMessage", TEXTS)],
    "share_groups_by_other_apis": [Allowed("SHARE_GROUP_DESCRIBE 1: twice", "groups", ONCE)],
    "share_offsets": [
        Allowed("*: an unknown partition", "", "Apache Kafka sends no response if a partition does not exist."),
        Allowed("DESCRIBE_*no group: share-offsets *", "*.errorCode", CRASHES),
        Allowed("ALTER_*: * negative partition", "*", CRASHES),
        Allowed("ALTER_*", "errorMessage", TEXTS),
    ],
    "share_state_epochs": [
        Allowed(
            "READ_SHARE_GROUP_STATE_SUMMARY 1: step 16 *",
            "*.leaderEpoch",
            "InitializeShareGroupState keeps the leader epoch, which Apache Kafka sets to 0 in the records: a former"
            " leader stays fenced after the coordinator has loaded them.",
        )
    ],
    "share_sessions": [*_SHARE_TEXTS, Allowed("*: * an unknown topic", "*", CRASHES)],
    "share_acquisition": [
        Allowed("SHARE_FETCH 2: * mode 7 *", "errorMessage", TEXTS),
        Allowed("*: * bytes 200 *", "*.records", CUT_BATCHES),
        Allowed("*: * batches of 0 1 first", "*.acquiredRecords", "Apache Kafka acquires an empty batch, too."),
        Allowed(
            "SHARE_FETCH 2: * strict 6* 2 next",
            "*.acquiredRecords",
            "The rest of a batch that another request began is no range of its own.",
        ),
        Allowed("SHARE_FETCH 2: * mode 7 *", "errorCode", CRASHES),
    ],
    "client_quotas": [
        Allowed("DESCRIBE_*", "errorMessage", NO_TEXT),
        Allowed("ALTER_*: a rate", "*", "This node enforces no client quotas, and refuses to set one."),
    ],
    "scram_credentials": [
        Allowed("DESCRIBE_*", "errorMessage", NO_TEXT),
        Allowed("ALTER_*", "*.errorCode", "This node has no SASL, and refuses to set or remove SCRAM credentials."),
    ],
    "isolation_levels": [
        Allowed(
            "FETCH *, one batch at *",
            "*.abortedTransactions",
            "The aborted transactions of a Fetch response are those of its records; Apache Kafka returns those up to"
            " the next entry of its offset index.",
        ),
        Allowed(
            "LIST_OFFSETS *: deleted below 8, * time 170000000000[01]",
            "*",
            "If DeleteRecords removed the records of a transaction, this node still finds the first remaining record of"
            " a time or later; Apache Kafka finds none.",
        ),
    ],
    "write_txn_markers": [
        Allowed("*: * no *", "markers*", "This node returns a marker without partitions; Apache Kafka omits it."),
        *(Allowed(f"*: * {case}", "*.errorCode", CRASHES) for case in ("negative epoch", "negative producer")),
        Allowed("* 2: * negative level", "*.errorCode", CRASHES),
        Allowed("*: *, a partition twice", "", "Apache Kafka sends no response if a marker names a partition twice."),
    ],
    "transactions": [
        Allowed(
            "TXN_OFFSET_COMMIT *: unknown topic", "*", "This node checks the producer of a commit before its topics."
        )
    ],
    "consumer_offsets": [Allowed("*: a consumer upgrades", "*", CRASHES)],
    "share_beginnings": [
        Allowed(
            "SHARE_FETCH *: begins by_duration:PT*",
            "*rror*",
            "If no record is as young as by_duration asks, the group begins at the end; Apache Kafka refuses each fetch"
            " until there is one.",
        )
    ],
    "share_outcomes": _SHARE_TEXTS,
    "share_acknowledgements": _SHARE_TEXTS,
    "update_features": [
        Allowed("*", "results.*.errorMessage", NO_TEXT, V4),
        *(Allowed("*", path, AS_A_WHOLE, V3) for path in ("errorCode", "errorMessage", "results")),
        Allowed(
            "*: an unknown feature to 0: the worst",
            "",
            "This node refuses an unknown feature at level 0, too, as Kafka 4 does; Kafka 3.9 accepts it.",
            V3,
        ),
    ],
    "unregister_broker": [Allowed("*", "errorMessage", NO_TEXT_3, V3)],
    "metadata_by_id": [Allowed("METADATA 1[23]: neither", "*", CRASHES)],
    "describe_topic_partitions": [Allowed("*: name ''", "topics.*", CRASHES)],
    "create_topics": [*_TOPIC_SETTINGS, *_TOPIC_SETTINGS_OF_3, Allowed("*: local retention*", "*", TIERED)],
    "create_many_topics": [
        *_TOPIC_SETTINGS,
        *_TOPIC_SETTINGS_OF_3,
        Allowed("*: no time", "*", "This node accepts a negative timeout: it commits the change before it responds."),
        Allowed(
            "*: two that collide",
            "topics*",
            "Of two topics of one request whose metrics would have the same names, this node creates the first one;"
            " Apache Kafka compares new names only with those of existing topics.",
        ),
    ],
    "create_partitions": [Allowed("*: very many", "results.*", CRASHES)],
    "produce_batches": [
        Allowed(
            "PRODUCE [012]: *", "", "Produce 0 to 2 are advertised and not served; this node responds with an error."
        ),
        *(Allowed(f"PRODUCE *: {case}", "*.errorCode", CORRUPT) for case in ("cut", "h* a header", "header only")),
        *(
            Allowed(f"PRODUCE *: {case}", "*.errorCode", CORRUPT)
            for case in ("count too high", "* negative", "*too low")
        ),
        Allowed("PRODUCE *: length too high", "*.errorCode", CORRUPT),
        Allowed("PRODUCE *: codec [57]", "*.errorCode", CRASHES),
        Allowed("*: codec without*", "*", HEADER_ONLY),
        Allowed("FETCH *: max time wrong*", "*.records", HEADER_ONLY),
        *(
            Allowed(f"*: {case}*", "*", "This node refuses bytes after the batch; Apache Kafka drops them.")
            for case in ("junk after", "a batch cut after")
        ),
        *(Allowed(f"*: {case} *", "*.errorMessage", TEXTS) for case in ("magic", "length")),
        Allowed(
            "*: append time*",
            "*",
            "This node refuses LogAppendTime of a producer; Apache Kafka overwrites it with CreateTime.",
        ),
        Allowed(
            "*: producer epoch negative*", "*", "This node refuses a batch with a producer id and no producer epoch."
        ),
        Allowed(
            "PRODUCE *",
            "*.logStartOffset",
            "This node returns the log start offset with appended records and with records that it refused one by one.",
        ),
    ],
    "produce_nothing": [Allowed("*: null", "", "This node refuses null records; Apache Kafka sends no response.")],
    "produce_addressed": [
        Allowed(
            "PRODUCE [012]: *", "", "Produce 0 to 2 are advertised and not served; this node responds with an error."
        ),
        Allowed("*: no partition", "responses", EMPTY_TOPICS),
    ],
    "produce_idempotent": [
        Allowed(
            "*: too late, known batch",
            "*",
            "This node acknowledges a batch that has the sequences of an appended one before it looks at the records.",
        ),
        Allowed(
            "*: negative sequence",
            "*.logStartOffset",
            "This node returns the log start offset with records that it refused one by one.",
        ),
    ],
    "fetch": [
        Allowed("*bytes 600", "*.records", CUT_BATCHES),
        Allowed("*bytes negative", "*", CRASHES + " Here a limit below 0 counts as 0."),
        Allowed("*: isolation 2", "*", CRASHES + " Here an unknown isolation level reads uncommitted records."),
        Allowed("*: twice", "*.partitions", "If a request names a partition twice, the response has it twice."),
    ],
    "list_offsets": [Allowed("*: no partitions*", "topics", EMPTY_TOPICS)],
    "offset_for_leader_epoch": [
        Allowed(
            "*, asked -5",
            "*",
            "For this node an epoch below -1 is unknown; for Apache Kafka it is an epoch before the start of the log.",
        )
    ],
    "delete_records": [Allowed("*: nothing", "topics", EMPTY_TOPICS)],
    "describe_topic_configs": [
        Allowed("*: twice", "results", ONCE),
        *_TOPIC_SETTINGS,
        Allowed(
            "*: all with synonyms",
            "*.synonyms*",
            "The synonyms of a setting include Kafka's default with its name.",
        ),
    ],
    "describe_broker_configs": [
        *(
            Allowed("*", f"*.configs.{name}.configType", NEWER_TYPE, V3)
            for name in ("controller.listener.names", "log.dir")
        ),
        Allowed(
            "*: broker '1' *",
            "*.configs.broker.id.*",
            "broker.id is the old name of node.id; only node.id, which is configured, has the value.",
        ),
        Allowed("*: broker '1' *", "*.readOnly", "Settings that this node reads only at its start are read-only."),
        Allowed("*: broker '1' *", "*.configs.ssl.*", "This node does not serve TLS."),
        Allowed("*: broker '1' True", "*.synonyms*", "Here only the names of one setting are synonyms."),
    ],
    "describe_newer_configs": [
        Allowed("*", "*.readOnly", "Settings that this node reads only at its start are read-only."),
    ],
    "incremental_alter_topic": [
        Allowed("*: append empty*", "*", "Here an empty append to a list changes nothing."),
        Allowed("*e operation*", "*", CRASHES),
        Allowed("*unknown operation*", "*", CRASHES),
    ],
    "alter_resources": [
        Allowed("*: broker '2'", "*.errorCode", ALIKE),
    ],
    "client_metrics": [
        Allowed(f"*: {case} of '', *", "*.errorCode", "This node checks the name of a resource before its changes.")
        for case in ("append*", "subtract")
    ],
    "broker_loggers": [Allowed("*: operation 9 *", "*", CRASHES)],
    "alter_broker": [
        Allowed("*: per broker of ''", "*", "This node does not serve TLS, so it does not know the TLS settings.")
    ],
    "find_coordinator": [
        Allowed("*", "*errorMessage", TEXTS),
    ],
    "offsets": [Allowed("*: no partitions", "topics", EMPTY_TOPICS), Allowed("*: several", "groups", ONCE)],
    "inspected": [
        Allowed("DESCRIBE_GROUPS *: twice", "groups", ONCE),
    ],
    "replica_fetch": [
        *(
            Allowed(f"*: {case}", "*", SNAPSHOT_OR_NOT)
            for case in ("the end, older epoch", "offset 9 of epoch 0", "wait 100, diverging")
        ),
        Allowed("FETCH 12: *", "*", FETCH_BY_NAME),
        Allowed("*: bytes -1", "*", CRASHES + " Here a limit below 0 counts as 0."),
        Allowed("*: itself*", "*.errorCode", CRASHES),
    ],
    "controller_api_versions": [
        Allowed("*", "apiKeys.*", NOT_SERVED),
        Allowed("*", "supportedFeatures.*", FEATURES),
    ],
    "controller_alter_resources": [
        Allowed("*: kind *", "*.errorCode", ALIKE),
        Allowed("*: twice", "responses", "If a request names a resource twice, the response has it twice."),
    ],
    "controller_alter_configs": [
        Allowed("*: null*", "responses.*", ALIKE),
        Allowed("*: twice*", "responses.*", ALIKE),
        Allowed("DESCRIBE_CONFIGS *: after *", "*.configs.*", ALIKE),
    ],
    "controller_alter_broker": [
        Allowed("*", "responses.*", ALIKE),
    ],
    "broker_registration": [
        Allowed("*no feature", "errorCode", NO_FEATURE, V3),
        Allowed("*: no incarnation", "*", LEASES),
        Allowed("*: again, other incarnation", "*", LEASES),
        Allowed("UNREGISTER_BROKER *", "errorMessage", NO_TEXT),
    ],
    "broker_heartbeat": [
        Allowed(
            "*: a directory fails",
            "isFenced",
            NO_DIRECTORY,
        )
    ],
    "replaced_reassignments": [
        Allowed("LIST_PARTITION_REASSIGNMENTS *", "topics*", REPLACED),
        Allowed("ALTER_PARTITION_REASSIGNMENTS *: None", "*.errorCode", REPLACED),
    ],
    "envelopes": [Allowed(f"*: {case}", "responseData", NO_TEXT_3, V3) for case in ("good*", "bytes left over inside")],
    "not_served_here": [
        Allowed("Fetch 3", "", OLD_VERSIONS, V3),
    ],
    "update_voters": [Allowed("*", "errorCode", STATIC, V4)],
    "replica_fetch_snapshot": [
        *(
            Allowed(f"*: {case}", "*", NO_PIECE)
            for case in (
                "position *",
                "at the end",
                "*beyond the end",
                "* end",
                "* end epoch",
                "first snapshot",
                "epoch *",
            )
        ),
        Allowed("*: topic twice", "*", ONE_LOG),
        Allowed("*: partition twice", "*", ONE_LOG),
        *(Allowed(f"*: {case}", "errorCode", NO_PIECE) for case in ("other topic", "partition *1")),
    ],
    "before_any_leader": [
        *_AS_OTHERS,
        Allowed("*: quorum-state", "", "This node first writes quorum-state with its first epoch or vote."),
    ],
    "votes": [
        Allowed("*stranger*", "*", STRANGERS),
        *(
            Allowed(f"*: {case}: quorum-state", "votedId", STRANGERS)
            for case in ("candidate -1", "offset -1", "last epoch *")
        ),
        Allowed("*another voter*", "*", MISROUTED),
        Allowed("*: to another directory*", "*", MISROUTED),
        Allowed("*: from *other directory", "*", DIRECTORIES),
        Allowed("*: from no directory", "*", DIRECTORIES),
    ],
    "pre_votes": [
        Allowed("*stranger*", "*", STRANGERS),
        Allowed("*another voter*", "*", MISROUTED),
        Allowed("*itself", "*", "This node refuses a candidate that has this node's own id."),
    ],
    "fetched_from": [
        Allowed(
            "FETCH: *",
            "maxBytes",
            "A follower's Fetch requests up to 8 MiB, as in Kafka 3.9; in Kafka 4 it requests 1 MiB.",
            V4,
        )
    ],
    "prospective": _AS_OTHERS,
    "candidate": [*_AS_OTHERS, Allowed("*, who won*: quorum-state", "votedId", VOTE_KEPT, V3)],
    "elected": [
        *_AS_OTHERS,
        Allowed("FETCH 17: of *", "*.divergingEpoch.epoch", PARTING),
    ],
    "not_active": [
        Allowed("UNREGISTER_BROKER *", "errorMessage", NO_TEXT_3, V3),
        Allowed("DELETE_TOPICS *", "*.errorCode", ONLY_ACTIVE),
        Allowed("DELETE_TOPICS *", "*.errorMessage", ONLY_ACTIVE),
        Allowed("LIST_PARTITION_REASSIGNMENTS *", "*", ONLY_ACTIVE),
        Allowed("DESCRIBE_CLUSTER *", "*", AS_FAR),
        Allowed("API_VERSIONS *", "apiKeys.*", NOT_SERVED),
        Allowed("API_VERSIONS *", "supportedFeatures.*", FEATURES),
        Allowed(
            "API_VERSIONS *",
            "finalizedFeatures",
            "This node returns no finalized level before it knows one; Apache Kafka returns its lowest level.",
        ),
    ],
    "following": [
        *_AS_OTHERS,
        Allowed("*whom it voted for: quorum-state", "votedId", VOTE_KEPT, V3),
        Allowed("*another voter*", "*", MISROUTED),
        Allowed("*: to another directory*", "*", MISROUTED),
        Allowed("*pre-vote, 77", "*", STRANGERS, V4),
    ],
    "broken_frames": [
        Allowed(
            "*not utf-8",
            "",
            "This node closes the connection after text that is not UTF-8; Apache Kafka replaces the invalid bytes.",
        ),
        Allowed(
            "array length -2",
            "",
            "This node closes the connection after a length below -1; Apache Kafka reads it as null.",
        ),
        Allowed("tags out of order", "", "This node closes the connection after tags that do not ascend (KIP-482)."),
    ],
}
