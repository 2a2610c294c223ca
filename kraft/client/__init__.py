"""A Kafka client on Trio: connections and metadata of a cluster, a producer, a consumer. The command-line tools use it.

Start at :mod:`kraft.client.cluster`; a program without an event loop, at :mod:`kraft.client.blocking`. Operations that
fail because a leader or a coordinator moved are retried for a bounded time (:mod:`kraft.client.retry`).
"""
