"""Reads Kafka without a consumer group and commits nothing: for tools, and for clients that wait for a reply."""
