"""Measurements that a person runs; no test depends on their figures."""
