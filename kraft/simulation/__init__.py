"""The simulated world: virtual time, network, disks and faults around the real cores, and what must always hold.

Everything that happens follows from a seed. Chance is drawn with ``random()`` alone, and never from a logarithm or a
power, so that a seed means the same on every machine, Python version and hash seed.
"""
