"""A Kafka client on Trio, for the tools."""
