"""The drivers of the coordinators, and the allocation of producer ids."""
