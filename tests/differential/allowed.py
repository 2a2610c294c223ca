"""The differences that are meant, by scenario. An entry that no longer covers any is an error.

Where the two versions of Apache Kafka do not agree, the node does as the newer one, unless a reason says why not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.differential.compare import Allowed
from tests.support.fetchers import APACHE_KAFKA, APACHE_KAFKA_WITH_ZOOKEEPER

V3, V4 = APACHE_KAFKA_WITH_ZOOKEEPER, APACHE_KAFKA

NOT_SERVED = "APIs and versions that this node does not serve are not advertised."
TIERED = "Tiered storage is not served, so the settings of a topic that are about it are unknown."
DOWN_CONVERSION = "message.downconversion.enable is known, as in Kafka 3.9, which the node stands beside."
EMPTY_TOPICS = "A topic that is named without partitions is answered without partitions; Apache leaves it out."
CRASHES = "Apache answers UNKNOWN_SERVER_ERROR to what it did not expect; this node says what is wrong with it."
HEADER_ONLY = "A batch is judged by its header and checksum and stored as it came; its records are not opened."
NO_TRANSACTIONS = "Transactions are not served: a transactional id is refused at once."
TEXTS = "Whether there is a text beside the code depends on the version in Apache; here it does not."
CORRUPT = "A batch whose header contradicts itself is CORRUPT_MESSAGE; a producer may send it again."
FETCH_BY_NAME = (
    "A Fetch that names the metadata log is served; Apache knows it by its id only, which version 12 has not."
)
SNAPSHOT_OR_NOT = (
    "Where the log still reaches back, a replica is told where its own parts from it; Apache sends the newest snapshot"
    " to all whose last epoch is older than the oldest one."
)
NO_PIECE = "Why a piece of a snapshot is refused is said; Apache fails to say it: UNKNOWN_SERVER_ERROR."
ONE_LOG = "A request of the quorum is about one partition; Apache takes the first of several here."
STATIC = "What static voters tell of themselves is refused, as in Kafka 3.9; Apache keeps it for a later kraft.version."
STRANGERS = "Only the voters of the configuration are voted for; Apache votes for anybody."
MISROUTED = "What is meant for another voter, or another directory, changes nothing; Apache takes its epoch over."
DIRECTORIES = (
    "A static voter is known by its id alone; Apache knows whom it voted for by the directory, too, until it restarts."
)
PARTING = "A replica older than the whole log is told that the logs part in epoch 0; Apache repeats its own epoch."
NO_TEXT = "Where nothing went wrong there is no text."
FEATURES = "The node supports metadata.version up to 3.9-IV0 and a static quorum."
NO_DIRECTORY = "A broker without a directory left is fenced; Apache waits for it to go."
ONLY_ACTIVE = "Only the active controller answers for topics; Apache's others answer from what they know."
AS_FAR = "The cluster is described as far as it is known; Apache waits for its metadata.version."
ALIKE = "A change of settings is checked alike at both listeners; Apache's controller leaves some of it to the brokers."
NO_TEXT_3 = "Why an UnregisterBroker is refused is said, as in Kafka 4; Kafka 3.9 says the code alone."
AS_A_WHOLE = (
    "An update of features fails as a whole and says so at its top, and has no text if it does not, as in Kafka 4;"
    " Kafka 3.9 tells of each feature, below an empty text. Clients of both know both."
)
NEWER_DEFAULT = "message.timestamp.after.max.ms is one hour, as in Kafka 4 (KIP-1030); Kafka 3.9 takes any time."
OLD_SETTINGS = (
    "Settings of a topic that Kafka 4 took out are unknown (KIP-724, KIP-937); Kafka 3.9 calls them deprecated."
)
NEWER_TYPE = "controller.listener.names is a list, as in Kafka 4; in Kafka 3.9 a string."
NO_FEATURE = (
    "A broker that does not say what it supports is INVALID_REGISTRATION, as in Kafka 4; UNSUPPORTED_VERSION in 3.9."
)
VOTE_KEPT = "Whom a voter voted for is kept beside who leads the same epoch, as in Kafka 4; Kafka 3.9 forgets it."
OLD_VERSIONS = "What Kafka 4 took out is not served (KIP-896)."
LEASES = "The lease of a broker begins with its registration (KIP-631); in Apache with its first heartbeat."

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


ALLOWED: Mapping[str, Sequence[Allowed]] = {
    "api_versions": [
        Allowed("*", "apiKeys.*", NOT_SERVED),
        Allowed("*", "supportedFeatures.*", FEATURES),
    ],
    "reassignments": [Allowed("*: no topics", "errorMessage", NO_TEXT)],
    "update_features": [
        Allowed("*", "results.*.errorMessage", NO_TEXT, V4),
        *(Allowed("*", path, AS_A_WHOLE, V3) for path in ("errorCode", "errorMessage", "results")),
        Allowed(
            "*: an unknown feature to 0: the worst",
            "",
            "A feature that Kafka has not is refused at level 0, too, as in Kafka 4; Kafka 3.9 takes it.",
            V3,
        ),
    ],
    "unregister_broker": [Allowed("*", "errorMessage", NO_TEXT_3, V3)],
    "metadata_by_id": [Allowed("METADATA 1[23]: neither", "*", CRASHES)],
    "automatic_topics": [
        Allowed(
            "*: unknown", "topics.*", "A topic that asking creates is answered once it is there, not the next time."
        )
    ],
    "describe_topic_partitions": [Allowed("*: name ''", "topics.*", CRASHES)],
    "create_topics": [*_TOPIC_SETTINGS, *_TOPIC_SETTINGS_OF_3, Allowed("*: local retention*", "*", TIERED)],
    "create_many_topics": [
        *_TOPIC_SETTINGS,
        *_TOPIC_SETTINGS_OF_3,
        Allowed(
            "*: no time", "*", "A negative timeout is no reason to refuse: the change is committed before the answer."
        ),
    ],
    "create_partitions": [Allowed("*: very many", "results.*", CRASHES)],
    "produce_batches": [
        Allowed(
            "PRODUCE [012]: *", "", "Produce 0 to 2 are advertised and not served; here with an answer that says so."
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
            Allowed(f"*: {case}*", "*", "Bytes behind the batch are refused; Apache drops them.")
            for case in ("junk after", "a batch cut after")
        ),
        *(Allowed(f"*: {case} *", "*.errorMessage", TEXTS) for case in ("magic", "length")),
        Allowed("*: append time*", "*", "Only a broker may write LogAppendTime; Apache writes CreateTime over it."),
        Allowed("*: producer epoch negative*", "*", "A batch with a producer id needs an epoch."),
        Allowed(
            "PRODUCE *",
            "*.logStartOffset",
            "The log start offset is told of records appended and of those refused singly.",
        ),
    ],
    "produce_nothing": [Allowed("*: null", "", "Null records are refused; Apache never answers.")],
    "produce_addressed": [
        Allowed(
            "PRODUCE [012]: *", "", "Produce 0 to 2 are advertised and not served; here with an answer that says so."
        ),
        Allowed("*: no partition", "responses", EMPTY_TOPICS),
        Allowed("*: a partition twice", "*", "Both batches for one partition are appended; Apache drops the first."),
        Allowed("*", "*.baseOffset", "Both batches for one partition were appended before."),
    ],
    "produce_idempotent": [
        Allowed("*: negative sequence", "*.logStartOffset", "The log start offset is told of records refused singly.")
    ],
    "init_producer_id": [Allowed("*: transactional*", "errorCode", NO_TRANSACTIONS)],
    "fetch": [
        Allowed(
            "*bytes 600", "*.records", "The answer ends with a whole batch; Apache cuts the last one at the limit."
        ),
        Allowed("*bytes negative", "*", CRASHES + " A limit below 0 counts as 0."),
        Allowed("*: isolation 2", "*", CRASHES + " An unknown isolation level reads uncommitted."),
        Allowed("*: twice", "*.partitions", "A partition that is asked for twice is answered twice."),
    ],
    "list_offsets": [Allowed("*: no partitions*", "topics", EMPTY_TOPICS)],
    "offset_for_leader_epoch": [
        Allowed("*, asked -5", "*", "An epoch below -1 is unknown; Apache takes it for one before the log began.")
    ],
    "delete_records": [Allowed("*: nothing", "topics", EMPTY_TOPICS)],
    "describe_topic_configs": [
        Allowed("*: kind 8 of 1", "*", "The levels of loggers are not served."),
        *_TOPIC_SETTINGS,
        Allowed(
            "*: all with synonyms",
            "*.synonyms*",
            "The synonyms of a setting go on to Kafka's default, which has a name.",
        ),
        Allowed("*: kind 16 of *", "*", "Client metrics (KIP-714) are not served."),
        Allowed("*: kind 32 of *", "*", "Settings of groups (KIP-848) are not served."),
    ],
    "describe_broker_configs": [
        Allowed("*", "*.configs.controller.listener.names.configType", NEWER_TYPE, V3),
        Allowed(
            "*: broker '1' *",
            "*.configs.broker.id.*",
            "broker.id is an old name that nobody gave; node.id has the value.",
        ),
        Allowed("*: broker '1' *", "*.readOnly", "What this node reads at its start only is called read-only."),
        Allowed("*: broker '1' *", "*.configs.ssl.*", "TLS is not served."),
        Allowed("*: broker '1' True", "*.synonyms*", "Only names that share one setting are synonyms."),
    ],
    "incremental_alter_topic": [
        Allowed("*: append empty*", "*", "Appending nothing to a list changes nothing."),
        Allowed("*e operation*", "*", CRASHES),
        Allowed("*unknown operation*", "*", CRASHES),
    ],
    "alter_resources": [
        Allowed("*: kind 32 of 'x'", "*.errorCode", "Settings of groups (KIP-848) are not served."),
        Allowed("*: broker '2'", "*.errorCode", ALIKE),
    ],
    "alter_broker": [
        Allowed("*: per broker of ''", "*", "TLS is not served, so the names of its settings are unknown.")
    ],
    "find_coordinator": [
        Allowed("*", "*errorMessage", TEXTS),
        Allowed("*: 1 *", "*errorCode", NO_TRANSACTIONS),
    ],
    "offsets": [Allowed("*: no partitions", "topics", EMPTY_TOPICS)],
    "inspected": [
        Allowed(
            "*: all True", "*.authorizedOperations", "Groups have no settings to describe or alter, as in Kafka 3.9."
        )
    ],
    "replica_fetch": [
        *(
            Allowed(f"*: {case}", "*", SNAPSHOT_OR_NOT)
            for case in ("the end, older epoch", "offset 9 of epoch 0", "wait 100, diverging")
        ),
        Allowed("FETCH 12: *", "*", FETCH_BY_NAME),
        Allowed("*: bytes -1", "*", CRASHES + " A limit below 0 counts as 0."),
        Allowed("*: itself*", "*.errorCode", CRASHES),
    ],
    "controller_api_versions": [
        Allowed("*", "apiKeys.*", NOT_SERVED),
        Allowed("*", "supportedFeatures.*", FEATURES),
    ],
    "controller_alter_resources": [
        Allowed("*: kind *", "*.errorCode", ALIKE),
        Allowed("*: twice", "responses", "A resource that is named twice is answered twice."),
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
    "envelopes": [Allowed(f"*: {case}", "responseData", NO_TEXT_3, V3) for case in ("good*", "bytes left over inside")],
    "not_served_here": [
        Allowed("SaslHandshake", "", "SASL is not served."),
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
        Allowed("*: quorum-state", "", "quorum-state is written once there is something to remember."),
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
        Allowed("*itself", "*", "This node does not vote for who claims to be this node."),
    ],
    "fetched_from": [
        Allowed(
            "FETCH: *", "maxBytes", "A follower asks for up to 8 MiB at once, as in Kafka 3.9; Apache for 1 MiB.", V4
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
        Allowed("LIST_PARTITION_REASSIGNMENTS *", "*", ONLY_ACTIVE),
        Allowed("DESCRIBE_CLUSTER *", "*", AS_FAR),
        Allowed("API_VERSIONS *", "apiKeys.*", NOT_SERVED),
        Allowed("API_VERSIONS *", "supportedFeatures.*", FEATURES),
        Allowed("API_VERSIONS *", "finalizedFeatures", "No level is told before it is known; Apache tells its lowest."),
    ],
    "following": [
        *_AS_OTHERS,
        Allowed("*whom it voted for: quorum-state", "votedId", VOTE_KEPT, V3),
        Allowed("*another voter*", "*", MISROUTED),
        Allowed("*: to another directory*", "*", MISROUTED),
        Allowed("*pre-vote, 77", "*", STRANGERS, V4),
    ],
    "broken_frames": [
        Allowed("*not utf-8", "", "Text that is not UTF-8 closes the connection; Apache guesses what was meant."),
        Allowed("array length -2", "", "-1 is the one length of null; any other below 0 closes the connection."),
        Allowed("tags out of order", "", "Tags must rise (KIP-482)."),
    ],
}
