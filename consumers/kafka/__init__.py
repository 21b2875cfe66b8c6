"""A Kafka consumer in a group: delivers records of owned partitions, in order, and commits only what it owns."""
