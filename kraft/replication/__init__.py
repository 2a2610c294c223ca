"""The replicas on a broker: their logs, their roles, replication from leaders, and maintenance."""
