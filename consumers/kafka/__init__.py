"""The group: a Kafka consumer whose records are ours, in order, and whose commits are only of what it owns."""
