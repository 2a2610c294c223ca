"""Pure cores of the data plane: leadership of a partition, truncation, producers, fetch sessions, share groups."""
