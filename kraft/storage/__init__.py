"""Files: segments and their indexes, checkpoints, the quorum state, log directories.

Everything here is synchronous and writes byte for byte what Apache Kafka writes. The room uses no Trio and no thread.
Events worth a log line are return values, except in ``known_offsets``. Blocking work that must stay off the event loop
is a separate call.
"""
