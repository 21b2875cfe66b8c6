"""Measurements that a person runs; nothing here is a test, and nothing here decides whether one passes."""
