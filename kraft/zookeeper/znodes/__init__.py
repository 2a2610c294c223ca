"""The znodes of a Kafka cluster: their paths, and their data as Apache Kafka reads and writes it.

Each module has, for its znodes, the path, a frozen class for the data, ``encode`` and ``decode``. Decoding raises
MalformedZnode and nothing else, whatever the data.
"""
