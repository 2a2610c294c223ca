"""Where the tests of those modules are that have no test file of their own.

``tests/`` mirrors ``kraft/``: ``tests/x/test_y.py`` has the tests of ``kraft/x/y.py``. Each exception has a reason and
names the file with its tests.
"""

from __future__ import annotations

from typing import Final

ELSEWHERE: Final[dict[str, dict[str, str]]] = {
    "several APIs of one exchange": {
        "api/test_consumer_group_heartbeat.py": "api.consumer_group_describe",
        "api/test_groups.py": (
            "api.delete_groups api.describe_groups api.heartbeat api.join_group api.leave_group api.sync_group"
        ),
        "api/test_quorum_requests.py": "api.begin_quorum_epoch api.end_quorum_epoch api.fetch_snapshot api.vote",
        "api/test_sasl.py": "api.sasl_authenticate api.sasl_handshake",
        "api/test_share_group_heartbeat.py": (
            "api.alter_share_group_offsets api.delete_share_group_offsets api.describe_share_group_offsets"
            " api.share_group_describe"
        ),
        "api/test_share_group_states.py": (
            "api.delete_share_group_state api.initialize_share_group_state api.read_share_group_state"
            " api.read_share_group_state_summary api.write_share_group_state"
        ),
        "api/test_static_voters.py": "api.add_raft_voter api.remove_raft_voter api.update_raft_voter",
        "api/test_transactions.py": (
            "api.add_offsets_to_txn api.add_partitions_to_txn api.describe_transactions api.end_txn"
            " api.list_transactions"
        ),
        "simulation/test_virtual_legacy.py": "api.update_metadata",
    },
    "APIs without code of their own: the active controller decides": {
        "api/test_controller_requests.py": (
            "api.allocate_producer_ids api.alter_partition api.alter_partition_reassignments"
            " api.assign_replicas_to_dirs api.broker_heartbeat api.broker_registration api.controller_registration"
            " api.list_partition_reassignments api.unregister_broker api.update_features"
        ),
        "api/test_propagation.py": "api.elect_leaders",
    },
    "decisions and records of a core, which the tests reach by its events": {
        "broker/share/test_partition_machine.py": "broker.share.runs",
        "controller/test_core.py": "controller.cluster",
        "controller/test_create_topics.py": "controller.assignment controller.creatable_topic",
        "controller/test_elections.py": "controller.walk",
        "controller/test_heartbeats.py": "controller.sessions",
        "coordinator/groups/consumer/test_heartbeat.py": (
            "coordinator.groups.consumer.decision coordinator.groups.consumer.group"
            " coordinator.groups.consumer.membership coordinator.groups.consumer.metadata_hash"
            " coordinator.groups.consumer.records coordinator.groups.consumer.replay"
            " coordinator.groups.consumer.target coordinator.groups.decision coordinator.groups.state_record"
        ),
        "coordinator/groups/consumer/test_migration.py": (
            "coordinator.groups.consumer.classic_members coordinator.groups.consumer.embedded"
        ),
        "coordinator/groups/consumer/test_registry.py": (
            "coordinator.groups.configured coordinator.groups.consumer.description"
        ),
        "coordinator/groups/share/test_admin.py": "coordinator.groups.share.requests",
        "coordinator/groups/share/test_heartbeat.py": (
            "coordinator.groups.share.decision coordinator.groups.share.description coordinator.groups.share.group"
            " coordinator.groups.share.records coordinator.groups.share.registry coordinator.groups.share.replay"
        ),
        "coordinator/groups/share/test_states.py": "coordinator.groups.share.effects",
        "coordinator/groups/test_core.py": "coordinator.core coordinator.groups.effects",
        "coordinator/groups/test_rebalance.py": "coordinator.groups.subscription",
        "coordinator/groups/test_transactions.py": "coordinator.groups.transactional_offsets",
        "coordinator/transactions/test_core.py": "coordinator.transactions.effects coordinator.transactions.step",
        "interop/test_zookeeper_apis.py": "zookeeper.controller.features",
        "raft/test_voting.py": "raft.events raft.member raft.messages",
        "zookeeper/controller/test_core.py": (
            "zookeeper.controller.active zookeeper.controller.api_requests zookeeper.controller.brokers"
            " zookeeper.controller.cluster zookeeper.controller.effects zookeeper.controller.failover"
        ),
        "zookeeper/controller/test_partitions.py": "zookeeper.controller.elections",
        "zookeeper/controller/test_reassignment.py": "zookeeper.controller.topics",
    },
    "parts of a driver, which run in its nurseries": {
        "api/test_share_fetch.py": "api.share_requests",
        "api/test_write_txn_markers.py": "coordination.marker_writer",
        "coordination/test_verification.py": "coordination.broker_senders",
        "node/test_node.py": "control.controller_registration coordination.coordinators node.broker_role node.tree",
        "quorum/test_bad_peers.py": "quorum.responses",
        "quorum/test_driver.py": "quorum.role",
        "quorum/test_driver_events.py": "quorum.trace",
        "quorum/test_rpcs.py": "quorum.inbound_requests quorum.outbound_requests quorum.refusals",
        "replication/test_moves.py": "replication.directory_reports",
        "replication/test_replicas.py": "replication.checkpoints replication.flushes storage.partition_metadata",
        "rpc/test_server.py": "rpc.connections rpc.header rpc.plane rpc.request_metrics",
        "simulation/test_virtual.py": "control.trace quorum.snapshot_check",
        "simulation/test_virtual_legacy.py": "node.controlled_shutdown",
        "zookeeper/test_controller_driver.py": "zookeeper.trace",
        "zookeeper/test_session.py": "zookeeper.operations",
    },
    "parts of a log, of a codec, or of a format": {
        "api/test_alter_replica_log_dirs.py": "storage.future",
        "api/test_describe_user_scram_credentials.py": "zookeeper.znodes.users",
        "cli/test_storage.py": "storage.format",
        "coordination/test_unreadable_records.py": "coordinator.framing",
        "node/test_directories.py": "storage.node_directories",
        "spark/test_metadata_source.py": "spark.metadata_live",
        "storage/test_cleaner.py": "storage.cleanable",
        "storage/test_creation.py": "storage.atomic",
        "storage/test_log.py": "storage.flush storage.producers storage.retention storage.segments",
        "storage/test_recovery.py": "storage.errors storage.scan",
        "storage/test_segment.py": "storage.index storage.recent",
        "wire/test_codec.py": "wire.decode_error wire.decoder wire.encoder wire.reading wire.source wire.splice",
        "wire/test_uuids.py": "wire.internal_topics",
        "zookeeper/znodes/test_cluster.py": (
            "zookeeper.znodes.admin zookeeper.znodes.fields zookeeper.znodes.notifications zookeeper.znodes.properties"
        ),
    },
    "shared by several modules, and tested with one of them": {
        "api/test_delete_records.py": "api.partitions",
        "api/test_groups.py": "api.group_descriptions",
        "api/test_index.py": "api.table",
        "api/test_offset_commit.py": "api.offset_commits",
        "api/test_row.py": "api.authorized_operations",
        "controller/test_alter_configs.py": "metadata.config_changes",
        "metadata/test_delta.py": "metadata.image metadata.topic_name",
        "node/test_node.py": "api.context controller.context world.world",
        "replication/test_commands.py": "metadata.update_metadata",
    },
    "declarations of settings": {
        "config/test_broker.py": (
            "config.accepted_settings config.defaults config.log_settings config.network_settings"
            " config.quorum_settings config.request_log_settings config.share_settings config.zookeeper_settings"
        ),
        "config/test_group.py": "config.offset_reset",
        "replication/test_throttle.py": "config.throttle_settings",
    },
    "the generator of the messages": {
        "codegen/test_render.py": "codegen.index",
    },
    "parts of a command, which the tests run as a user does": {
        "cli/test_clients.py": "cli.options cli.output cli.topics client.offsets",
        "cli/test_dump_log.py": "cli.dump_batches cli.dump_decoders cli.dump_files metadata.plain",
        "cli/test_shell.py": "cli.metadata_files cli.shell_text cli.shell_tree",
        "cli/test_storage.py": "cli.storage_info",
        "cli/test_transactions.py": "client.transaction_admin",
        "spark/pipeline/test_run.py": "cli.pipeline",
    },
    "parts of a simulated world, of a transcript, of a page, of an experiment": {
        "experiment/test_control_plane.py": "experiment.legacy_cluster",
        "experiment/test_generations.py": "experiment.controllers experiment.stub_brokers",
        "simulation/test_monitor.py": "simulation.invariants",
        "simulation/test_seeds.py": (
            "simulation.campaign simulation.faults simulation.history simulation.machine simulation.network"
            " simulation.node simulation.payload simulation.plan simulation.random_stream simulation.timeline"
            " simulation.world"
        ),
        "simulation/test_virtual.py": "simulation.virtual_cluster simulation.virtual_network",
        "story/report/test_figure.py": "story.report.section",
        "transcripts/test_transcripts.py": "testing.cores testing.driven testing.transcript testing.words",
    },
    "tasks of a job on Spark": {
        "spark/pipeline/test_answers.py": "spark.pipeline.typed",
        "spark/pipeline/test_batches.py": "spark.pipeline.changes spark.pipeline.quorum_answers spark.pipeline.raw",
        "spark/pipeline/test_run.py": "spark.pipeline.inputs spark.pipeline.report",
        "spark/pipeline/test_store.py": "spark.pipeline.files",
        "spark/test_campaign.py": "spark.campaign_rows spark.pipeline.campaigns",
        "spark/test_topic_source.py": "spark.topic_offsets",
    },
}
"""Reason → test file → modules below ``kraft``."""
