"""The ZooKeeper-era control plane: sessions, the formats of the znodes, and the legacy controller.

``znodes``, ``operations`` and ``controller`` are pure. Only ``session`` needs kazoo, the client library.
"""
