"""The composition root: the nursery tree of a node, and the objects that run in it.

Each part of the tree opens its own nursery; docs/architecture.md lists them.
"""
