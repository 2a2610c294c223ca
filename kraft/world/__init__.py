"""What a node takes from outside of itself: time, randomness, sockets, worker threads, fsync."""
