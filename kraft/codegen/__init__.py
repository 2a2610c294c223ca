"""Generate Python modules from message specs in Kafka's JSON language. For development time only."""
