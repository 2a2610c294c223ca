"""The replicas that a broker has: their logs, who may write to them, who copies them, and their upkeep."""
