"""The composition root: the nursery tree of a node, and the objects that run in it.

Nothing outside this room opens a nursery that outlives a function call.
"""
