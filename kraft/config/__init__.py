"""Kafka's settings: names, types, defaults, limits. Pure parsing and typing, without files, sockets or logs."""
