"""The groups of KIP-932: members share the records of a partition, and the coordinator assigns the partitions."""
