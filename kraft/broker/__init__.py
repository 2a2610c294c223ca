"""Pure core of the data plane: partitions, fetch sessions, idempotent producers, registration."""
