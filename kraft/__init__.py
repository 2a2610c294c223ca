"""Apache Kafka's control plane, wire- and disk-compatible, on Trio.

Start with ``docs/architecture.md``: the packages, the nursery tree, and the paths of three requests.
"""

__version__ = "0.2.0"
