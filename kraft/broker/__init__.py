"""Pure cores of the data plane: leadership of a partition, log truncation, producer state, fetch sessions."""
