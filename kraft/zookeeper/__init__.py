"""The ZooKeeper-era control plane. ``znodes`` has the formats of the data in ZooKeeper, and is pure."""
