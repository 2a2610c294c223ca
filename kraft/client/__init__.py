"""A Kafka client on Trio: a cluster's connections and metadata, a producer, a consumer. The tools stand on it.

Start at :mod:`kraft.client.cluster`. What fails because a leader or a coordinator moved is tried again within a bounded
time (:mod:`kraft.client.retry`).
"""
