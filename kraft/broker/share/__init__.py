"""Share partitions (KIP-932): which records the members of a share group hold, at the leader of the partition."""
