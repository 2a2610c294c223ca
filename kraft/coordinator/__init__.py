"""The pure coordinators, one package each: of groups and offsets, of transactions, of the states of share groups."""
