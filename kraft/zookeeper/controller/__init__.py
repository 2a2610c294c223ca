"""The legacy controller, as a pure core: an event → operations on ZooKeeper, requests to brokers, responses.

A decision is a generator. It yields operations on ZooKeeper and continues with their results, so it reads from top to
bottom as KafkaController does. State changes and requests follow a write only after ZooKeeper has performed it.
"""
