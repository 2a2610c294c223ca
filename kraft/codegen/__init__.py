"""Development time only: message specs in Kafka's JSON language become Python modules."""
