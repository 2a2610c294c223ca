"""Apache Kafka's control plane, wire- and disk-compatible, on Trio.

Start with ``docs/architecture.md``: the rooms of the house, the nursery tree, the way of one request through them.
"""

__version__ = "0.2.0"
