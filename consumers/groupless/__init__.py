"""Kafka read without a group: nothing is committed, nobody is disturbed. For the tools, and for clients that wait for a reply."""
