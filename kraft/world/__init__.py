"""The outside world of a node: time, randomness, sockets, worker threads, fsync."""
