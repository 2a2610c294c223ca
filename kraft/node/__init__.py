"""The composition root: the nursery tree of a node, one driver per core, and a handler per API.

Nothing outside this room opens a nursery that outlives a function call.
"""
