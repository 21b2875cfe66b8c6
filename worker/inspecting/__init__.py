"""Audits the index: verifies it against Kafka, repairs it, and replays dead letters."""
