"""Kafka's error codes (up to 4.3), and the exception that carries one.

The names and numbers are the protocol's. A handler raises ``KafkaError`` to respond with an error code. The client
receives the message only in fields for error messages.
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ErrorCode", "KafkaError", "shortened"]

_MAX_TEXT = 1_000


class ErrorCode(IntEnum):
    """The result of a request or of a part of it, as an int16 on the wire."""

    message: str
    """The meaning of the code in one sentence."""

    def __new__(cls, value: int, message: str = "") -> ErrorCode:
        member = int.__new__(cls, value)
        member._value_ = value
        member.message = message
        return member

    @classmethod
    def _missing_(cls, value: object) -> ErrorCode:
        """Read an unknown code, of a newer Kafka, as ``UNKNOWN_SERVER_ERROR``, as Kafka's own clients do."""
        if not isinstance(value, int):
            raise ValueError(f"{value!r} is not an error code")
        return cls.UNKNOWN_SERVER_ERROR

    UNKNOWN_SERVER_ERROR = (-1, "The server met an error it has no code for.")
    NONE = (0, "Success.")
    OFFSET_OUT_OF_RANGE = (1, "The offset lies outside the partition's log.")
    CORRUPT_MESSAGE = (2, "The record batch fails its checksum or is malformed.")
    UNKNOWN_TOPIC_OR_PARTITION = (3, "This node does not know the topic or partition.")
    INVALID_FETCH_SIZE = (4, "The fetch size is not valid.")
    LEADER_NOT_AVAILABLE = (5, "The partition has no leader at the moment.")
    NOT_LEADER_OR_FOLLOWER = (6, "This node is neither leader nor follower of the partition.")
    REQUEST_TIMED_OUT = (7, "The request was not done in time.")
    BROKER_NOT_AVAILABLE = (8, "The broker is not available.")
    REPLICA_NOT_AVAILABLE = (9, "The broker does not hold the replica.")
    MESSAGE_TOO_LARGE = (10, "The batch is larger than the topic or the broker allows.")
    STALE_CONTROLLER_EPOCH = (11, "A newer controller is known.")
    OFFSET_METADATA_TOO_LARGE = (12, "The metadata beside the committed offset is too large.")
    NETWORK_EXCEPTION = (13, "The connection was lost before an answer came.")
    COORDINATOR_LOAD_IN_PROGRESS = (14, "The coordinator is still loading its state.")
    COORDINATOR_NOT_AVAILABLE = (15, "The coordinator is not available.")
    NOT_COORDINATOR = (16, "This node is not the coordinator asked for.")
    INVALID_TOPIC_EXCEPTION = (17, "The topic may not be named or used so.")
    RECORD_LIST_TOO_LARGE = (18, "The batch is larger than a segment.")
    NOT_ENOUGH_REPLICAS = (19, "Fewer replicas are in sync than min.insync.replicas wants.")
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (20, "The records were appended, but to fewer in-sync replicas than wanted.")
    INVALID_REQUIRED_ACKS = (21, "acks must be -1, 0 or 1.")
    ILLEGAL_GENERATION = (22, "The group is in another generation.")
    INCONSISTENT_GROUP_PROTOCOL = (23, "The member's protocols do not fit those of its group.")
    INVALID_GROUP_ID = (24, "The group id is not valid.")
    UNKNOWN_MEMBER_ID = (25, "The group has no such member.")
    INVALID_SESSION_TIMEOUT = (26, "The session timeout lies outside what the broker allows.")
    REBALANCE_IN_PROGRESS = (27, "The group is rebalancing; join again.")
    INVALID_COMMIT_OFFSET_SIZE = (28, "The offset commit is too large to be written.")
    TOPIC_AUTHORIZATION_FAILED = (29, "Not authorized for the topic.")
    GROUP_AUTHORIZATION_FAILED = (30, "Not authorized for the group.")
    CLUSTER_AUTHORIZATION_FAILED = (31, "Not authorized for the cluster.")
    INVALID_TIMESTAMP = (32, "The timestamp lies outside what the topic allows.")
    UNSUPPORTED_SASL_MECHANISM = (33, "The SASL mechanism is not enabled.")
    ILLEGAL_SASL_STATE = (34, "The request does not belong at this point of the SASL exchange.")
    UNSUPPORTED_VERSION = (35, "This version of the API is not supported.")
    TOPIC_ALREADY_EXISTS = (36, "A topic of this name exists.")
    INVALID_PARTITIONS = (37, "The number of partitions is not valid.")
    INVALID_REPLICATION_FACTOR = (38, "The replication factor is below 1 or above the number of brokers.")
    INVALID_REPLICA_ASSIGNMENT = (39, "The replica assignment is not valid.")
    INVALID_CONFIG = (40, "The configuration is not valid.")
    NOT_CONTROLLER = (41, "This node is not the active controller.")
    INVALID_REQUEST = (42, "The request contradicts itself or the protocol.")
    UNSUPPORTED_FOR_MESSAGE_FORMAT = (43, "The log's message format cannot do this.")
    POLICY_VIOLATION = (44, "A policy of the cluster forbids it.")
    OUT_OF_ORDER_SEQUENCE_NUMBER = (45, "The producer's sequence number leaves a gap.")
    DUPLICATE_SEQUENCE_NUMBER = (46, "The producer's batch was appended before.")
    INVALID_PRODUCER_EPOCH = (47, "The producer's epoch is older than the one known.")
    INVALID_TXN_STATE = (48, "The transaction is not in a state that allows this.")
    INVALID_PRODUCER_ID_MAPPING = (49, "The producer id does not belong to this transactional id.")
    INVALID_TRANSACTION_TIMEOUT = (50, "The transaction timeout is larger than the broker allows.")
    CONCURRENT_TRANSACTIONS = (51, "Another operation on this transaction is under way.")
    TRANSACTION_COORDINATOR_FENCED = (52, "A newer transaction coordinator is known.")
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = (53, "Not authorized for the transactional id.")
    SECURITY_DISABLED = (54, "Security features are switched off.")
    OPERATION_NOT_ATTEMPTED = (55, "The operation was not tried, because another of the request failed.")
    KAFKA_STORAGE_ERROR = (56, "The log directory has failed.")
    LOG_DIR_NOT_FOUND = (57, "The broker has no such log directory.")
    SASL_AUTHENTICATION_FAILED = (58, "SASL authentication failed.")
    UNKNOWN_PRODUCER_ID = (59, "Nothing is known of this producer id any more.")
    REASSIGNMENT_IN_PROGRESS = (60, "The partition is being reassigned.")
    DELEGATION_TOKEN_AUTH_DISABLED = (61, "Delegation tokens are switched off.")
    DELEGATION_TOKEN_NOT_FOUND = (62, "There is no such delegation token.")
    DELEGATION_TOKEN_OWNER_MISMATCH = (63, "The principal may not use this delegation token.")
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = (64, "Delegation tokens cannot be handled over this connection.")
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = (65, "Not authorized for the delegation token.")
    DELEGATION_TOKEN_EXPIRED = (66, "The delegation token has expired.")
    INVALID_PRINCIPAL_TYPE = (67, "The principal type is not supported.")
    NON_EMPTY_GROUP = (68, "The group still has members.")
    GROUP_ID_NOT_FOUND = (69, "There is no such group.")
    FETCH_SESSION_ID_NOT_FOUND = (70, "There is no such fetch session.")
    INVALID_FETCH_SESSION_EPOCH = (71, "The fetch session is at another epoch.")
    LISTENER_NOT_FOUND = (72, "The leader has no listener of the name the request came in by.")
    TOPIC_DELETION_DISABLED = (73, "Deleting topics is switched off.")
    FENCED_LEADER_EPOCH = (74, "The leader epoch in the request is older than the one known here.")
    UNKNOWN_LEADER_EPOCH = (75, "The leader epoch in the request is newer than the one known here.")
    UNSUPPORTED_COMPRESSION_TYPE = (76, "The compression type is not supported for this version.")
    STALE_BROKER_EPOCH = (77, "The broker has registered again since.")
    OFFSET_NOT_AVAILABLE = (78, "The new leader does not know its high watermark yet.")
    MEMBER_ID_REQUIRED = (79, "Join again with the member id given here.")
    PREFERRED_LEADER_NOT_AVAILABLE = (80, "The preferred leader cannot lead now.")
    GROUP_MAX_SIZE_REACHED = (81, "The group has as many members as it may.")
    FENCED_INSTANCE_ID = (82, "Another member has taken over this group.instance.id.")
    ELIGIBLE_LEADERS_NOT_AVAILABLE = (83, "No replica that may lead is available.")
    ELECTION_NOT_NEEDED = (84, "The partition has the leader wanted.")
    NO_REASSIGNMENT_IN_PROGRESS = (85, "The partition is not being reassigned.")
    GROUP_SUBSCRIBED_TO_TOPIC = (86, "The group still consumes the topic.")
    INVALID_RECORD = (87, "A record breaks a rule of its topic.")
    UNSTABLE_OFFSET_COMMIT = (88, "Offsets of an open transaction are pending.")
    THROTTLING_QUOTA_EXCEEDED = (89, "A quota is used up; try later.")
    PRODUCER_FENCED = (90, "A newer producer with this transactional id is known.")
    RESOURCE_NOT_FOUND = (91, "There is no such resource.")
    DUPLICATE_RESOURCE = (92, "The request names a resource twice.")
    UNACCEPTABLE_CREDENTIAL = (93, "The credential does not meet the requirements.")
    INCONSISTENT_VOTER_SET = (94, "The sender is not among the voters, or is and should not be.")
    INVALID_UPDATE_VERSION = (95, "The update is not based on the current version.")
    FEATURE_UPDATE_FAILED = (96, "The feature levels could not be updated.")
    PRINCIPAL_DESERIALIZATION_FAILURE = (97, "The forwarded principal cannot be read.")
    SNAPSHOT_NOT_FOUND = (98, "There is no such snapshot.")
    POSITION_OUT_OF_RANGE = (99, "The position lies outside the snapshot.")
    UNKNOWN_TOPIC_ID = (100, "This node does not know the topic id.")
    DUPLICATE_BROKER_REGISTRATION = (101, "A live broker has registered with this id.")
    BROKER_ID_NOT_REGISTERED = (102, "No broker has registered with this id.")
    INCONSISTENT_TOPIC_ID = (103, "The log's topic id is another than the request's.")
    INCONSISTENT_CLUSTER_ID = (104, "The request is meant for another cluster.")
    TRANSACTIONAL_ID_NOT_FOUND = (105, "There is no such transactional id.")
    FETCH_SESSION_TOPIC_ID_ERROR = (106, "The fetch session mixes topic names and topic ids.")
    INELIGIBLE_REPLICA = (107, "The replica may not join the in-sync set.")
    NEW_LEADER_ELECTED = (108, "The change made another replica the leader.")
    OFFSET_MOVED_TO_TIERED_STORAGE = (109, "The offset lies in remote storage.")
    FENCED_MEMBER_EPOCH = (110, "The member's epoch is fenced; join again.")
    UNRELEASED_INSTANCE_ID = (111, "Another member still holds this instance id.")
    UNSUPPORTED_ASSIGNOR = (112, "The group does not support the assignor.")
    STALE_MEMBER_EPOCH = (113, "The member's epoch is old; try again with the new one.")
    MISMATCHED_ENDPOINT_TYPE = (114, "The request came to an endpoint of the wrong type.")
    UNSUPPORTED_ENDPOINT_TYPE = (115, "The endpoint type is not known.")
    UNKNOWN_CONTROLLER_ID = (116, "The controller id is not known.")
    UNKNOWN_SUBSCRIPTION_ID = (117, "The telemetry subscription is out of date.")
    TELEMETRY_TOO_LARGE = (118, "The pushed telemetry is too large.")
    INVALID_REGISTRATION = (119, "The controller finds the broker's registration invalid.")
    TRANSACTION_ABORTABLE = (120, "The transaction can only be aborted now.")
    INVALID_RECORD_STATE = (121, "The record's acknowledgement state does not allow this.")
    SHARE_SESSION_NOT_FOUND = (122, "There is no such share session.")
    INVALID_SHARE_SESSION_EPOCH = (123, "The share session is at another epoch.")
    FENCED_STATE_EPOCH = (124, "The share coordinator knows a newer state epoch.")
    INVALID_VOTER_KEY = (125, "The voter key is not the receiver's.")
    DUPLICATE_VOTER = (126, "The voter is in the voter set.")
    VOTER_NOT_FOUND = (127, "The voter is not in the voter set.")
    INVALID_REGULAR_EXPRESSION = (128, "The regular expression is not valid.")
    REBOOTSTRAP_REQUIRED = (129, "The client's metadata is stale; it must bootstrap again.")
    STREAMS_INVALID_TOPOLOGY = (130, "The Streams topology is not valid.")
    STREAMS_INVALID_TOPOLOGY_EPOCH = (131, "The Streams topology epoch is not valid.")
    STREAMS_TOPOLOGY_FENCED = (132, "The Streams topology epoch is out of date.")
    SHARE_SESSION_LIMIT_REACHED = (133, "No more share sessions can be opened.")


def shortened(text: str) -> str:
    """Return ``text``, shortened if it is too long for a message."""
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"


class KafkaError(Exception):
    """The response to a request, or to a part of it, is the error ``code``.

    Attributes:
        code: The error code in the response.
        message: One line for a person; by default the code's own sentence. It may repeat a peer's text, and is
            shortened so that the response can carry it.
    """

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        self.code = code
        self.message = code.message if message is None else shortened(message)
        super().__init__(code, self.message)

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}"

    def anew(self) -> KafkaError:
        """Return the same error without the traceback, to be raised by an object that keeps this one.

        A traceback has the frame that raised, and the frame the object. With the exception they would be a cycle.
        """
        return KafkaError(self.code, self.message)
