"""The drivers of the coordinators: of groups, of transactions, and of the states of share groups."""
