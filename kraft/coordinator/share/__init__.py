"""The state of share partitions (KIP-932): which records a share group has processed, kept in a topic."""
