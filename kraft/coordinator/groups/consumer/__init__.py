"""Consumer groups of KIP-848: the coordinator assigns the partitions, and members reconcile with heartbeats."""
