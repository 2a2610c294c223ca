"""The ZooKeeper-era control plane: the formats of the znodes, and the legacy controller.

``znodes``, ``operations`` and ``controller`` are pure.
"""
