"""Kafka's settings: names, types, defaults, limits. Pure parsing and typing; nothing here opens, binds or logs."""
