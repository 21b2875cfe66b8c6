"""Predicts what indexing a topic or files will take, from a sample."""
