"""The drivers of the group coordinator, and the allocation of producer ids."""
