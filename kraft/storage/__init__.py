"""Files: segments and their indexes, checkpoints, the quorum state, log directories.

The files are byte for byte what Apache Kafka writes. The functions run on the caller's thread. Async are only a large
append, a lookup by timestamp and the opening of a batch, because other tasks run between their slices. Work that may
block for long is a call of its own, for a worker thread: ``Flush.run``, ``Cleaning.run`` and ``remove_files``.
"""
