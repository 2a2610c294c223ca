"""Every scenario, by name: a function that plays it to one broker."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.differential.scenarios import (
    broken,
    cluster,
    configs,
    control,
    controllers,
    groups,
    new_groups,
    produce,
    quorum,
    read,
    security,
    share_fetches,
    share_groups,
    shares,
    topics,
    transactions,
    voter,
)
from tests.differential.talk import Talk

SCENARIOS: Mapping[str, Callable[[Talk], None]] = {
    function.__name__: function
    for function in (
        cluster.api_versions,
        cluster.metadata_topics,
        cluster.metadata_by_id,
        cluster.automatic_topics,
        cluster.describe_cluster,
        cluster.describe_topic_partitions,
        cluster.sasl_without_sasl,
        topics.create_topics,
        topics.create_many_topics,
        topics.create_partitions,
        topics.delete_topics,
        produce.produce_batches,
        produce.produce_compacted,
        produce.produce_nothing,
        produce.produce_stored,
        produce.produce_addressed,
        produce.produce_unanswered,
        produce.produce_idempotent,
        produce.describe_producers,
        produce.init_producer_id,
        read.fetch,
        read.fetch_sessions,
        read.fetch_beside_unknown,
        read.compacted,
        read.list_offsets,
        read.offset_for_leader_epoch,
        read.delete_records,
        read.describe_log_dirs,
        read.alter_replica_log_dirs,
        configs.describe_topic_configs,
        configs.describe_broker_configs,
        configs.describe_newer_configs,
        configs.incremental_alter_topic,
        configs.alter_resources,
        configs.alter_configs,
        configs.alter_broker,
        configs.list_config_resources,
        configs.client_metrics,
        configs.broker_loggers,
        control.elect_leaders,
        control.reassignments,
        control.update_features,
        control.unregister_broker,
        quorum.change_voters,
        groups.find_coordinator,
        groups.join_group,
        groups.sync_group,
        groups.heartbeat_and_leave,
        groups.static_members,
        groups.rebalance,
        groups.offsets,
        groups.inspected,
        shares.share_states,
        shares.share_state_epochs,
        shares.share_requests_without_the_feature,
        security.acls,
        security.client_quotas,
        security.scram_credentials,
        broken.broken_frames,
        broken.unserved_requests,
        broken.odd_but_good,
    )
}

#: At the newest levels of all features.
NEWEST_SCENARIOS: Mapping[str, Callable[[Talk], None]] = {
    function.__name__: function
    for function in (
        share_groups.share_heartbeats,
        share_groups.share_groups_by_other_apis,
        share_groups.share_offsets,
        share_fetches.share_sessions,
        share_fetches.share_acquisition,
        share_fetches.share_outcomes,
        share_fetches.share_acknowledgements,
        share_fetches.share_beginnings,
        share_fetches.share_isolation,
        new_groups.consumer_heartbeats,
        new_groups.consumer_assignments,
        new_groups.consumer_offsets,
        new_groups.classic_members,
        transactions.transactions,
        transactions.listed_transactions,
        transactions.transaction_outcomes,
        transactions.refused_batches,
        transactions.isolation_levels,
        transactions.write_txn_markers,
    )
}

#: At the listener of the controllers.
CONTROLLER_SCENARIOS: Mapping[str, Callable[[Talk], None]] = {
    function.__name__: function
    for function in (
        quorum.replica_fetch,
        quorum.replica_fetch_snapshot,
        quorum.describe_quorum,
        quorum.change_voters,
        quorum.update_voters,
        controllers.controller_api_versions,
        controllers.controller_describe_cluster,
        cluster.sasl_without_sasl,
        controllers.broker_registration,
        controllers.broker_heartbeat,
        controllers.allocate_producer_ids,
        controllers.alter_partition,
        controllers.replaced_reassignments,
        controllers.assign_replicas,
        controllers.controller_registration,
        controllers.envelopes,
        controllers.not_served_here,
        topics.create_topics,
        topics.create_many_topics,
        topics.create_partitions,
        topics.delete_topics,
        configs.describe_broker_configs,
        security.acls,
        controllers.controller_alter_resources,
        controllers.controller_alter_configs,
        controllers.controller_alter_broker,
        control.elect_leaders,
        control.reassignments,
        control.update_features,
        control.unregister_broker,
    )
}

#: At one voter of three.
VOTER_SCENARIOS: Mapping[str, Callable[[Talk], None]] = {
    function.__name__: function
    for function in (
        voter.before_any_leader,
        voter.votes,
        voter.pre_votes,
        voter.following,
        voter.other_leaders,
        voter.resigning,
        voter.fetched_from,
        voter.prospective,
        voter.candidate,
        voter.elected,
        voter.votes_by_log,
        voter.not_active,
    )
}

#: Those about pre-votes alone, which Kafka 3.9 does not support (KIP-996).
PRE_VOTE_SCENARIOS = frozenset({"pre_votes", "prospective"})
