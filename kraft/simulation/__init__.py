"""The simulated world: virtual time, network, disks and faults around the real Raft core, and the invariants.

A seed determines every event. Random numbers come from ``random()`` only, without logarithms or powers. So a seed gives
the same events on every machine, with every Python version and hash seed.
"""
