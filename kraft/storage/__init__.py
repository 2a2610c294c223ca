"""Files: segments and their indexes, checkpoints, the quorum state, log directories.

Everything here is synchronous and byte for byte what Apache Kafka writes. Nothing knows Trio, threads or a logger:
what a caller should log comes back as a value, and what must not happen on the event loop is a separate call.
"""
